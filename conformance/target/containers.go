package target

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
)

// Container is a server that a run starts from an image and ends again. Addresses of the target
// name it as ${name:port}, since the engine chooses where a port is reached; its command,
// environment and files name the world by the words that docs/conformance.md lists, such as
// ${BEACON_URL}.
type Container struct {
	Name        string            `yaml:"name"`
	Image       string            `yaml:"image"`
	Command     []string          `yaml:"command,omitempty"`
	Environment map[string]string `yaml:"environment,omitempty"`
	// Files are written into the container before it starts, by their path: what a server reads and
	// takes from no flag. They may use the same words.
	Files map[string]string `yaml:"files,omitempty"`
	// Ports are those that something outside asks: the suite, or Ready.
	Ports []int `yaml:"ports"`
	// Ready is what answers 200 once the server can work; without it the server is ready when its
	// first port takes connections.
	Ready *Ready `yaml:"ready,omitempty"`
	// With is an earlier container whose network this one shares, as in a pod: each is at 127.0.0.1
	// for the other.
	With string `yaml:"with,omitempty"`
}

// Ready is a question that a server answers with 200 once it can work.
type Ready struct {
	Port int    `yaml:"port"`
	Path string `yaml:"path"`
}

// Placeholder is a name in an address that a container's published port stands for: ${name:port}.
var Placeholder = regexp.MustCompile(`\$\{([a-z][a-z0-9-]*):([0-9]+)\}`)

var containerName = regexp.MustCompile(`^[a-z][a-z0-9-]*$`)

// checkContainers says what is wrong with the section, and whether the addresses name ports that it
// publishes.
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
			port, _ := strconv.Atoi(found[2]) // digits; too many of them are no published port
			at := slices.IndexFunc(t.Containers, func(c Container) bool { return c.Name == found[1] })
			if at < 0 || !slices.Contains(t.Containers[at].Ports, port) {
				return fmt.Errorf("%s is at %s: no container of that name has the port among its ports", key, found[0])
			}
		}
	}
	return nil
}

// check says what is wrong with a container that comes after others.
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
