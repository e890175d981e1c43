package stream

import (
	"fmt"
	"time"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/suite/rpc"
)

// fewEvents is how many events the suite makes at most to fill a page of the history.
const fewEvents = 64

// describeHistoryInfo adds specs about GET /api/v1/history/info.
func describeHistoryInfo(s *suite.Set) {
	s.It("STR-INF-01", "answers one object", func(t *suite.T) { readFacts(t) })
	s.It("STR-INF-02", "counts hints", func(t *suite.T) {
		t.Check(readFacts(t).Count != nil, "count as a number",
			"none")
	})
	s.It("STR-INF-02", "counts all hints, also those that one page does not have", func(t *suite.T) {
		if t.World == nil || t.Target.RPC == nil {
			t.NotRun("nobody sends an order: needs a world (chain.worldUrl) and the bundle RPC (rpc.url)")
		}
		most := number(t, "maxLimit")
		if most > fewEvents {
			t.NotRun("a page has up to %d hints, and the suite makes no more than %d to fill one", most, fewEvents)
		}
		count, wallets := number(t, "count"), rpc.NewWallet(t)
		for made := count; made <= most; made++ {
			rpc.Share(t, some, wallets.Again(int64(made)+1))
		}
		if count <= most {
			causeEvents(t, 1) // the others have come by then
		}
		counted := number(t, "count")
		seen := uint64(len(pages(t, "limit=%d", most)))
		t.Check(counted <= seen && counted > most, fmt.Sprintf("a count of the %d hints that the pages have", seen), counted)
		t.Check(number(t, "count") >= seen, fmt.Sprintf("a count of %d hints at least", seen), number(t, "count"))
	})
	s.It("STR-INF-07", "has a limit above 0", func(t *suite.T) {
		f := readFacts(t)
		t.Check(f.MaxLimit != nil && *f.MaxLimit > 0, "maxLimit above 0", fmt.Sprint(f.MaxLimit))
	})
	s.It("STR-INF-07", "has a limit that pages take", func(t *suite.T) { page(t, "limit=%d", number(t, "maxLimit")) })
	s.It("STR-INF-08", "has all six numbers", func(t *suite.T) {
		f := readFacts(t)
		all := f.Count != nil && f.MinBlock != nil && f.MaxBlock != nil && f.MinTimestamp != nil && f.MaxTimestamp != nil &&
			f.MaxLimit != nil
		t.Check(all, "six numbers", fmt.Sprintf("%+v", f))
	})
	s.It("STR-INF-03", "has the lowest block", func(t *suite.T) {
		causeEvents(t, 1)
		first, lowest := page(t, "limit=1"), number(t, "minBlock")
		t.Check(len(first) == 1 && *first[0].Block >= lowest, fmt.Sprintf("a first record at block %d or later", lowest),
			fmt.Sprint(first))
		t.Check(len(page(t, "blockEnd=%d", lowest)) > 0, "a record at minBlock", "none")
		if lowest > 0 {
			before := page(t, "blockEnd=%d", lowest-1)
			t.Check(len(before) == 0, "no record below minBlock", before)
		}
	})
	s.It("STR-INF-04", "has the highest block", func(t *suite.T) {
		_, mine := causeEvents(t, 1)
		highest := number(t, "maxBlock")
		t.Check(highest >= *mine.Block, fmt.Sprintf("maxBlock of at least %d", *mine.Block), highest)
		t.Check(len(page(t, "blockStart=%d", highest)) > 0, "a record at maxBlock", "none")
		beyond := page(t, "blockStart=%d", highest+1)
		t.Check(len(beyond) == 0 || number(t, "maxBlock") > highest, "no record above maxBlock", beyond)
	})
	s.It("STR-INF-05", "has the earliest time", func(t *suite.T) {
		causeEvents(t, 1)
		earliest := number(t, "minTimestamp")
		t.Check(len(page(t, "timestampEnd=%d", earliest)) > 0, "a record at minTimestamp", "none")
		before := page(t, "timestampEnd=%d", max(earliest, 1)-1)
		t.Check(len(before) == 0, "no record before minTimestamp", before)
	})
	s.It("STR-INF-05", "has the first record's time", func(t *suite.T) {
		_, mine := causeEvents(t, 1)
		t.Until(time.Unix(int64(*mine.Timestamp)+1, 0)) // so that not all events are of one second
		causeEvents(t, 1)
		first, earliest := page(t, "limit=1"), number(t, "minTimestamp")
		t.Check(len(first) == 1 && *first[0].Timestamp == earliest, fmt.Sprintf("a first record of %d", earliest),
			fmt.Sprint(first))
	})
	s.It("STR-INF-06", "has the latest time", func(t *suite.T) {
		_, mine := causeEvents(t, 1)
		latest := number(t, "maxTimestamp")
		t.Check(latest >= *mine.Timestamp, fmt.Sprintf("maxTimestamp of at least %d", *mine.Timestamp), latest)
		t.Check(len(page(t, "timestampStart=%d", latest)) > 0, "a record at maxTimestamp", "none")
		beyond := page(t, "timestampStart=%d", latest+1)
		t.Check(len(beyond) == 0 || number(t, "maxTimestamp") > latest, "no record after maxTimestamp", beyond)
	})
	s.It("STR-INF-09", "counts each event", func(t *suite.T) {
		before := number(t, "count")
		causeEvents(t, 2)
		err := t.Eventually(t.Target.Budgets.Settle(), func() error {
			if after := number(t, "count"); after < before+2 {
				return fmt.Errorf("count went from %d to %d", before, after)
			}
			return nil
		})
		t.Check(err == nil, "a count that is higher by two", err)
		count := number(t, "count")
		t.Check(len(page(t, "offset=%d", count-1)) > 0, fmt.Sprintf("%d records", count), "fewer")
		beyond := len(page(t, "offset=%d", count))
		t.Check(uint64(beyond) <= number(t, "count")-count, fmt.Sprintf("%d records", count), fmt.Sprintf("%d more", beyond))
	})
}
