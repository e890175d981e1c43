package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/goccy/go-yaml"

	"github.com/gavel-relay/gavel/conformance/target"
)

// Engine runs containers. Docker's Network is one; tests have another.
type Engine interface {
	// Run starts a container and returns when it is ready. A container that does not become ready
	// is ended, and the error shows its last lines. Network is an earlier server whose network the
	// container joins. If it is nil, the container has its own network and publishes ports; these
	// include the ports of the containers that will join it.
	Run(ctx context.Context, c target.Container, network Container, ports []int) (Container, error)
}

// Container is a running container.
type Container interface {
	// Address is the host:port at which this machine reaches one of the container's ports.
	Address(ctx context.Context, port int) (string, error)
	// Log returns all that the container has written so far. The caller must close it.
	Log(ctx context.Context) (io.ReadCloser, error)
	// End stops the container in good order and removes it with all its data.
	End(ctx context.Context) error
}

// RunningContainers has the running containers of a target.
type RunningContainers struct {
	// Target has the addresses at which the containers are reached. Its own list of containers is
	// empty, so that it is used like any other target.
	Target *target.Target

	names   []string
	servers []Container
}

// StartContainers starts the containers of a target one after another, each when the one before is
// ready. If one fails, those before it are ended. For words see Words.
func StartContainers(ctx context.Context, engine Engine, t *target.Target,
	words map[string]string) (_ *RunningContainers, err error) {
	r := new(RunningContainers)
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Stop(context.WithoutCancel(ctx)))
		}
	}()
	for _, c := range t.Containers {
		expanded, err := expandAll(c, words)
		if err != nil {
			return nil, fmt.Errorf("container %s: %w", c.Name, err)
		}
		server, err := engine.Run(ctx, expanded, r.server(c.With), portsOf(t.Containers, c))
		if err != nil {
			return nil, fmt.Errorf("start container %s from %s: %w", c.Name, expanded.Image, err)
		}
		r.names, r.servers = append(r.names, c.Name), append(r.servers, server)
	}
	if r.Target, err = r.resolve(ctx, t, words); err != nil {
		return nil, err
	}
	return r, nil
}

// containerServer returns the server with this name; nil if there is none.
func (r *RunningContainers) server(name string) Container {
	if at := slices.Index(r.names, name); at >= 0 {
		return r.servers[at]
	}
	return nil
}

// portsOf returns the ports that a container publishes: its own, and those of all containers that
// will share its network. A container that joins a network publishes none.
func portsOf(all []target.Container, c target.Container) []int {
	if c.With != "" {
		return nil
	}
	ports := slices.Clone(c.Ports)
	for _, other := range all {
		if other.With == c.Name {
			ports = append(ports, other.Ports...)
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// resolve returns the target with the addresses that the engine gave. It replaces placeholders in
// the target's YAML text, so that no field can be forgotten.
func (r *RunningContainers) resolve(ctx context.Context, t *target.Target,
	words map[string]string) (*target.Target, error) {
	bare := *t
	bare.Containers = nil
	text, err := yaml.Marshal(bare)
	if err != nil {
		return nil, fmt.Errorf("write the target: %w", err)
	}
	var failed error
	found := target.Placeholder.ReplaceAllStringFunc(string(text), func(placeholder string) string {
		parts := target.Placeholder.FindStringSubmatch(placeholder)
		where, err := r.address(ctx, parts[1], parts[2])
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("find %s: %w", placeholder, err))
		}
		return where
	})
	if failed != nil {
		return nil, failed
	}
	if found, err = expandWords(found, words); err != nil {
		return nil, err
	}
	return target.Parse([]byte(found))
}

// address returns the host:port at which the engine published a container's port.
func (r *RunningContainers) address(ctx context.Context, name, port string) (string, error) {
	number, err := strconv.Atoi(port)
	if err != nil {
		return "", err
	}
	server := r.server(name)
	if server == nil {
		return "", errors.New("there is no container of that name")
	}
	return server.Address(ctx, number)
}

// WriteLogs writes the log of each container to folder/NAME.log.
func (r *RunningContainers) WriteLogs(ctx context.Context, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { // everybody may read logs, as the report beside them
		return fmt.Errorf("write logs: %w", err)
	}
	var failed error
	for i, server := range r.servers {
		failed = errors.Join(failed, writeLog(ctx, server, filepath.Join(folder, r.names[i]+".log")))
	}
	return failed
}

func writeLog(ctx context.Context, server Container, path string) error {
	log, err := server.Log(ctx)
	if err != nil {
		return fmt.Errorf("read the log for %s: %w", path, err)
	}
	defer log.Close()
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write a log: %w", err)
	}
	_, err = io.Copy(file, log)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Stop ends all containers, the last one first.
func (r *RunningContainers) Stop(ctx context.Context) error {
	var failed error
	for i, server := range slices.Backward(r.servers) {
		if err := server.End(ctx); err != nil {
			failed = errors.Join(failed, fmt.Errorf("end container %s: %w", r.names[i], err))
		}
	}
	r.servers, r.names = nil, nil
	return failed
}
