package beacon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// scripted is a beacon node whose events a test sends one by one, and that it can take off the
// network and bring back. It answers every question alike, and counts them.
type scripted struct {
	url string

	mu     sync.Mutex // guards all below
	down   chan struct{}
	isDown bool
	stream chan string // of whoever listens
	asked  []string    // paths
}

func newScripted() *scripted {
	return &scripted{down: make(chan struct{}), stream: make(chan string)}
}

// take makes the node break all streams and answer nothing but 503; bring ends that.
func (s *scripted) take() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isDown = true
	close(s.down)
}

func (s *scripted) bring() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.isDown, s.down = false, make(chan struct{})
}

// head announces a head, once somebody listens.
func (s *scripted) head(slot phase0.Slot) { s.stream <- wireOf(headTopic, headOf(slot)) }

func headOf(slot phase0.Slot) string {
	return fmt.Sprintf(
		`{"slot":"%d","block":"0x%064x","previous_duty_dependent_root":"0x%064x","current_duty_dependent_root":"0x%064x"}`,
		slot, slot, 2, 3)
}

// questions are the paths that were asked since the last call.
func (s *scripted) questions() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.asked
	s.asked = nil
	return asked
}

func (s *scripted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	down, isDown := s.down, s.isDown
	events := strings.HasSuffix(r.URL.Path, "/events")
	if !events {
		s.asked = append(s.asked, r.URL.Path)
	}
	s.mu.Unlock()
	switch {
	case isDown:
		http.Error(w, "down", http.StatusServiceUnavailable)
	case events:
		w.WriteHeader(http.StatusOK)
		for {
			_ = http.NewResponseController(w).Flush()
			select {
			case text := <-s.stream:
				_, _ = io.WriteString(w, text)
			case <-down:
				return
			case <-r.Context().Done():
				return
			}
		}
	case strings.HasSuffix(r.URL.Path, "/validator_identities"):
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(make([]byte, identitySize))
	default:
		_, _ = fmt.Fprintf(w, `{"dependent_root":"0x%064x","data":[]}`, 1)
	}
}

// followed is Nodes that follow until the test ends, and the slots of the heads that they tell.
func followed(t *testing.T, n *Nodes, events Events) <-chan phase0.Slot {
	t.Helper()
	heads := make(chan phase0.Slot, 16)
	events.Head = func(h relay.Head) { heads <- h.Slot }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Follow(ctx, events) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("following ended with %v", err)
		}
	})
	return heads
}

// wantNext wants a head to be told, and the questions of what it changes to be put to one node and
// not to the other.
func wantNext(t *testing.T, n *Nodes, heads <-chan phase0.Slot, slot phase0.Slot, asked, spared *scripted) {
	t.Helper()
	if got := <-heads; got != slot {
		t.Errorf("head %d, want %d", got, slot)
	}
	if _, _, err := n.Duties(t.Context(), 0); err != nil {
		t.Errorf("slot %d: duties: %v", slot, err)
	}
	if table, err := n.Validators(t.Context()); err != nil || len(table) != 1 {
		t.Errorf("slot %d: %d validators, %v", slot, len(table), err)
	}
	want := []string{"/eth/v2/validator/duties/proposer/0", "/eth/v1/beacon/states/head/validator_identities"}
	if got := asked.questions(); !slices.Equal(got, want) {
		t.Errorf("slot %d: the live node was asked %q", slot, got)
	}
	if got := spared.questions(); len(got) > 0 {
		t.Errorf("slot %d: the other node was asked %q", slot, got)
	}
}

// When a node's stream breaks and it stays away, heads come from the other, and so do duties and
// the validator table, without a question wasted; when it is back and the other goes, all comes
// from it again.
func TestFailOverWhileFollowing(t *testing.T) {
	a, b := newScripted(), newScripted()
	for _, node := range []*scripted{a, b} {
		server := httptest.NewServer(node)
		t.Cleanup(server.Close)
		node.url = server.URL
	}
	n := nodes(t, a.url, b.url)
	heads := followed(t, n, Events{})

	a.head(1)
	wantNext(t, n, heads, 1, a, b)
	b.head(1) // has been told
	a.take()
	untilFollowing(t, n, b.url)
	b.head(2)
	wantNext(t, n, heads, 2, b, a)
	a.bring()
	a.head(2) // when its stream is open again
	b.take()
	untilFollowing(t, n, a.url)
	a.head(3)
	wantNext(t, n, heads, 3, a, b)
}

// untilFollowing waits until one node is followed and no other.
func untilFollowing(t *testing.T, n *Nodes, only string) {
	t.Helper()
	for t.Context().Err() == nil {
		if following := n.heads.following(); len(following) == 1 && following[only] {
			return
		}
		runtime.Gosched() // a stream has ended when its reader sees it
	}
}

// A node that is behind the others is asked last, although its events come.
func TestANodeBehindIsAskedLast(t *testing.T) {
	n := nodes(t, "http://a", "http://b", "http://c")
	for _, step := range []struct {
		what    string
		a, b, c phase0.Slot // newest heads; 0 is none
		want    []int
	}{
		{"nothing is known", 0, 0, 0, []int{0, 1, 2}},
		{"one announces", 0, 9, 0, []int{1, 0, 2}},
		{"all do, not in the same slot", 9, 11, 10, []int{0, 1, 2}},
		{"one is behind", 8, 11, 10, []int{1, 2, 0}},
		{"two are", 8, 11, 7, []int{1, 0, 2}},
		{"the chain went back", 8, 5, 7, []int{0, 2, 1}},
	} {
		n.heads = heads{}
		for node, slot := range map[string]phase0.Slot{"http://a": step.a, "http://b": step.b, "http://c": step.c} {
			if slot > 0 {
				n.heads.noteHead(node, slot)
			}
		}
		if got := n.pool.Rank(time.Now()); !slices.Equal(got, step.want) {
			t.Errorf("%s: asked in the order %v, want %v", step.what, got, step.want)
		}
	}
	if err := n.pool.Ask(t.Context(), func(_ context.Context, node int) error {
		if node != 1 {
			return errors.New("no answer")
		}
		return nil
	}, func(int, error) {}); err != nil {
		t.Error(err)
	}
	if got, want := n.pool.Rank(time.Now()), []int{2, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("the one that answered last: %v, want %v", got, want)
	}
}

// inside carries requests to handlers without a socket, so that time can be played.
type inside map[string]http.Handler

// RoundTrip implements http.RoundTripper.
func (i inside) RoundTrip(r *http.Request) (*http.Response, error) {
	reader, writer := io.Pipe()
	context.AfterFunc(r.Context(), func() { _ = writer.CloseWithError(r.Context().Err()) })
	answer := &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: reader, Request: r}
	go func() {
		i[r.URL.Host].ServeHTTP(piped{answer.Header, writer}, r)
		_ = writer.Close()
	}()
	return answer, nil
}

type piped struct {
	header http.Header
	io.Writer
}

func (p piped) Header() http.Header { return p.header }
func (piped) WriteHeader(int)       {}

// A node whose stream stays open, and says that it is alive, but that announces no heads any more
// is noticed by the age of its last one: the operator is told, it is asked last, and its stream is
// opened anew.
func TestANodeThatFollowsTheChainNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := newScripted(), newScripted()
		n, err := New(Config{URLs: []string{"http://user:secret@a", "http://b"},
			HTTP: &http.Client{Transport: inside{"a": a, "b": b}}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		const silence = 96 * time.Second
		began := time.Now()
		var stuck []string
		heads := followed(t, n, Events{Silence: silence, Stuck: func(node string, err error) {
			stuck = append(stuck, fmt.Sprintf("%s after %s: %v", node, time.Since(began), err))
		}})
		a.head(1)
		<-heads
		for slot := phase0.Slot(1); slot <= 9; slot++ { // 12 s each
			b.head(slot)
			if slot > 1 && <-heads != slot {
				t.Errorf("slot %d is not told", slot)
			}
			a.stream <- ":\n\n" // a comment, as nodes send them when they have nothing else to say
			time.Sleep(12 * time.Second)
		}
		synctest.Wait()
		if want := []string{"http://user:xxxxx@a after 1m36s: the node announces no heads"}; !slices.Equal(stuck, want) {
			t.Errorf("told %q, want %q", stuck, want)
		}
		if n.Following() != 1 || !slices.Equal(n.pool.Rank(time.Now()), []int{1, 0}) {
			t.Errorf("%d are followed, asked in the order %v", n.Following(), n.pool.Rank(time.Now()))
		}
		if got := n.Follows(); !maps.Equal(got, map[string]bool{"a": false, "b": true}) {
			t.Errorf("by name: %v", got) // without the password
		}
		a.head(9) // its stream is open again
		a.head(10)
		if got := <-heads; got != 10 {
			t.Errorf("head %d of the node that is back", got)
		}
		if n.Following() != 2 {
			t.Errorf("%d are followed", n.Following())
		}
	})
}
