package stream

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/suite/rpc"
	"github.com/gavel-relay/gavel/internal/clock"
)

// pingWithin is how long a stream may be silent: 15 s, and some time for the network.
const pingWithin = 15*time.Second + 750*time.Millisecond

// silence records a stream until its first ping. All specs that need a ping share one record,
// because each would wait for it for 15 s. Pings are for connections, so they come by the wall
// clock, whatever the time of the chain is.
type silence struct {
	once   sync.Once
	lines  []probe.Line
	opened time.Time
}

// wait waits until the stream has sent a ping, and does so only once. Orders of other specs may
// cause events meanwhile; after each line the stream may be silent for pingWithin again.
func (q *silence) wait(t *suite.T) []probe.Line {
	q.once.Do(func() {
		s := openWith(t, client(t).By(clock.Real{}))
		defer s.Close()
		q.opened = time.Now()
		since := q.opened
		for time.Since(since) < pingWithin && !hasPing(s.Lines()) {
			if (clock.Real{}).Until(t, time.Now().Add(20*time.Millisecond)) != nil {
				break
			}
			if lines := s.Lines(); len(lines) > 0 && time.Since(q.opened) < 2*pingWithin {
				since = lines[len(lines)-1].At
			}
		}
		q.lines = s.Lines()
	})
	return q.lines
}

// hasPing says whether the lines have a ping, in whatever form, and a line after it.
func hasPing(lines []probe.Line) bool {
	at := slices.IndexFunc(lines, func(l probe.Line) bool { return strings.Contains(l.Text, "ping") })
	return at >= 0 && at < len(lines)-1
}

// The events that STR-LIV-10 causes. Each has its data in hexadecimal: a megabyte in all.
const (
	deafEvents     = 10
	deafEventBytes = 50_000
)

// mostListeners bounds how many streams the suite opens to reach a limit of listeners.
const mostListeners = 4096

// describeLiveEvents adds specs about GET of the stream's address.
func describeLiveEvents(s *suite.Set) {
	quiet := new(silence)
	s.It("STR-LIV-01", "answers text/event-stream", func(t *suite.T) {
		stream := open(t)
		defer stream.Close()
		media, _, _ := strings.Cut(stream.Header.Get("Content-Type"), ";")
		t.Check(media == "text/event-stream", "text/event-stream", stream.Header.Get("Content-Type"))
	})
	s.It("STR-LIV-02", "says something within 15 seconds", func(t *suite.T) {
		lines := quiet.wait(t)
		t.Check(len(lines) > 0, "a line within "+pingWithin.String(), "silence")
		t.Check(lines[0].At.Sub(quiet.opened) <= pingWithin, "the first line within "+pingWithin.String(),
			lines[0].At.Sub(quiet.opened))
	})
	s.It("STR-LIV-02", "is not silent for longer after an event", func(t *suite.T) {
		if t.World == nil || t.Target.RPC == nil {
			t.NotRun("nobody sends an order: needs a world (chain.worldUrl) and the bundle RPC (rpc.url)")
		}
		stream := openWith(t, client(t).By(clock.Real{}))
		defer stream.Close()
		_, found := waitForEvent(t, stream, rpc.Share(t, some, rpc.NewWallet(t).Transfer(1)))
		t.Check(found, "an event", "none")
		_ = (clock.Real{}).Until(t, time.Now().Add(pingWithin)) // the spec may be over
		lines := stream.Lines()
		for i := 1; i < len(lines); i++ {
			gap := lines[i].At.Sub(lines[i-1].At)
			t.Check(gap <= pingWithin, "lines at most "+pingWithin.String()+" apart", gap)
		}
		t.Check(time.Since(lines[len(lines)-1].At) <= pingWithin, "a line within "+pingWithin.String(), "silence")
	})
	s.It("STR-LIV-03", "pings by a comment and a blank line", func(t *suite.T) {
		lines := quiet.wait(t)
		at := slices.IndexFunc(lines, func(l probe.Line) bool { return strings.Contains(l.Text, "ping") })
		if at < 0 {
			t.Inconclusive("other lines came in place of a ping")
		}
		t.Check(lines[at].Text == ":ping", ":ping", lines[at].Text)
		t.Check(len(lines) > at+1 && lines[at+1].Text == "", "a blank line after it", fmt.Sprint(lines))
	})
	s.It("STR-LIV-06", "has no id and no retry lines", func(t *suite.T) {
		for _, line := range quiet.wait(t) {
			t.Check(!strings.HasPrefix(line.Text, "id") && !strings.HasPrefix(line.Text, "retry"),
				"neither id nor retry", line.Text)
		}
		t.Check(len(quiet.lines) > 0, "some line", "silence")
	})
	s.It("STR-LIV-07", "asks for no authentication", func(t *suite.T) { openEvents(t).Close() })
	s.It("STR-LIV-08", "sends its head at once", func(t *suite.T) {
		stream := openEvents(t)
		defer stream.Close()
		t.Check(stream.OpenedAfter < 2*time.Second, "the head of the answer within two seconds", stream.OpenedAfter)
	})
	s.It("STR-LIV-12", "is not packed unasked", func(t *suite.T) {
		stream := openEvents(t)
		defer stream.Close()
		t.Check(stream.Header.Get("Content-Encoding") == "", "no Content-Encoding", stream.Header.Get("Content-Encoding"))
	})
	s.It("STR-LIV-13", "lets other origins read", func(t *suite.T) {
		stream := open(t)
		defer stream.Close()
		t.Check(stream.Header.Get("Access-Control-Allow-Origin") != "", "Access-Control-Allow-Origin", stream.Header)
	})
	s.It("STR-LIV-14", "keeps caches away", func(t *suite.T) {
		stream := open(t)
		defer stream.Close()
		control := stream.Header.Get("Cache-Control")
		t.Check(strings.Contains(control, "no-cache") || strings.Contains(control, "no-store"),
			"Cache-Control: no-cache", control)
	})
	s.It("STR-LIV-15", "answers 503 when it is full", func(t *suite.T) {
		room := *t.Target.Limits.Stream
		if room.Listeners > mostListeners {
			t.Inconclusive("there is room for %d listeners, and the suite opens at most %d", room.Listeners, mostListeners)
		}
		for range room.Listeners {
			stream, err := t.Quiet(room.URL).Open(t, "/", acceptEvents)
			t.Check(err == nil, "an answer", err)
			defer stream.Close()
		}
		late, err := t.Client(room.URL).Open(t, "/", acceptEvents)
		t.Check(err == nil, "an answer", err)
		defer late.Close()
		t.Check(late.Status == http.StatusServiceUnavailable, fmt.Sprintf("status 503 to listener %d", room.Listeners+1),
			late.Status)
	})
	s.It("STR-LIV-04", "sends an event as one line of data", func(t *suite.T) {
		stream := listening(t)
		defer stream.Close()
		order := rpc.Share(t, []string{"hash"}, rpc.NewWallet(t).Transfer(1))
		_, found := waitForEvent(t, stream, order)
		t.Check(found, "an event", "none")
		for i, line := range stream.Lines() {
			if strings.Contains(line.Text, hashTwice(order)) {
				t.Check(strings.HasPrefix(line.Text, "data: {"), "data: and one object", line.Text)
				t.Check(i == 0 || !strings.HasPrefix(stream.Lines()[i-1].Text, "data:"), "one line of data",
					stream.Lines()[max(i-1, 0)].Text)
			}
		}
	})
	s.It("STR-LIV-05", "names no events", func(t *suite.T) {
		stream := listening(t)
		defer stream.Close()
		_, found := waitForEvent(t, stream, rpc.Share(t, []string{"hash"}, rpc.NewWallet(t).Transfer(1)))
		t.Check(found, "an event", "none")
		for _, line := range stream.Lines() {
			named := strings.HasPrefix(line.Text, "event:") &&
				strings.TrimSpace(strings.TrimPrefix(line.Text, "event:")) != "message"
			t.Check(!named, "no event line", line.Text)
		}
	})
	s.It("STR-LIV-09", "tells all listeners the same", func(t *suite.T) {
		one, other := listening(t), listening(t)
		defer one.Close()
		defer other.Close()
		for range 5 {
			order := rpc.Share(t, []string{"hash"}, rpc.NewWallet(t).Transfer(1))
			for _, stream := range []*probe.Stream{one, other} {
				_, found := waitForEvent(t, stream, order)
				t.Check(found, "an event at both listeners", "none at one")
			}
		}
		a, b := one.Events(), other.Events()
		n := min(len(a), len(b))
		// The stream that was opened later may lack events before that.
		t.Check(slices.Equal(a[len(a)-n:], b[len(b)-n:]), "the same events in the same order", fmt.Sprint(a, b))
	})
	s.It("STR-LIV-10", "is not held up by one who does not read", func(t *suite.T) {
		stream := listening(t)
		defer stream.Close()
		for range 8 {
			deaf, err := probe.Deaf(t, t.Target.Stream.URL)
			t.Ready(err, "open a stream and not read it")
			defer deaf.Close() //nolint:errcheck // nothing was read, so an error does not matter
		}
		// The events must fill the buffers of the sockets between the target and those who do not read.
		for range deafEvents {
			_, found := waitForEvent(t, stream, rpc.Share(t, []string{"calldata"}, rpc.NewWallet(t).Large(deafEventBytes)))
			t.Check(found, "an event in time", "none")
		}
	})
	s.It("STR-LIV-11", "tells nothing from before", func(t *suite.T) {
		first := listening(t)
		defer first.Close()
		order := rpc.Share(t, []string{"hash"}, rpc.NewWallet(t).Transfer(1))
		if _, found := waitForEvent(t, first, order); !found {
			t.Inconclusive("the event did not come")
		}
		later := listening(t)
		defer later.Close()
		_, found := waitForEvent(t, later, rpc.Share(t, []string{"hash"}, rpc.NewWallet(t).Transfer(1)))
		t.Check(found, "the event of a later order", "none")
		for _, text := range later.Events() {
			t.Check(!strings.Contains(text, hashTwice(order)), "no event from before", text)
		}
	})
}
