package app

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

// ErrNoEngine means that no container engine was found. The caller may go on without containers.
var ErrNoEngine = errors.New("no container engine answers")

// startupTimeout bounds how long a container may take until it is ready. A relay waits for its
// beacon node in this time, and the beacon node for genesis.
const startupTimeout = 2 * time.Minute

// Docker is the engine that runs containers. It is found by DOCKER_HOST, the user's Docker context,
// or the usual socket.
type Docker struct {
	provider *testcontainers.DockerProvider
}

// OpenEngine finds the engine. The error wraps ErrNoEngine if there is none.
func OpenEngine(ctx context.Context) (*Docker, error) {
	quiet := log.NewNoopLogger()
	log.SetDefault(quiet) // the caller gets errors instead
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

// noEngine makes an error of one line, which says where no engine was found.
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
func (n *Network) Run(ctx context.Context, c target.Container, joined Container, ports []int) (Container, error) {
	request := testcontainers.ContainerRequest{
		Image: c.Image, Cmd: c.Command, Env: c.Environment, Labels: map[string]string{"gavel.conformance.container": c.Name},
		WaitingFor: readiness(c),
		Networks:   []string{n.network.Name}, NetworkAliases: map[string][]string{n.network.Name: {c.Name}},
		HostConfigModifier: func(host *dockerapi.HostConfig) { host.ExtraHosts = []string{hostName + ":host-gateway"} },
	}
	for _, port := range ports {
		request.ExposedPorts = append(request.ExposedPorts, tcpPort(port))
	}
	for path, text := range c.Files {
		request.Files = append(request.Files, testcontainers.ContainerFile{Reader: strings.NewReader(text),
			ContainerFilePath: path, FileMode: 0o444})
	}
	var publisher *containerServer
	if joined != nil {
		publisher = joined.(*containerServer) // the caller passes a Server that this engine has returned
		request.Networks, request.NetworkAliases = nil, nil
		mode := dockerapi.NetworkMode("container:" + publisher.container.GetContainerID())
		request.WaitingFor = published{request.WaitingFor, publisher.container}
		request.HostConfigModifier = func(host *dockerapi.HostConfig) { host.NetworkMode = mode }
	}
	container, err := n.provider.RunContainer(ctx, request)
	made := &containerServer{container, publisher}
	switch {
	case err == nil:
		return made, nil
	case container == nil:
		return nil, err
	}
	ctx = context.WithoutCancel(ctx) // the container is removed even if the run was cancelled
	return nil, errors.Join(fmt.Errorf("%w; %s", err, made.lastWords(ctx)), made.End(ctx))
}

func tcpPort(port int) string { return strconv.Itoa(port) + "/tcp" }

// readiness waits until the container's Ready path answers 200, or until its first port gives any
// HTTP answer if it has no Ready. It does not only wait for a connection, because the engine itself
// accepts connections before the server does.
func readiness(c target.Container) wait.Strategy {
	if c.Ready != nil {
		return wait.ForHTTP(c.Ready.Path).WithPort(tcpPort(c.Ready.Port)).WithStartupTimeout(startupTimeout)
	}
	return wait.ForHTTP("/").WithPort(tcpPort(c.Ports[0])).WithStatusCodeMatcher(func(int) bool {
		return true
	}).WithStartupTimeout(startupTimeout)
}

// published waits for a container that shares the network of another one. The other one, the
// publisher, publishes its ports.
type published struct {
	wait.Strategy
	publisher wait.StrategyTarget
}

// WaitUntilReady implements wait.Strategy.
func (p published) WaitUntilReady(ctx context.Context, own wait.StrategyTarget) error {
	return p.Strategy.WaitUntilReady(ctx, throughPublisher{own, p.publisher})
}

// throughPublisher is a container whose ports are those that the publisher has published. All else,
// such as whether it runs, is the container's own state.
type throughPublisher struct {
	wait.StrategyTarget
	publisher wait.StrategyTarget
}

// MappedPort implements wait.StrategyTarget.
func (t throughPublisher) MappedPort(ctx context.Context, port string) (network.Port, error) {
	return t.publisher.MappedPort(ctx, port)
}

// containerServer is a container that Docker runs. The publisher is the container whose network it
// shares; nil if it has its own network.
type containerServer struct {
	container testcontainers.Container
	publisher *containerServer
}

// Address implements Server.
func (s *containerServer) Address(ctx context.Context, port int) (string, error) {
	if s.publisher != nil {
		return s.publisher.Address(ctx, port)
	}
	host, err := s.container.Host(ctx)
	if err != nil {
		return "", fmt.Errorf("find the engine's host: %w", err)
	}
	mapped, err := s.container.MappedPort(ctx, tcpPort(port))
	if err != nil {
		return "", fmt.Errorf("find where port %d is published: %w", port, err)
	}
	return net.JoinHostPort(host, mapped.Port()), nil
}

// Log implements Server.
func (s *containerServer) Log(ctx context.Context) (io.ReadCloser, error) {
	return s.container.Logs(ctx)
}

// End implements Server. It gives the server 20 s to finish its work; the engine's default of 10 s
// is too short.
func (s *containerServer) End(ctx context.Context) error {
	return testcontainers.TerminateContainer(s.container, testcontainers.StopContext(ctx),
		testcontainers.StopTimeout(20*time.Second))
}

// lastLines is how many lines of its log an error shows of a container that did not become ready.
const lastLines = 10

// lastWords returns the last lines of a container's log, for an error.
func (s *containerServer) lastWords(ctx context.Context) string {
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
