package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/stream"
	"github.com/gavel-relay/gavel/stream/api"
	"github.com/gavel-relay/gavel/stream/broadcast"
)

// script answers one request after the other; the last answer is for all that follow. It notes when
// each came and what it had last.
type script struct {
	answers []answer
	asked   []asked
}

type answer struct {
	status int
	retry  string
	body   io.ReadCloser
	err    error
}

type asked struct {
	at   time.Duration
	last string
}

func lines(text string) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }

// quiet is a body on which nothing comes until its request ends.
type quiet struct{ ctx context.Context }

func (q quiet) Read([]byte) (int, error) { <-q.ctx.Done(); return 0, context.Cause(q.ctx) }
func (q quiet) Close() error             { return nil }

var began time.Time

// RoundTrip implements http.RoundTripper.
func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	a := s.answers[min(len(s.asked), len(s.answers)-1)]
	s.asked = append(s.asked, asked{time.Since(began), r.Header.Get("Last-Event-ID")})
	if a.body == nil {
		a.body = quiet{r.Context()}
	}
	if a.err != nil {
		return nil, a.err
	}
	header := http.Header{}
	if a.retry != "" {
		header.Set("Retry-After", a.retry)
	}
	return &http.Response{StatusCode: a.status, Status: http.StatusText(a.status), Header: header, Body: a.body,
		Request: r}, nil
}

// full is an event with all that it must have.
func full(n int) string {
	return fmt.Sprintf("id: %d\ndata: {\"hash\":\"%s\",\"logs\":null,\"txs\":null}\n\n", n, common.Hash{byte(n)})
}

// A story of connections: how each ends, how long the client waits, and where it goes on.
func TestEventsComeBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began = time.Now()
		service := &script{answers: []answer{
			{err: errors.New("no route")},
			{status: 502, body: lines("bad gateway")},
			{status: 503, body: lines(`{"code":503,"message":"too many listeners"}`), retry: "5"},
			{status: 200, body: lines(full(1) + full(2))},
			{status: 200, body: lines(":ping\n\n")},
			{status: 200, body: lines(full(3) + "id: 4\ndata: {")}, // cut short
			{status: 200}, // silent
			{status: 503, body: lines("busy"), retry: "3600"}, // longer than we wait
			{status: 200, body: lines(full(4))},
		}}
		var broken []string
		c, err := New("http://stream.example/", Options{
			HTTP: &http.Client{Transport: service}, MinWait: time.Second, MaxWait: 8 * time.Second,
			Broken: func(err error, wait time.Duration) { broken = append(broken, fmt.Sprintf("%v: %v", wait, err)) },
		})
		if err != nil {
			t.Fatal(err)
		}
		var ids []uint64
		for event, err := range c.Events(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			if event.Hash != (common.Hash{byte(event.ID)}) {
				t.Errorf("event %d is %s", event.ID, event.Raw)
			}
			if ids = append(ids, event.ID); event.ID == 4 {
				break
			}
		}
		if !slices.Equal(ids, []uint64{1, 2, 3, 4}) {
			t.Errorf("heard %v", ids)
		}
		second := func(n int) time.Duration { return time.Duration(n) * time.Second }
		want := []asked{
			{0, ""}, {second(1), ""}, {second(3), ""}, {second(8), ""}, // 1, 2, 5 because the service said so
			{second(9), "2"},  // 1 again: it brought events
			{second(11), "2"}, // 2: a ping is no event
			{second(12), "3"}, {second(12 + 40 + 2), "3"}, {second(12 + 40 + 2 + 8), "3"},
		}
		if !slices.Equal(service.asked, want) {
			t.Errorf("asked at\n%v, want\n%v\n%s", service.asked, want, strings.Join(broken, "\n"))
		}
		if len(broken) != 8 || !strings.Contains(broken[2], "too many listeners") ||
			!strings.Contains(broken[6], errSilent.Error()) {
			t.Errorf("told\n%s", strings.Join(broken, "\n"))
		}
	})
}

// When the request itself is wrong there is no use in repeating it; 429 and 408 pass.
func TestEventsGiveUp(t *testing.T) {
	for status, gives := range map[int]bool{400: true, 401: true, 404: true, 408: false, 429: false, 500: false,
		503: false} {
		synctest.Test(t, func(t *testing.T) {
			service := &script{answers: []answer{{status: status, body: lines("no")}}}
			c, _ := New("http://stream.example", Options{HTTP: &http.Client{Transport: service}})
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			var last error
			for _, err := range c.EventsAfter(ctx, 7) {
				last = err
			}
			known := (*StatusError)(nil)
			if gave := errors.As(last, &known) && known.Status == status; gave != gives ||
				(!gave && !errors.Is(last, context.DeadlineExceeded)) {
				t.Errorf("%d ends with %v", status, last)
			}
			if service.asked[0].last != "7" {
				t.Errorf("it began after %q", service.asked[0].last)
			}
		})
	}
}

// An event that cannot be decoded is told, and the next ones follow.
func TestEventsThatCannotBeDecoded(t *testing.T) {
	service := &script{answers: []answer{{status: 200, body: lines("id: 8\ndata: [1]\n\n" + full(9))}}}
	c, _ := New("http://stream.example", Options{HTTP: &http.Client{Transport: service}})
	var got []string
	for event, err := range c.Events(t.Context()) {
		got = append(got, fmt.Sprint(event.ID, err != nil, len(event.Raw)))
		if event.ID == 9 {
			break
		}
	}
	if !slices.Equal(got, []string{"8 true 3", "9 false 100"}) {
		t.Errorf("%q", got)
	}
}

func TestNewRefuses(t *testing.T) {
	for _, base := range []string{"", "stream.example", "ftp://x", "http://", "http://x?a=b", "http://%"} {
		if _, err := New(base, Options{}); err == nil {
			t.Errorf("%q is taken", base)
		}
	}
}

// kept is a history in memory for the service.
type kept struct {
	mu     sync.Mutex
	events []stream.Event
}

// After implements broadcast.History.
func (k *kept) After(_ context.Context, id uint64, limit int) ([]stream.Event, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	id = min(id, uint64(len(k.events)))
	return slices.Clone(k.events[id:min(id+uint64(limit), uint64(len(k.events)))]), nil
}

// Against the real service, which breaks its connections again and again while it publishes: each
// event once, in order.
func TestEventsOfTheService(t *testing.T) {
	const last = 300
	history := &kept{}
	hall := broadcast.New(broadcast.Config{History: history, PerListener: time.Nanosecond})
	mux := &serve.Mux{}
	api.MountLive(mux, api.LiveConfig{Broadcast: hall})
	server := httptest.NewServer(mux)
	defer server.Close()
	c, err := New(server.URL, Options{MinWait: 1, MaxWait: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	publish := func(n int) {
		event := stream.Event{ID: uint64(n), JSON: fmt.Appendf(nil, `{"hash":"%s","logs":null,"txs":null}`,
			common.Hash{1, byte(n)})}
		history.mu.Lock()
		history.events = append(history.events, event)
		history.mu.Unlock()
		hall.Publish([]stream.Event{event})
	}
	for n := range 3 {
		publish(n + 1)
	}
	var publishing sync.WaitGroup
	next := uint64(2)
	for event, err := range c.EventsAfter(t.Context(), 1) {
		if err != nil {
			t.Fatal(err)
		}
		if event.ID != next || event.Hash != (common.Hash{1, byte(next)}) {
			t.Fatalf("heard %d %s, want %d", event.ID, event.Raw, next)
		}
		if next++; next > last {
			break
		}
		if event.ID%30 == 0 {
			server.CloseClientConnections()
		}
		if event.ID == 2 {
			publishing.Go(func() {
				for n := 4; n <= last; n++ {
					publish(n)
				}
			})
		}
	}
	publishing.Wait()
	server.CloseClientConnections()
}
