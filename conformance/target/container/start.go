package container

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

// Engine runs containers. Docker is one; tests have another.
type Engine interface {
	// Run starts a container and returns when it is ready. A container that does not get so is ended
	// again, and the error says what it logged. A network is that of an earlier server, or nil for one
	// of its own; ports are published then, and include those of containers that will join it.
	Run(ctx context.Context, c target.Container, network Server, ports []int) (Server, error)
}

// Server is a container that runs.
type Server interface {
	// Address is the host:port at which this machine reaches one of the container's ports.
	Address(ctx context.Context, port int) (string, error)
	// Log is all that the container has written so far.
	Log(ctx context.Context) (io.ReadCloser, error)
	// End stops the container in good order and removes it with all that it wrote.
	End(ctx context.Context) error
}

// Running are the containers of a target.
type Running struct {
	// Target is where they are. It has no containers itself: for whoever reads it, it is a target like
	// any other.
	Target *target.Target

	names   []string
	servers []Server
}

// Start starts the containers of a target, one after the other, each when the one before is ready.
// If one fails, those before it are ended.
func Start(ctx context.Context, engine Engine, t *target.Target, words map[string]string) (_ *Running, err error) {
	r := new(Running)
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

// server is the one of that name; nil if there is none.
func (r *Running) server(name string) Server {
	if at := slices.Index(r.names, name); at >= 0 {
		return r.servers[at]
	}
	return nil
}

// portsOf are the ports that a container publishes: its own, and those of all that will share its
// network.
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

// resolve is the target at the addresses that the engine gave. They are put into its text, so that
// no field is forgotten, whatever fields there are.
func (r *Running) resolve(ctx context.Context, t *target.Target, words map[string]string) (*target.Target, error) {
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
	if found, err = expand(found, words); err != nil {
		return nil, err
	}
	return target.Parse([]byte(found))
}

// address is where the engine published a container's port.
func (r *Running) address(ctx context.Context, name, port string) (string, error) {
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

// WriteLogs writes what each container has logged to folder/NAME.log.
func (r *Running) WriteLogs(ctx context.Context, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil { // beside a report, for everybody
		return fmt.Errorf("write logs: %w", err)
	}
	var failed error
	for i, server := range r.servers {
		failed = errors.Join(failed, writeLog(ctx, server, filepath.Join(folder, r.names[i]+".log")))
	}
	return failed
}

func writeLog(ctx context.Context, server Server, path string) error {
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
func (r *Running) Stop(ctx context.Context) error {
	var failed error
	for i, server := range slices.Backward(r.servers) {
		if err := server.End(ctx); err != nil {
			failed = errors.Join(failed, fmt.Errorf("end container %s: %w", r.names[i], err))
		}
	}
	r.servers, r.names = nil, nil
	return failed
}
