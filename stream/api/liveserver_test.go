package api

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/stream"
	"github.com/gavel-relay/gavel/stream/broadcast"
)

// The tests of this package have a liveServer: the whole server with an broadcast whose events they
// make up, and a history in memory.
type liveServer struct {
	*broadcast.Broadcast
	past *storedEvents
	// published is the id of the last event.
	published uint64
	// joined has one for each that came to listen.
	joined chan struct{}
}

// Listen implements Broadcast.
func (h *liveServer) Listen(ctx context.Context, wanted broadcast.Subscription) (*broadcast.Listener, error) {
	listener, err := h.Broadcast.Listen(ctx, wanted)
	if err == nil {
		select {
		case h.joined <- struct{}{}:
		default: // the test does not look
		}
	}
	return listener, err
}

// storedEvents is a history in memory.
type storedEvents struct {
	mu     sync.Mutex
	events []stream.Event
	fails  error
}

// After implements broadcast.Past.
func (p *storedEvents) After(_ context.Context, id uint64, limit int) ([]stream.Event, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	begin := slices.IndexFunc(p.events, func(e stream.Event) bool { return e.ID > id })
	if begin < 0 {
		return nil, p.fails
	}
	return slices.Clone(p.events[begin:min(begin+limit, len(p.events))]), p.fails
}

func newLiveServer(change func(*broadcast.Config)) *liveServer {
	kept := &storedEvents{}
	config := broadcast.Config{History: kept}
	if change != nil {
		change(&config)
	}
	return &liveServer{Broadcast: broadcast.New(config), past: kept, joined: make(chan struct{}, 4)}
}

// publish stores and sends events of these JSONs.
func (h *liveServer) publish(hints ...string) {
	var events []stream.Event
	for _, hint := range hints {
		h.published++
		events = append(events, stream.Event{ID: h.published, Block: 100 + h.published, At: time.Unix(1_700_000_000, 0),
			JSON: []byte(hint)})
	}
	h.past.mu.Lock()
	h.past.events = append(h.past.events, events...)
	h.past.mu.Unlock()
	h.Publish(events)
}

// hint is the JSON of an event with this number for a hash.
func hint(number int) string {
	return fmt.Sprintf(
		`{"hash":"0x%064x","logs":null,"txs":[{"to":"0x%040x","functionSelector":"0xa9059cbb"}],"gasUsed":"0x5208"}`,
		number, number)
}

func (h *liveServer) handler() http.Handler { return h.handlerWith(LiveConfig{Network: "devnet"}) }

func (h *liveServer) handlerWith(c LiveConfig) http.Handler {
	mux := &serve.Mux{NotFound: refusal(http.StatusNotFound), NotAllowed: refusal(http.StatusMethodNotAllowed)}
	c.Broadcast = h
	MountLive(mux, c)
	return mux
}

// refusal is a status that refuses.
type refusal int

func (r refusal) Error() string   { return http.StatusText(int(r)) }
func (r refusal) HTTPStatus() int { return int(r) }

// open serves the liveServer on loopback until the test ends.
func (h *liveServer) open(t testing.TB) (url string) {
	t.Helper()
	listener, err := serve.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	h.serve(t, listener)
	return "http://" + listener.Addr().String()
}

func (h *liveServer) serve(t testing.TB, listener net.Listener) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- serve.Serve(ctx, listener, h.handler(), serve.Options{HTTP2: true, MaxConns: 1 << 16,
			ConnsPerAddress: -1}) // all listeners are of one address
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
}

// dialled is a connection that has sent a request: a line and its headers.
func dialled(t testing.TB, listener *servetest.Pipes, request string) net.Conn {
	t.Helper()
	conn := listener.Dial()
	if _, err := io.WriteString(conn, request+"\r\nHost: stream\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	return conn
}

// ear reads the lines of a stream.
type ear struct {
	t      testing.TB
	header http.Header
	body   io.ReadCloser
	lines  *bufio.Reader
}

// listen asks for the stream and reads its header.
func listen(t testing.TB, url string, header http.Header) *ear {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = header
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		raw, err := io.ReadAll(response.Body)
		t.Fatalf("%s: %s %v", response.Status, raw, err)
	}
	return &ear{t, response.Header, response.Body, bufio.NewReader(response.Body)}
}

// next is the next line that is not empty, without its end.
func (e *ear) next() string {
	e.t.Helper()
	for {
		line, err := e.lines.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return "end"
		}
		if err != nil {
			e.t.Fatal(err)
		}
		if line != "\n" {
			return line[:len(line)-1]
		}
	}
}

func (e *ear) want(lines ...string) {
	e.t.Helper()
	for _, line := range lines {
		if got := e.next(); got != line {
			e.t.Fatalf("heard %q, want %q", got, line)
		}
	}
}
