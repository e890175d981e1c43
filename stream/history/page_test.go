package history

import (
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
	"github.com/gavel-relay/gavel/stream"
)

// Whatever comes in whatever order, and whatever is deleted: a page is what one gets by looking at
// every event.
func TestAnyPage(t *testing.T) {
	server := projectiontest.StartPostgres(t)
	files := 0
	rapid.Check(t, func(rt *rapid.T) {
		address := "sqlite::memory:"
		if files++; files%20 == 0 {
			address = server.Database(t)
		}
		h := openAt(t, address)
		defer h.Close() // the test's end closes it again
		facts := drawFacts(rt)
		record(t, h, facts...)
		keep := Retention{Blocks: rapid.Int64Range(0, 2000).Draw(rt, "blocks kept")}
		if rapid.Bool().Draw(rt, "prune") {
			if _, err := h.Prune(t.Context(), noon, keep); err != nil {
				rt.Fatal(err)
			}
		} else {
			keep = Retention{}
		}
		kept := model(facts, keep)
		checkInfo(rt, h, kept)
		for range 10 {
			q := drawQuery(rt)
			if got, want := page(t, h, q), shown(pageOf(kept, q)); got != want {
				rt.Fatalf("%+v of %d events: %s\nwant %s", q, len(kept), got, want)
			}
		}
	})
}

// drawFacts are orders in blocks and seconds that grow, except that some come late, or in no order
// at all.
func drawFacts(t *rapid.T) (facts []came) {
	late := rapid.SampledFrom([]int{0, 3, 4000}).Draw(t, "late")
	n := rapid.IntRange(0, 2*chunkIDs+200).Draw(t, "facts")
	seed := rapid.Uint64().Draw(t, "seed")
	for i := range n {
		seed = seed*6364136223846793005 + 1442695040888963407
		by := int(seed>>33) % (late + 1)
		facts = append(facts, came{uint64(i), int64(4000 + i - by), int64(50_000 + 12*(i-by))})
	}
	return facts
}

func drawQuery(t *rapid.T) stream.Query {
	span := func(label string, from, to int64) stream.Range {
		if rapid.Bool().Draw(t, label+" unbounded") {
			return stream.Always
		}
		start := rapid.Int64Range(from, to).Draw(t, label)
		return stream.Range{From: start, To: start + rapid.Int64Range(0, to-from).Draw(t, label+" more")}
	}
	return stream.Query{
		Blocks: span("blocks", 0, 8000), Times: span("times", 0, 90_000), Limit: rapid.IntRange(1, 500).Draw(t, "limit"),
		Offset: rapid.Int64Range(0, 3000).Draw(t, "offset"),
	}
}

// model is what is kept of facts.
func model(facts []came, keep Retention) (kept []stream.Event) {
	for i, fact := range facts {
		if keep.Blocks > 0 && fact.block <= facts[len(facts)-1].block-keep.Blocks {
			continue
		}
		kept = append(kept, fact.event(uint64(i)+1))
	}
	return kept
}

// pageOf looks at every event.
func pageOf(events []stream.Event, q stream.Query) []stream.Event {
	in := func(r stream.Range, n int64) bool { return r.From <= n && n <= r.To }
	var found []stream.Event
	for _, event := range events {
		if in(q.Blocks, int64(event.Block)) && in(q.Times, event.At.Unix()) {
			found = append(found, event)
		}
	}
	found = found[min(len(found), int(q.Offset)):]
	return found[:min(len(found), q.Limit)]
}

func checkInfo(t *rapid.T, h *openedHistory, kept []stream.Event) {
	want := stream.Info{}
	for i, event := range kept {
		block, sec := int64(event.Block), event.At.Unix()
		if i == 0 {
			want = stream.Info{MinBlock: block, MaxBlock: block, MinSec: sec, MaxSec: sec}
		}
		want = stream.Info{
			Count: want.Count + 1, MinBlock: min(want.MinBlock, block), MaxBlock: max(want.MaxBlock, block),
			MinSec: min(want.MinSec, sec), MaxSec: max(want.MaxSec, sec),
		}
	}
	if got, err := h.Info(); err != nil || got != want {
		t.Fatalf("%+v, %v, want %+v", got, err, want)
	}
}

// Pages that are read while events are appended have each event once, with any bounds.
func TestPagingWhileEventsCome(t *testing.T) {
	const before, meanwhile, limit = 1500, 3000, 100
	h := openAt(t, "sqlite:"+filepath.Join(t.TempDir(), "history.db"))
	at := func(n int) came { return came{uint64(n), int64(n / 10), int64(n / 2)} }
	var facts []came
	for n := range before + meanwhile {
		facts = append(facts, at(n))
	}
	record(t, h, facts[:before]...)
	written := make(chan struct{})
	go func() {
		defer close(written)
		for some := range slices.Chunk(facts[before:], 20) {
			record(t, h, some...)
		}
	}()
	var reading sync.WaitGroup
	for _, reader := range []struct {
		query       stream.Query
		first, last uint64
	}{
		{everything(limit), 1, before + meanwhile},
		{stream.Query{Blocks: stream.Range{From: 20, To: 400}, Times: stream.Range{From: 150, To: 1900}, Limit: limit}, 301,
			3802},
	} {
		reading.Go(func() {
			next, q := reader.first, reader.query
			for over := false; !over; {
				select {
				case <-written:
					over = true // what is found from now on is all there is
				default:
				}
				events, err := h.Page(t.Context(), q)
				for _, event := range events {
					if event.ID != next {
						t.Errorf("event %d, want %d", event.ID, next)
						return
					}
					next++
				}
				if q.Offset += int64(len(events)); err != nil {
					t.Error(err)
					return
				}
				over = over && len(events) == 0
			}
			if next != reader.last+1 {
				t.Errorf("the last event is %d, want %d", next-1, reader.last)
			}
		})
	}
	reading.Wait()
	if got := fmt.Sprint(info(t, h)); got != fmt.Sprint(stream.Info{Count: before + meanwhile, MaxBlock: 449,
		MaxSec: 2249}) {
		t.Error(got)
	}
}
