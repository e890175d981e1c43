package stream

import (
	"fmt"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/suite/rpc"
	"github.com/gavel-relay/gavel/internal/clock"
)

// exact: rules of hints and of the history that hold for each of several, and to the second.
func exact(s *suite.Set) {
	s.It("STR-HNT-06", "shares each log of a transaction", func(t *suite.T) {
		code := emits(swapV2, topicA, topicB)
		twice := strings.TrimSuffix(code, "00") + "60205fa0" + "00" // the second log has no topic
		list := shared(t, told(t, []string{"logs"}, rpc.Money(t).Create(twice)))
		t.Check(len(list) == 2, "two logs", fmt.Sprint(list))
	})
	s.It("STR-EVT-16", "does not tell of simulated bundles", func(t *suite.T) {
		stream := listening(t)
		defer stream.Close()
		tx := rpc.Money(t).Transfer(1)
		rpc.SimulateShared(t, tx)
		untold(t, stream, tx.Hash())
	})
	s.It("STR-INF-05", "has the first record's time", func(t *suite.T) {
		_, mine := past(t, 1)
		t.Until(time.Unix(int64(*mine.Timestamp)+1, 0)) // so that not all events are of one second
		past(t, 1)
		first, earliest := page(t, "limit=1"), number(t, "minTimestamp")
		t.Check(len(first) == 1 && *first[0].Timestamp == earliest, fmt.Sprintf("a first record of %d", earliest),
			fmt.Sprint(first))
	})
	s.It("STR-HIS-11", "bounds by a single block", func(t *suite.T) {
		_, mine := past(t, 1)
		got := page(t, "blockStart=%d&blockEnd=%d", *mine.Block, *mine.Block)
		t.Check(len(got) > 0, fmt.Sprintf("a record of block %d", *mine.Block), "none")
	})
	s.It("STR-HIS-13", "bounds by a single second", func(t *suite.T) {
		_, mine := past(t, 1)
		got := page(t, "timestampStart=%d&timestampEnd=%d", *mine.Timestamp, *mine.Timestamp)
		t.Check(len(got) > 0, fmt.Sprintf("a record of second %d", *mine.Timestamp), "none")
	})
	s.It("STR-HIS-08", "does not shift pages when an event comes", func(t *suite.T) {
		past(t, 2)
		first := page(t, "limit=1")
		past(t, 1)
		second := page(t, "limit=1&offset=1")
		both := page(t, "limit=2")
		t.Check(len(first) == 1 && len(both) == 2 && len(second) == 1, "pages of one, two and one", fmt.Sprint(len(second)))
		t.Check(string(both[0].Hint) == string(first[0].Hint), "the same first record", string(both[0].Hint))
		t.Check(string(second[0].Hint) == string(both[1].Hint), "the second record on the second page",
			string(second[0].Hint))
	})
	s.It("STR-HIS-02", "says the block that was the newest when the event came", func(t *suite.T) {
		for range 3 { // the chain may go on in between
			before := rpc.Head(t)
			_, mine := past(t, 1)
			if after := rpc.Head(t); after <= before+1 {
				t.Check(*mine.Block <= after, fmt.Sprintf("a block up to %d", after), *mine.Block)
			}
			if *mine.Block <= before {
				return
			}
		}
		t.Check(false, "the block before the event, at times", "always a later one")
	})
	s.It("STR-HIS-03", "says the time of each of two events", func(t *suite.T) {
		_, older := past(t, 1)
		t.Until(t.Now().Add(2 * time.Second))
		before := uint64(t.Now().Unix())
		_, newer := past(t, 1)
		t.Check(*newer.Timestamp+1 >= before, fmt.Sprintf("a time from %d on", before-1), *newer.Timestamp)
		t.Check(*newer.Timestamp > *older.Timestamp, fmt.Sprintf("a time after %d", *older.Timestamp), *newer.Timestamp)
	})
	s.It("STR-LIV-02", "is not silent for longer after an event", func(t *suite.T) {
		if t.World == nil || t.Target.RPC == nil {
			t.NotRun("nobody sends an order: needs a world (chain.worldUrl) and the bundle RPC (rpc.url)")
		}
		stream := openWith(t, client(t).By(clock.Real{}))
		defer stream.Close()
		_, found := heard(t, stream, rpc.Share(t, some, rpc.Money(t).Transfer(1)))
		t.Check(found, "an event", "none")
		_ = (clock.Real{}).Until(t, time.Now().Add(pingWithin)) // the spec may be over
		lines := stream.Lines()
		for i := 1; i < len(lines); i++ {
			gap := lines[i].At.Sub(lines[i-1].At)
			t.Check(gap <= pingWithin, "lines at most "+pingWithin.String()+" apart", gap)
		}
		t.Check(time.Since(lines[len(lines)-1].At) <= pingWithin, "a line within "+pingWithin.String(), "silence")
	})
}
