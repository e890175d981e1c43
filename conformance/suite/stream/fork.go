package stream

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/suite/rpc"
)

// crossing is a listener's way over the fork of the world. The specs about it share one, because
// there is one fork in a run.
//
//	share 2 ─ events ─ second listener goes ─ share for later ──fork── its event ─ share 2 ─ second listener resumes
type crossing struct {
	mu sync.Mutex // guards what follows
	// begun and ready say how far it came. What ended in between cannot be made again: the fork is
	// over then.
	begun, ready bool

	events        []string // what the first listener heard, in order
	before, after []common.Hash
	outdated      common.Hash // the bundle for blocks before the fork that fails by their rules
	later         event       // the event of the bundle that only the new fork executes
	told          bool        // it came
	infoBefore    facts
	infoAfter     facts
	older         []record // the records of before, read before the fork
	all           []record // all records since the first one of before
	// lastID is the id of the last event before the fork; empty if the stream has no ids. resumed is
	// what the second listener heard when it came back with it.
	lastID  string
	resumed []string
}

// eachSide is how many events are caused on each side.
const eachSide = 2

// make goes over the fork once. Specs that want no events but their own must not run while events
// are caused here, so it holds the floor then.
func (c *crossing) make(t *suite.T, floor *sync.Mutex) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.ready:
		return
	case c.begun:
		t.Inconclusive("the way over the fork ended early: see the other clauses about it")
	}
	rpc.WaitBeforeFork(t, 6)
	c.begun = true
	listener := listening(t)
	defer listener.Close()
	numbered := openNumbered(t, "")
	defer numbered.Close()
	c.before = shareOnSide(t, floor, listener)
	c.readBefore(t, numbered)

	c.outdated = rpc.ShareFor(t, some, rpc.Head(t)+1, rpc.Head(t)+2, rpc.NewWallet(t).OfNextFork())
	rpc.WaitNearFork(t)
	first := rpc.FirstBlockOfFork(t)
	later := rpc.ShareFor(t, []string{"logs"}, first, first+10, rpc.NewWallet(t).OfNextFork())
	func() { // its event may come from the block before on
		floor.Lock()
		defer floor.Unlock()
		rpc.WaitOverFork(t)
		c.later, c.told = waitForEvent(t, listener, later)
	}()
	c.after = shareOnSide(t, floor, listener)
	c.events = listener.Events()
	c.readAfter(t)
	c.ready = true
}

// shareOnSide causes the events of one side, and waits for each.
func shareOnSide(t *suite.T, floor *sync.Mutex, listener *probe.Stream) (orders []common.Hash) {
	floor.Lock()
	defer floor.Unlock()
	for range eachSide {
		order := rpc.Share(t, some, rpc.NewWallet(t).Transfer(1))
		_, _ = waitForEvent(t, listener, order) // whether it came is judged at the end
		orders = append(orders, order)
	}
	return orders
}

// readBefore reads what there is before the fork, and closes the second listener.
func (c *crossing) readBefore(t *suite.T, numbered *probe.Stream) {
	last := c.before[eachSide-1]
	if _, found := waitForEvent(t, numbered, last); found {
		c.lastID = idOf(numbered, last)
	}
	numbered.Close()
	t.Ready(t.Eventually(t.Target.Budgets.Settle(), func() error {
		if c.older = findRecords(t, c.before...); len(c.older) < eachSide {
			return errNotThere
		}
		return nil
	}), "wait for the records of before the fork")
	c.infoBefore = readFacts(t)
}

// readAfter reads what there is after the fork, and has the second listener come back.
func (c *crossing) readAfter(t *suite.T) {
	_ = t.Eventually(t.Target.Budgets.Settle(), func() error {
		if len(findRecords(t, c.after...)) < eachSide {
			return errNotThere
		}
		return nil
	})
	c.all = pages(t, "blockStart=%d", *c.older[0].Block)
	c.infoAfter = readFacts(t)
	if c.lastID == "" {
		return
	}
	back := openNumbered(t, c.lastID)
	defer back.Close()
	_, _ = waitForEvent(t, back, c.after[eachSide-1])
	c.resumed = back.Events()
}

// openNumbered opens the stream with ids of events, and resumes after one of them if it is not
// empty. The status may be a refusal: ids are nothing that a stream must have.
func openNumbered(t *suite.T, last string) *probe.Stream {
	header := map[string]string{"Accept": "text/event-stream", "Last-Event-ID": last}
	s, err := client(t).Open(t, "/?ids=1", header)
	t.Ready(err, "open the stream with ids")
	return s
}

// idOf returns the id of an order's event on a stream with ids; empty if it has none.
func idOf(s *probe.Stream, order common.Hash) (id string) {
	for _, line := range s.Lines() {
		if text, is := strings.CutPrefix(line.Text, "id:"); is {
			id = strings.TrimSpace(text)
		}
		if strings.Contains(strings.ToLower(line.Text), hashTwice(order)) {
			return id
		}
	}
	return ""
}

// findRecords returns the records of orders, in the order of the history. It reads its last pages
// only.
func findRecords(t *suite.T, orders ...common.Hash) (found []record) {
	const last = 60
	from := max(number(t, "count"), last) - last
	for list := page(t, "offset=%d", from); len(list) > 0; list = page(t, "offset=%d", from) {
		for _, r := range list {
			if slices.ContainsFunc(orders, r.isOf) {
				found = append(found, r)
			}
		}
		from += uint64(len(list))
	}
	return found
}

func (r record) isOf(order common.Hash) bool {
	return strings.Contains(strings.ToLower(string(r.Hint)), hashTwice(order))
}

const errNotThere = plainError("the records are not there")

// findPlaces returns where the events of orders are in a list; -1 for one that is missing. It fails
// the spec if one is there twice.
func findPlaces(t *suite.T, list []string, orders ...common.Hash) (places []int) {
	for _, order := range orders {
		place := -1
		for i, text := range list {
			if strings.Contains(strings.ToLower(text), hashTwice(order)) {
				t.Check(place < 0, "the event of "+order.Hex()+" once", "twice")
				place = i
			}
		}
		places = append(places, place)
	}
	return places
}

// forks: what goes on over a fork. While floor is held, nobody else causes events.
func forks(floor *sync.Mutex) func(s *suite.Set) {
	c := new(crossing)
	return func(s *suite.Set) {
		s.Slow("STR-FRK-01", "tells one listener of both sides, each once and in order", func(t *suite.T) {
			c.make(t, floor)
			places := findPlaces(t, c.events, append(slices.Clone(c.before), c.after...)...)
			t.Check(!slices.Contains(places, -1) && slices.IsSorted(places), "the events of both sides in their order",
				fmt.Sprintf("at places %v of %d", places, len(c.events)))
		})
		s.Slow("STR-FRK-02", "has the records of both sides", func(t *suite.T) {
			c.make(t, floor)
			var hints []string
			for _, r := range c.all {
				hints = append(hints, string(r.Hint))
			}
			places := findPlaces(t, hints, append(slices.Clone(c.before), c.after...)...)
			t.Check(!slices.Contains(places, -1), "the records of both sides", fmt.Sprintf("at places %v", places))
			for i, r := range c.older {
				now := c.all[places[i]]
				t.Check(*now.Block == *r.Block && *now.Timestamp == *r.Timestamp && string(now.Hint) == string(r.Hint),
					fmt.Sprintf("the record as it was, of block %d and %d", *r.Block, *r.Timestamp), fmt.Sprintf("%+v", now))
			}
			newer, older := c.all[places[eachSide]], c.older[eachSide-1]
			t.Check(*newer.Block > *older.Block && *newer.Timestamp > *older.Timestamp, "a later block and time after the fork",
				fmt.Sprintf("block %d, %d", *newer.Block, *newer.Timestamp))
		})
		s.Slow("STR-FRK-03", "has numbers that go on", func(t *suite.T) {
			c.make(t, floor)
			a, b := c.infoBefore, c.infoAfter
			whole := func(f facts) bool {
				return f.Count != nil && f.MinBlock != nil && f.MaxBlock != nil && f.MinTimestamp != nil && f.MaxTimestamp != nil
			}
			t.Check(whole(a) && whole(b), "all numbers before and after", fmt.Sprintf("%+v, %+v", a, b))
			t.Check(*b.Count >= *a.Count+eachSide, fmt.Sprintf("a count of %d at least", *a.Count+eachSide), *b.Count)
			t.Check(*b.MinBlock == *a.MinBlock && *b.MinTimestamp == *a.MinTimestamp,
				fmt.Sprintf("the earliest block %d and time %d", *a.MinBlock, *a.MinTimestamp),
				fmt.Sprintf("%d and %d", *b.MinBlock, *b.MinTimestamp))
			t.Check(*b.MaxBlock > *a.MaxBlock && *b.MaxTimestamp > *a.MaxTimestamp, "a later block and time",
				fmt.Sprintf("%d and %d", *b.MaxBlock, *b.MaxTimestamp))
		})
		s.Slow("STR-FRK-04", "tells of what only the new fork executes, with its logs", func(t *suite.T) {
			c.make(t, floor)
			t.Check(c.told, "an event of the bundle", "none")
			t.Check(len(c.later.logs(t)) > 0, "its logs", c.later.raw)
		})
		s.Slow("STR-FRK-05", "does not tell of what fails by the rules before the fork", func(t *suite.T) {
			c.make(t, floor)
			t.Check(findPlaces(t, c.events, c.outdated)[0] < 0, "no event of a bundle that fails in its blocks", "an event")
		})
		s.Slow("STR-FRK-06", "resumes after an event from before the fork", func(t *suite.T) {
			c.make(t, floor)
			if c.lastID == "" {
				t.Unsupported("events have no ids with ?ids=1")
			}
			places := findPlaces(t, c.resumed, append(slices.Clone(c.before), c.after...)...)
			t.Check(places[0] < 0 && places[1] < 0, "no event from before", fmt.Sprintf("places %v", places))
			t.Check(places[2] >= 0 && places[2] < places[3], "the events of after in their order",
				fmt.Sprintf("places %v", places))
		})
	}
}
