package target

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// Container is a server that a run starts from an image and stops at its end. Addresses of the
// target name its ports as ${name:port}, because the engine chooses where a port is reached. Its
// command, environment and files use the words that docs/conformance.md lists, such as
// ${BEACON_URL}, for what they must know about the world.
type Container struct {
	Name        string            `yaml:"name"`
	Image       string            `yaml:"image"`
	Command     []string          `yaml:"command,omitempty"`
	Environment map[string]string `yaml:"environment,omitempty"`
	// Files are texts by their path, which are written into the container before it starts. They
	// are for what a server reads from files only, and may use the same words.
	Files map[string]string `yaml:"files,omitempty"`
	// Ports are the ports that are reached from outside, by the suite or by Ready.
	Ports []int `yaml:"ports"`
	// Ready is a path that answers 200 once the server can work. Without it the server is ready
	// when its first port gives any HTTP answer.
	Ready *Ready `yaml:"ready,omitempty"`
	// With is an earlier container whose network this one shares, as in a pod: they reach each
	// other at 127.0.0.1.
	With string `yaml:"with,omitempty"`
}

// Ready is a port and a path at which a server answers GET requests with 200 once it can work.
type Ready struct {
	Port int    `yaml:"port"`
	Path string `yaml:"path"`
}

// Placeholder matches ${name:port} in an address; the published port of a container takes its
// place.
var Placeholder = regexp.MustCompile(`\$\{([a-z][a-z0-9-]*):([0-9]+)\}`)

var containerName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// checkContainers returns an error if the section is wrong, or if an address names a port that no
// container publishes.
func (t *Target) checkContainers() error {
	if len(t.Containers) > 0 && t.Chain.WorldURL != "" {
		return errors.New("containers follow a world that is started for them: leave out chain.worldUrl, or the containers")
	}
	for i, c := range t.Containers {
		if err := c.check(t.Containers[:i]); err != nil {
			return fmt.Errorf("container %d (%s): %w", i+1, c.Name, err)
		}
	}
	for key, address := range t.Addresses() {
		for _, found := range Placeholder.FindAllStringSubmatch(address, -1) {
			// only digits; a number too large is no container's port
			port, _ := strconv.Atoi(found[2])
			at := slices.IndexFunc(t.Containers, func(c Container) bool { return c.Name == found[1] })
			if at < 0 || !slices.Contains(t.Containers[at].Ports, port) {
				return fmt.Errorf("%s is at %s: no container of that name has the port among its ports", key, found[0])
			}
		}
	}
	return nil
}

// check returns what is wrong with a container; earlier are those before it in the file.
func (c Container) check(earlier []Container) error {
	named := func(name string) func(Container) bool { return func(c Container) bool { return c.Name == name } }
	switch {
	case !containerName.MatchString(c.Name):
		return errors.New("give a name of small letters, digits and dashes")
	case slices.ContainsFunc(earlier, named(c.Name)):
		return errors.New("there are two of that name")
	case c.Image == "":
		return errors.New("there is no image")
	case len(c.Ports) == 0:
		return errors.New("there are no ports, so nobody could ask it")
	case c.Ready != nil && (!slices.Contains(c.Ports, c.Ready.Port) || c.Ready.Path == "" || c.Ready.Path[0] != '/'):
		return errors.New("ready is a port out of ports, and a path such as /readyz")
	}
	for path := range c.Files {
		if path[:min(1, len(path))] != "/" {
			return fmt.Errorf("file %q: give its whole path in the container", path)
		}
	}
	for _, port := range c.Ports {
		if port < 1 || port > 65535 {
			return fmt.Errorf("port %d is none", port)
		}
	}
	if c.With == "" {
		return nil
	}
	at := slices.IndexFunc(earlier, named(c.With))
	if at < 0 || earlier[at].With != "" {
		return fmt.Errorf("with is %q: give an earlier container that has a network of its own", c.With)
	}
	return nil
}
