package fault

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// service echoes bodies, and streams what it is told to on /events.
type service struct {
	*httptest.Server
	requests atomic.Int64
	events   chan string
	last     atomic.Value // the body of the last request, bytes
}

func newService(t *testing.T) *service {
	s := &service{events: make(chan string)}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.requests.Add(1)
		if r.URL.Path == "/events" {
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			for {
				select {
				case event := <-s.events:
					fmt.Fprintln(w, event)
					w.(http.Flusher).Flush()
				case <-r.Context().Done():
					return
				}
			}
		}
		body, _ := io.ReadAll(r.Body)
		s.last.Store(body)
		w.Header().Set("X-Path", r.URL.RequestURI())
		w.WriteHeader(http.StatusAccepted)
		_, _ = w.Write(body)
		fmt.Fprint(w, "a plain answer of some length")
	}))
	t.Cleanup(s.Close)
	return s
}

func newProxy(t *testing.T, target string, seed uint64) *Proxy {
	t.Helper()
	p, err := Listen(target, seed)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func set(t *testing.T, p *Proxy, condition Condition) {
	t.Helper()
	if err := p.Set(condition); err != nil {
		t.Error(err)
	}
}

// answered is what a test looks at of an answer, besides its body.
type answered struct {
	status int
	path   string
}

// ask posts a body with connections of its own.
func ask(ctx context.Context, url string, body []byte) (answered, []byte, error) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	method := http.MethodPost
	if body == nil {
		method = http.MethodGet
	}
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return answered{}, nil, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return answered{}, nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	return answered{response.StatusCode, response.Header.Get("X-Path")}, answer, err
}

const plainAnswer = "a plain answer of some length"

// Without a fault nobody sees the proxy.
func TestPassesThrough(t *testing.T) {
	s := newService(t)
	p := newProxy(t, s.URL, 1)
	for _, size := range []int{1, 100, 3 << 20} {
		body := bytes.Repeat([]byte{7}, size)
		response, answer, err := ask(t.Context(), p.URL()+"/a%2Fb?c=d", body)
		if err != nil || response.status != http.StatusAccepted || response.path != "/a%2Fb?c=d" ||
			!bytes.Equal(answer, append(body, plainAnswer...)) {
			t.Fatalf("%d bytes: %v, %v", size, response, err)
		}
	}
}

// stream opens /events and returns its lines; the channel closes when the stream ends.
func stream(t *testing.T, url string) <-chan string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := (&http.Transport{}).RoundTrip(request) //nolint:bodyclose // the goroutine below closes it
	if err != nil {
		t.Fatal(err)
	}
	lines := make(chan string, 10)
	go func() {
		defer response.Body.Close()
		defer close(lines)
		for scanner := bufio.NewScanner(response.Body); scanner.Scan(); {
			lines <- scanner.Text()
		}
	}()
	return lines
}

// Events pass as they come, are held back by a partition, and come when it ends.
func TestStreams(t *testing.T) {
	s := newService(t)
	p := newProxy(t, s.URL, 1)
	lines := stream(t, p.URL())
	s.events <- "one"
	if got := <-lines; got != "one" {
		t.Fatalf("got %q", got)
	}
	set(t, p, Condition{Partition: true})
	s.events <- "two"
	s.events <- "three" // the service itself notices nothing
	select {
	case got, open := <-lines:
		t.Errorf("%q (open %v) came through a partition", got, open)
	default:
	}
	set(t, p, Condition{})
	if got := <-lines + " " + <-lines; got != "two three" {
		t.Errorf("after the partition came %q", got)
	}
}

// A reset breaks what is open and what is tried anew, until it is over.
func TestReset(t *testing.T) {
	s := newService(t)
	p := newProxy(t, s.URL, 1)
	lines := stream(t, p.URL())
	s.events <- "one"
	<-lines
	set(t, p, Condition{Reset: true})
	if got, open := <-lines; open {
		t.Errorf("the stream goes on with %q", got)
	}
	before := s.requests.Load()
	if _, _, err := ask(t.Context(), p.URL(), []byte("x")); err == nil || s.requests.Load() != before {
		t.Errorf("a reset connection is answered: %v", err)
	}
	set(t, p, Condition{})
	if _, _, err := ask(t.Context(), p.URL(), []byte("x")); err != nil {
		t.Errorf("after the reset: %v", err)
	}
}

// Where nobody listens, what is open breaks and new connections are refused; at the end the proxy
// is where it was.
func TestRefuse(t *testing.T) {
	s := newService(t)
	p := newProxy(t, s.URL, 1)
	lines, before := stream(t, p.URL()), p.URL()
	s.events <- "one"
	<-lines
	set(t, p, Condition{Refuse: true})
	if got, open := <-lines; open {
		t.Errorf("the stream goes on with %q", got)
	}
	if _, _, err := ask(t.Context(), p.URL(), []byte("x")); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("got %v, want a refused connection", err)
	}
	set(t, p, Condition{Refuse: true, Latency: time.Nanosecond}) // closed already
	set(t, p, Condition{})
	if _, _, err := ask(t.Context(), before, []byte("x")); err != nil {
		t.Errorf("after it: %v", err)
	}
}

// Who has taken the address meanwhile is named.
func TestRefuseAddressTaken(t *testing.T) {
	p := newProxy(t, newService(t).URL, 1)
	set(t, p, Condition{Refuse: true})
	other, err := net.Listen("tcp", strings.TrimPrefix(p.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if err := p.Set(Condition{}); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("got %v", err)
	}
}

// Nobody answers what is dropped or partitioned: the client waits for as long as it likes.
func TestNoAnswer(t *testing.T) {
	for name, condition := range map[string]Condition{"drop": {Drop: 1}, "partition": {Partition: true}} {
		t.Run(name, func(t *testing.T) {
			s := newService(t)
			p := newProxy(t, s.URL, 1)
			set(t, p, condition)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, _, err := ask(ctx, p.URL(), []byte("x")); !errors.Is(err, context.DeadlineExceeded) || s.requests.Load() != 0 {
				t.Errorf("%v after %d requests", err, s.requests.Load())
			}
		})
	}
}

// A request that a partition holds is answered when the partition ends.
func TestPartitionEnds(t *testing.T) {
	s := newService(t)
	p := newProxy(t, s.URL, 1)
	set(t, p, Condition{Partition: true})
	done := make(chan error)
	go func() {
		_, _, err := ask(t.Context(), p.URL(), []byte("x"))
		done <- err
	}()
	set(t, p, Condition{})
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestAnswer(t *testing.T) {
	s := newService(t)
	p := newProxy(t, s.URL, 1)
	set(t, p, Condition{Answer: 503})
	response, body, err := ask(t.Context(), p.URL(), []byte("x"))
	if err != nil || response.status != 503 || string(body) != `{"code":503,"message":"Service Unavailable"}` ||
		s.requests.Load() != 0 {
		t.Errorf("%v, %s, %v", response, body, err)
	}
}

// Latency is felt in each direction; only the least that it may take is looked at, which no busy
// machine can break.
func TestLatency(t *testing.T) {
	s := newService(t)
	p := newProxy(t, s.URL, 1)
	const latency = 20 * time.Millisecond
	set(t, p, Condition{Latency: latency})
	began := time.Now()
	if _, _, err := ask(t.Context(), p.URL(), []byte("x")); err != nil || time.Since(began) < 2*latency {
		t.Errorf("answered after %v, %v", time.Since(began), err)
	}
}

func TestCorrupt(t *testing.T) {
	s := newService(t)
	p := newProxy(t, s.URL, 1)
	set(t, p, Condition{Corrupt: 1})
	body := bytes.Repeat([]byte{7}, 1000)
	if _, _, err := ask(t.Context(), p.URL(), body); err != nil {
		t.Fatal(err)
	}
	got := s.last.Load().([]byte)
	if wrong := differing(body, got); wrong < 5 || wrong > 20 {
		t.Errorf("%d of %d bytes are wrong", wrong, len(body))
	}
	if _, answer, err := ask(t.Context(), p.URL(), nil); err != nil || differing([]byte(plainAnswer), answer) != 1 {
		t.Errorf("answer %q, %v", answer, err)
	}
}

func differing(a, b []byte) int {
	if len(a) != len(b) {
		return -1
	}
	n := 0
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// The same seed spoils the same requests.
func TestShareFollowsTheSeed(t *testing.T) {
	pattern := func(seed uint64) string {
		s := newService(t)
		p := newProxy(t, s.URL, seed)
		set(t, p, Condition{Corrupt: 0.5})
		var out strings.Builder
		for range 32 {
			if _, _, err := ask(t.Context(), p.URL(), bytes.Repeat([]byte{7}, 50)); err != nil {
				t.Fatal(err)
			}
			fmt.Fprint(&out, min(1, differing(bytes.Repeat([]byte{7}, 50), s.last.Load().([]byte))))
		}
		return out.String()
	}
	one, again, other := pattern(1), pattern(1), pattern(2)
	if one != again || one == other || !strings.Contains(one, "0") || !strings.Contains(one, "1") {
		t.Errorf("seed 1: %s, %s; seed 2: %s", one, again, other)
	}
}

// A service that is not there ends the connection without an answer.
func TestServiceGone(t *testing.T) {
	s := newService(t)
	p := newProxy(t, s.URL, 1)
	s.Close()
	if response, _, err := ask(t.Context(), p.URL(), []byte("x")); err == nil {
		t.Errorf("a service that is gone answers %d", response.status)
	}
}

func TestAnd(t *testing.T) {
	a := Condition{Latency: 1, Drop: 0.5, Partition: true, Answer: 500}
	b := Condition{Latency: 2, Drop: 0.1, Reset: true, Refuse: true, Answer: 503, Corrupt: 0.2}
	if got, want := a.And(b), (Condition{3, 0.5, true, true, true, 503, 0.2}); got != want {
		t.Errorf("%+v", got)
	}
	if a.And(Condition{}) != a {
		t.Error("a good condition changes another")
	}
}
