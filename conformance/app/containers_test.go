package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
)

// fakeEngine runs nothing and tells what it was asked for, in order. A container named broken does
// not get ready.
type fakeEngine struct{ told []string }

func (e *fakeEngine) Run(_ context.Context, c target.Container, network app.Container,
	ports []int) (app.Container, error) {
	if c.Name == "broken" {
		return nil, errors.New("it wrote last: no beacon node")
	}
	line := fmt.Sprintf("run %s from %s %v %v %v, publishes %v", c.Name, c.Image, c.Command, c.Environment, c.Files, ports)
	if network != nil {
		line += " in the network of " + network.(*fakeServer).name
	}
	e.told = append(e.told, line)
	return &fakeServer{e, c.Name}, nil
}

type fakeServer struct {
	engine *fakeEngine
	name   string
}

func (s *fakeServer) Address(_ context.Context, port int) (string, error) {
	return fmt.Sprintf("%s.example:%d", s.name, 10_000+port), nil
}

func (s *fakeServer) Log(context.Context) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(s.name + " starts\n")), nil
}

func (s *fakeServer) End(context.Context) error {
	s.engine.told = append(s.engine.told, "end "+s.name)
	return nil
}

const pod = `
implementation: {project: acme, version: "${IMAGE}"}
rpc: {url: "http://${rpc:1}/below"}
stream: {url: "http://${stream:3}"}
containers:
- {name: rpc, image: "${IMAGE}", command: [--node, "${EXECUTION_URL}"], environment: {CHAIN: "${CHAIN_ID}"}, files: {/chain: "id=${CHAIN_ID}"}, ports: [1, 2]}
- {name: stream, image: acme/stream:v1, ports: [3], with: rpc}
`

func parsed(t *testing.T, text string) *target.Target {
	t.Helper()
	parsed, err := target.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// Containers start one after the other with the world in their words, addresses are where the
// engine published them, and they end in reverse.
func TestStart(t *testing.T) {
	engine := new(fakeEngine)
	words := map[string]string{"IMAGE": "acme/rpc:v2", "EXECUTION_URL": "http://10.0.0.1:8545", "CHAIN_ID": "7"}
	running, err := app.StartContainers(t.Context(), engine, parsed(t, pod), words)
	if err != nil {
		t.Fatal(err)
	}
	got := running.Target
	if got.RPC.URL != "http://rpc.example:10001/below" || got.Stream.URL != "http://stream.example:10003" ||
		got.Relay != nil {
		t.Errorf("addresses %v", got.Addresses())
	}
	if got.Implementation.Version != "acme/rpc:v2" || len(got.Containers) > 0 {
		t.Errorf("%+v", got)
	}
	folder := filepath.Join(t.TempDir(), "logs")
	if err := running.WriteLogs(t.Context(), folder); err != nil {
		t.Error(err)
	}
	if log, err := os.ReadFile(filepath.Join(folder, "stream.log")); err != nil || string(log) != "stream starts\n" {
		t.Errorf("log %q: %v", log, err)
	}
	if err := running.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	want := []string{
		"run rpc from acme/rpc:v2 [--node http://10.0.0.1:8545] map[CHAIN:7] map[/chain:id=7], publishes [1 2 3]",
		"run stream from acme/stream:v1 [] map[] map[], publishes [] in the network of rpc",
		"end stream", "end rpc",
	}
	if !slices.Equal(engine.told, want) {
		t.Errorf("the engine was told\n%s\nwant\n%s", strings.Join(engine.told, "\n"), strings.Join(want, "\n"))
	}
}

// One that does not get ready takes those before it along; a word that there is not is found before
// its container is started.
func TestStartFails(t *testing.T) {
	for _, row := range []struct{ change, to, want string }{
		{"name: stream", "name: broken", "no beacon node"},
		{"[3]", "[3], command: ['${BEACON}']", "${BEACON} stands for nothing: there are CHAIN_ID, EXECUTION_URL, IMAGE"},
	} {
		engine := new(fakeEngine)
		text := strings.ReplaceAll(strings.ReplaceAll(pod, row.change, row.to), "${stream:3}", "${rpc:2}")
		_, err := app.StartContainers(t.Context(), engine, parsed(t, text),
			map[string]string{"IMAGE": "x", "EXECUTION_URL": "y",
				"CHAIN_ID": "z"})
		if err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", row.to, err)
		}
		if len(engine.told) != 2 || engine.told[1] != "end rpc" {
			t.Errorf("%s: the engine was told %q", row.to, engine.told)
		}
	}
}

// What stands in the file of our own services is in the words of a world, beside the image.
func TestGavel(t *testing.T) {
	ours, err := app.GavelInContainers(true)
	if err != nil {
		t.Fatal(err)
	}
	words, err := app.WorldWords(world.Facts{
		ChainID: 7, SlotMs: 2000, BeaconURL: "http://127.0.0.1:1", ExecutionURL: "http://127.0.0.1:2",
		ValidationURL: "http://127.0.0.1:3",
		Builders: []world.Builder{{Name: "default", URL: "http://127.0.0.1:4/default"}, {Name: "second"},
			{Name: "third"}},
	}, "172.17.0.1")
	if err != nil {
		t.Fatal(err)
	}
	words["IMAGE"] = "gavel:dev"
	engine := new(fakeEngine)
	running, err := app.StartContainers(t.Context(), engine, ours, words)
	if err != nil {
		t.Fatal(err)
	}
	want := target.Literal{Relay: "http://relay-literal.example:19062", RPC: "http://rpc-literal.example:19072",
		Stream: "http://stream-literal.example:19084"}
	if running.Target.Literal != want {
		t.Errorf("literal instances are %+v, want %+v", running.Target.Literal, want)
	}
	if only, err := app.GavelInContainers(false); err != nil || len(only.Containers) != 3 || len(ours.Containers) != 6 ||
		only.Literal != (target.Literal{}) {
		t.Errorf("without literal mode: %+v, %v", only, err)
	}
	if told := strings.Join(engine.told, "\n"); !strings.Contains(told, "--beacon=http://172.17.0.1:1") ||
		!strings.Contains(told, "--block-time=2s") ||
		!strings.Contains(told, "http://172.17.0.1:4/default") {
		t.Errorf("the engine was told\n%s", told)
	}
}

// That there is no engine is an error of its own, so that callers may do without.
func TestNoEngine(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(t.TempDir(), "none.sock"))
	switch _, err := app.OpenEngine(t.Context()); {
	case err == nil:
		t.Skip("this machine has an engine at its usual place")
	case !errors.Is(err, app.ErrNoEngine):
		t.Error(err)
	}
}
