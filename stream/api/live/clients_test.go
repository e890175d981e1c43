package live

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"sync/atomic"
	"testing"

	"github.com/tmaxmax/go-sse"

	"github.com/gavel-relay/gavel/internal/serve"
)

// go-sse, a client of others, hears events with their ids, and when its connection breaks comes back and misses none.
func TestGoSSE(t *testing.T) {
	h := newHouse(nil)
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
	<-ended
	if connections.Load() < 2 {
		t.Errorf("%d connections", connections.Load())
	}
}

// curl -N prints every event at once, as it came.
func TestCurl(t *testing.T) {
	h := newHouse(nil)
	url := h.open(t)
	for _, row := range []struct {
		args []string
		want []string
	}{
		{nil, []string{"data: " + hint(1), ""}},
		{[]string{"--http2-prior-knowledge"}, []string{"data: " + hint(1), ""}},
		{[]string{"--compressed", "-G", "-d", "gzip=1"}, []string{"data: " + hint(1), ""}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		curl := exec.CommandContext(ctx, "curl", append([]string{"-sSN", url + "/"}, row.args...)...)
		out, err := curl.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		before := h.Stats().Delivered
		if err := curl.Start(); err != nil {
			t.Fatalf("%v; curl is needed (make install-needs)", err)
		}
		for h.Stats().Delivered == before { // it listens as soon as somebody has heard something
			if h.Stats().Listeners > 0 {
				h.publish(hint(1))
				break
			}
		}
		lines := bufio.NewReader(out)
		for _, want := range row.want {
			if got, err := lines.ReadString('\n'); err != nil || got != want+"\n" {
				t.Fatalf("%v: %q, %v, want %q", row.args, got, err, want)
			}
		}
		cancel()
		_ = curl.Wait() // it was ended
		for h.Stats().Listeners > 0 {
			h.publish(hint(2)) // that it has gone shows when something is written to it
		}
	}
}
