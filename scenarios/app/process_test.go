package app

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/serve"
)

// life is a service that answers with its number.
type life struct {
	number string
	fails  error
	closed *[]string
}

func (l life) Serve(ctx context.Context, listener net.Listener) error {
	if l.fails != nil {
		return errors.Join(l.fails, listener.Close())
	}
	return serve.Serve(ctx, listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, l.number)
	}), serve.Options{})
}

func (l life) Close() error {
	*l.closed = append(*l.closed, l.number)
	return nil
}

func ask(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url) //nolint:noctx // it is our own
	if err != nil {
		return "nobody"
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Error(err)
	}
	return string(body)
}

// A process is killed and started at one address; each life is opened anew and closed.
func TestProcess(t *testing.T) {
	var lives, closed []string
	p, err := newProcess("relay-1", func(context.Context) (service, error) {
		number := string(rune('1' + len(lives)))
		lives = append(lives, number)
		return life{number: number, closed: &closed}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	step := func(what string, do func() error, want string) {
		t.Helper()
		if err := do(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := ask(t, p.url()); got != want {
			t.Errorf("after %s %s answers, want %s", what, got, want)
		}
	}
	start := func() error { return p.start(t.Context()) }
	step("nothing", func() error { return nil }, "nobody")
	step("the start", start, "1")
	step("a second start", start, "1")
	step("the kill", p.kill, "nobody")
	step("a second kill", p.kill, "nobody")
	step("the restart", start, "2")
	step("the last kill", p.kill, "nobody")
	if !slices.Equal(lives, closed) {
		t.Errorf("lives %v, closed %v", lives, closed)
	}
}

// What a service ended with is told by the one who kills it; what keeps it from starting is told at once, and leaves the address free.
func TestProcessFails(t *testing.T) {
	broken := errors.New("broken")
	opens := error(nil)
	p, err := newProcess("rpc", func(context.Context) (service, error) { return life{fails: broken, closed: new([]string)}, opens })
	if err != nil {
		t.Fatal(err)
	}
	if err := p.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := p.kill(); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), "stop rpc: ") {
		t.Errorf("got %v", err)
	}
	opens = errors.New("no disk")
	if err := p.start(t.Context()); !errors.Is(err, opens) || !strings.HasPrefix(err.Error(), "start rpc: ") {
		t.Errorf("got %v", err)
	}
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		t.Fatalf("the address is held: %v", err)
	}
	defer listener.Close()
	if err := p.start(t.Context()); err == nil || !strings.Contains(err.Error(), "start rpc: address "+p.address+" is in use") {
		t.Errorf("got %v", err)
	}
}
