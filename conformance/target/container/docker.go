package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	dockerapi "github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/network"
	"github.com/testcontainers/testcontainers-go"
	"github.com/testcontainers/testcontainers-go/log"
	"github.com/testcontainers/testcontainers-go/wait"

	"github.com/gavel-relay/gavel/conformance/target"
)

// ErrNoEngine says that nothing runs containers here, so that the caller may do without.
var ErrNoEngine = errors.New("no container engine answers")

// startupTimeout bounds how long a container may take to be ready; a relay waits for its beacon
// node meanwhile, and that for genesis.
const startupTimeout = 2 * time.Minute

// Docker is the engine that the environment names: DOCKER_HOST, the user's Docker context, or the
// usual socket.
type Docker struct {
	provider *testcontainers.DockerProvider
}

// Open finds the engine. ErrNoEngine is wrapped if there is none.
func Open(ctx context.Context) (*Docker, error) {
	quiet := log.NewNoopLogger()
	log.SetDefault(quiet) // whoever asked is told by errors
	provider, err := testcontainers.NewDockerProvider(testcontainers.WithLogger(quiet),
		testcontainers.WithDefaultBridgeNetwork(testcontainers.Bridge))
	if err != nil {
		return nil, noEngine(err)
	}
	if err := provider.Health(ctx); err != nil {
		return nil, noEngine(err)
	}
	return &Docker{provider}, nil
}

// noEngine says in one line where none was found.
func noEngine(err error) error {
	return fmt.Errorf("%w: %s", ErrNoEngine, strings.ReplaceAll(err.Error(), "\n", "; "))
}

// Has says whether the engine has an image of that name.
func (d *Docker) Has(ctx context.Context, image string) (bool, error) {
	images, err := d.provider.ListImages(ctx)
	if err != nil {
		return false, fmt.Errorf("list images: %w", err)
	}
	for _, found := range images {
		if found.Name == image {
			return true, nil
		}
	}
	return false, nil
}

// Run implements Engine.
func (n *Network) Run(ctx context.Context, c target.Container, joined Server, ports []int) (Server, error) {
	request := testcontainers.ContainerRequest{
		Image: c.Image, Cmd: c.Command, Env: c.Environment, Labels: map[string]string{"gavel.conformance.container": c.Name},
		WaitingFor: readiness(c),
		Networks:   []string{n.network.Name}, NetworkAliases: map[string][]string{n.network.Name: {c.Name}},
		HostConfigModifier: func(host *dockerapi.HostConfig) { host.ExtraHosts = []string{hostName + ":host-gateway"} },
	}
	for _, port := range ports {
		request.ExposedPorts = append(request.ExposedPorts, tcp(port))
	}
	for path, text := range c.Files {
		request.Files = append(request.Files, testcontainers.ContainerFile{Reader: strings.NewReader(text),
			ContainerFilePath: path, FileMode: 0o444})
	}
	var publisher *server
	if joined != nil {
		publisher = joined.(*server) // engines are given back what they made
		request.Networks, request.NetworkAliases = nil, nil
		mode := dockerapi.NetworkMode("container:" + publisher.container.GetContainerID())
		request.WaitingFor = published{request.WaitingFor, publisher.container}
		request.HostConfigModifier = func(host *dockerapi.HostConfig) { host.NetworkMode = mode }
	}
	container, err := n.provider.RunContainer(ctx, request)
	made := &server{container, publisher}
	switch {
	case err == nil:
		return made, nil
	case container == nil:
		return nil, err
	}
	ctx = context.WithoutCancel(ctx) // what was made is removed even if the run was broken off
	return nil, errors.Join(fmt.Errorf("%w; %s", err, made.lastWords(ctx)), made.End(ctx))
}

func tcp(port int) string { return strconv.Itoa(port) + "/tcp" }

// readiness waits for the answer that the container promises, or for any answer if it promises
// none. That a port takes connections says nothing: the engine itself takes them before the server
// does.
func readiness(c target.Container) wait.Strategy {
	if c.Ready != nil {
		return wait.ForHTTP(c.Ready.Path).WithPort(tcp(c.Ready.Port)).WithStartupTimeout(startupTimeout)
	}
	return wait.ForHTTP("/").WithPort(tcp(c.Ports[0])).WithStatusCodeMatcher(func(int) bool {
		return true
	}).WithStartupTimeout(startupTimeout)
}

// published waits for a container whose ports another one publishes, since it has that one's
// network.
type published struct {
	wait.Strategy
	publisher wait.StrategyTarget
}

// WaitUntilReady implements wait.Strategy.
func (p published) WaitUntilReady(ctx context.Context, own wait.StrategyTarget) error {
	return p.Strategy.WaitUntilReady(ctx, throughPublisher{own, p.publisher})
}

// throughPublisher is a container with another one's published ports; whether it runs is its own
// affair.
type throughPublisher struct {
	wait.StrategyTarget
	publisher wait.StrategyTarget
}

// MappedPort implements wait.StrategyTarget.
func (t throughPublisher) MappedPort(ctx context.Context, port string) (network.Port, error) {
	return t.publisher.MappedPort(ctx, port)
}

// server is a container of Docker's. The publisher is the one whose network it shares; nil if it
// has its own.
type server struct {
	container testcontainers.Container
	publisher *server
}

// Address implements Server.
func (s *server) Address(ctx context.Context, port int) (string, error) {
	if s.publisher != nil {
		return s.publisher.Address(ctx, port)
	}
	host, err := s.container.Host(ctx)
	if err != nil {
		return "", fmt.Errorf("find the engine's host: %w", err)
	}
	mapped, err := s.container.MappedPort(ctx, tcp(port))
	if err != nil {
		return "", fmt.Errorf("find where port %d is published: %w", port, err)
	}
	return net.JoinHostPort(host, mapped.Port()), nil
}

// Log implements Server.
func (s *server) Log(ctx context.Context) (io.ReadCloser, error) { return s.container.Logs(ctx) }

// End implements Server. The server has longer than the engine's ten seconds to finish what it has
// begun.
func (s *server) End(ctx context.Context) error {
	return testcontainers.TerminateContainer(s.container, testcontainers.StopContext(ctx),
		testcontainers.StopTimeout(20*time.Second))
}

// lastLines is how many lines of a container that did not get ready are shown.
const lastLines = 10

// lastWords are what a container has written last, for an error.
func (s *server) lastWords(ctx context.Context) string {
	log, err := s.Log(ctx)
	if err != nil {
		return fmt.Sprintf("its log cannot be read: %v", err)
	}
	defer log.Close()
	text, err := io.ReadAll(io.LimitReader(log, 1<<20))
	if err != nil {
		return fmt.Sprintf("its log cannot be read: %v", err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return "it wrote last: " + strings.Join(lines[max(0, len(lines)-lastLines):], "\n")
}
