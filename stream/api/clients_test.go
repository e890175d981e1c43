package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync/atomic"
	"testing"

	"github.com/tmaxmax/go-sse"

	"github.com/gavel-relay/gavel/internal/serve"
)

// go-sse, a client of others, hears events with their ids, and when its connection breaks comes
// back and misses none.
func TestGoSSE(t *testing.T) {
	h := newLiveServer(nil)
	server := httptest.NewServer(serve.Options{}.Wrap(h.handler()))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL+"/?ids=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	var connections atomic.Int32
	client := &sse.Client{
		HTTPClient: server.Client(), Backoff: sse.Backoff{InitialInterval: 1, MaxInterval: 1},
		ResponseValidator: func(r *http.Response) error {
			if connections.Add(1) == 1 {
				go h.publish(hint(1)) // it is there, since the answer is
			}
			return sse.DefaultValidator(r)
		},
	}
	heard := make(chan sse.Event, 10)
	connection := client.NewConnection(request)
	connection.SubscribeToAll(func(event sse.Event) { heard <- event })
	ended := make(chan error, 1)
	go func() { ended <- connection.Connect() }()
	want := func(number int) {
		t.Helper()
		if got, want := <-heard, (sse.Event{LastEventID: fmt.Sprint(number), Data: hint(number)}); got != want {
			t.Errorf("heard %+v, want %+v", got, want)
		}
	}
	want(1)
	server.CloseClientConnections()
	h.publish(hint(2))
	want(2)
	h.publish(hint(3))
	want(3)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("it ends with %v", err)
	}
	if connections.Load() < 2 {
		t.Errorf("%d connections", connections.Load())
	}
}

// curl -N prints every event at once, as it came.
func TestCurl(t *testing.T) {
	for _, args := range [][]string{
		nil, {"--http2-prior-knowledge"}, {"--compressed", "-G", "-d", "gzip=1"}, {"-H", "Last-Event-ID: 0", "-G",
			"-d", "ids=1"},
	} {
		h := newLiveServer(nil)
		ctx, cancel := context.WithCancel(t.Context())
		curl := exec.CommandContext(ctx, "curl", append([]string{"-sSN", h.open(t) + "/"}, args...)...)
		out, err := curl.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := curl.Start(); err != nil {
			t.Fatalf("%v; curl is needed (make install-needs)", err)
		}
		<-h.joined
		lines := bufio.NewReader(out)
		for number := range 3 {
			h.publish(hint(number))
			want := []string{"data: " + hint(number), ""}
			if len(args) > 2 && args[0] == "-H" {
				want = append([]string{fmt.Sprint("id: ", number+1)}, want...)
			}
			for _, want := range want {
				if got, err := lines.ReadString('\n'); err != nil || got != want+"\n" {
					t.Fatalf("%v: %q, %v, want %q", args, got, err, want)
				}
			}
		}
		cancel()
		_ = curl.Wait() // it was ended
	}
}
