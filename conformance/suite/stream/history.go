package stream

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/suite/rpc"
)

const (
	infoPath    = "/api/v1/history/info"
	historyPath = "/api/v1/history"
)

// facts are the members of GET /api/v1/history/info, which are all numbers.
type facts struct {
	Count        *uint64 `json:"count"`
	MinBlock     *uint64 `json:"minBlock"`
	MaxBlock     *uint64 `json:"maxBlock"`
	MinTimestamp *uint64 `json:"minTimestamp"`
	MaxTimestamp *uint64 `json:"maxTimestamp"`
	MaxLimit     *uint64 `json:"maxLimit"`
}

func readFacts(t *suite.T) facts {
	answer := t.Get(client(t), infoPath)
	t.Status(answer, http.StatusOK)
	var f facts
	err := answer.JSON(&f)
	t.Check(err == nil, "an object of numbers", answer)
	return f
}

// number returns a member of info. It fails the spec if it is missing.
func number(t *suite.T, name string) uint64 {
	f := readFacts(t)
	value := map[string]*uint64{
		"count": f.Count, "minBlock": f.MinBlock, "maxBlock": f.MaxBlock, "minTimestamp": f.MinTimestamp,
		"maxTimestamp": f.MaxTimestamp,
		"maxLimit":     f.MaxLimit,
	}[name]
	t.Check(value != nil, name+" in "+infoPath, "none")
	return *value
}

// record is an entry of the history.
type record struct {
	Block     *uint64         `json:"block"`
	Timestamp *uint64         `json:"timestamp"`
	Hint      json.RawMessage `json:"hint"`
}

// page returns a page of the history. It fails the spec unless its records are complete.
func page(t *suite.T, query string, args ...any) []record {
	answer := t.Get(client(t), historyPath+"?"+fmt.Sprintf(query, args...))
	t.Status(answer, http.StatusOK)
	var list []record
	err := answer.JSON(&list)
	t.Check(err == nil && list != nil, "an array of records", answer)
	for _, r := range list {
		t.Check(r.Block != nil && r.Timestamp != nil && r.Hint != nil, "records with block, timestamp and hint", answer)
	}
	return list
}

// mostPages is how many pages of one query the suite reads at most.
const mostPages = 50

// pages returns all records of a query. The spec is inconclusive if they fill too many pages.
func pages(t *suite.T, query string, args ...any) (all []record) {
	for range mostPages {
		next := page(t, query+fmt.Sprintf("&offset=%d", len(all)), args...)
		if all = append(all, next...); len(next) == 0 {
			return all
		}
	}
	t.Inconclusive("the history has more than %d pages", mostPages)
	return nil
}

// causeEvents causes n events, and returns the last one and its record in the history.
func causeEvents(t *suite.T, n int) (event, record) {
	s := listening(t)
	defer s.Close()
	var last event
	var order common.Hash
	for range n {
		order = rpc.Share(t, []string{"contract_address"}, rpc.NewWallet(t).Transfer(1))
		e, found := waitForEvent(t, s, order)
		if !found {
			t.Inconclusive("the event did not come")
		}
		last = e
	}
	return last, recordOf(t, order)
}

// recordOf waits for the record of an order's event in the history.
func recordOf(t *suite.T, order common.Hash) record {
	var mine record
	err := t.Eventually(t.Target.Budgets.Settle(), func() error {
		count := number(t, "count")
		for _, r := range page(t, "offset=%d", max(count, 20)-20) {
			if strings.Contains(string(r.Hint), hashTwice(order)) {
				mine = r
				return nil
			}
		}
		return fmt.Errorf("the event is not in the history")
	})
	t.Check(err == nil, "the event in the history", err)
	return mine
}

// describeHistory adds specs about GET /api/v1/history.
func describeHistory(s *suite.Set) {
	s.It("STR-HIS-01", "answers an array", func(t *suite.T) { page(t, "limit=1") })
	s.It("STR-HIS-02", "says the block", func(t *suite.T) {
		before := rpc.Head(t)
		_, mine := causeEvents(t, 1)
		after := rpc.Head(t)
		t.Check(*mine.Block+1 >= before && *mine.Block <= after, fmt.Sprintf("a block from %d to %d", before, after),
			*mine.Block)
	})
	s.It("STR-HIS-02", "says the block that was the newest when the event came", func(t *suite.T) {
		for range 3 { // the chain may go on in between
			before := rpc.Head(t)
			_, mine := causeEvents(t, 1)
			if after := rpc.Head(t); after <= before+1 {
				t.Check(*mine.Block <= after, fmt.Sprintf("a block up to %d", after), *mine.Block)
			}
			if *mine.Block <= before {
				return
			}
		}
		t.Check(false, "the block before the event, at times", "always a later one")
	})
	s.It("STR-HIS-03", "says the time", func(t *suite.T) {
		before := t.Now().Unix()
		_, mine := causeEvents(t, 1)
		at := int64(*mine.Timestamp)
		t.Check(at >= before-1 && at <= t.Now().Unix()+1, "the time of the event in seconds", at)
	})
	s.It("STR-HIS-03", "says the time of each of two events", func(t *suite.T) {
		_, older := causeEvents(t, 1)
		t.Until(t.Now().Add(2 * time.Second))
		before := uint64(t.Now().Unix())
		_, newer := causeEvents(t, 1)
		t.Check(*newer.Timestamp+1 >= before, fmt.Sprintf("a time from %d on", before-1), *newer.Timestamp)
		t.Check(*newer.Timestamp > *older.Timestamp, fmt.Sprintf("a time after %d", *older.Timestamp), *newer.Timestamp)
	})
	s.It("STR-HIS-04", "holds the event as it was sent", func(t *suite.T) {
		s := listening(t)
		defer s.Close()
		tx := rpc.NewWallet(t).Transfer(1, bytes.Repeat([]byte{0xab, 0xcd}, 300)...)
		order := rpc.Share(t, []string{"calldata", "logs", "tx_hash"}, tx)
		e, found := waitForEvent(t, s, order)
		if !found {
			t.Inconclusive("the event did not come")
		}
		mine := recordOf(t, order)
		if string(mine.Hint) == strings.TrimSpace(e.raw) {
			return
		}
		var a, b any
		errA, errB := json.Unmarshal(mine.Hint, &a), json.Unmarshal([]byte(e.raw), &b)
		t.Check(errA == nil && errB == nil && fmt.Sprint(a) == fmt.Sprint(b), e.raw, string(mine.Hint))
		t.Lenient("the same members in another form")
	})
	s.It("STR-HIS-04", "holds each element of an event", func(t *suite.T) {
		s := listening(t)
		defer s.Close()
		w := rpc.NewWallet(t)
		order := rpc.Share(t, []string{"tx_hash"}, w.Transfer(1), w.Transfer(2), w.Transfer(3), w.Transfer(4))
		e, found := waitForEvent(t, s, order)
		if !found {
			t.Inconclusive("the event did not come")
		}
		held := read(t, string(recordOf(t, order).Hint))
		t.Check(len(held.txs) == len(e.txs), fmt.Sprintf("%d elements", len(e.txs)), string(held.all["txs"]))
	})
	s.It("STR-HIS-05", "has no more than limit", func(t *suite.T) {
		causeEvents(t, 3)
		got := len(page(t, "limit=2"))
		t.Check(got == 2, "two records", got)
	})
	s.It("STR-HIS-06", "has no more than maxLimit", func(t *suite.T) {
		if t.World != nil && t.Target.RPC != nil {
			causeEvents(t, 2)
		}
		got, most := len(page(t, "")), number(t, "maxLimit")
		t.Check(uint64(got) <= most, fmt.Sprintf("at most %d", most), got)
	})
	s.It("STR-HIS-07", "refuses or bounds a limit above maxLimit", func(t *suite.T) {
		most := number(t, "maxLimit")
		answer := t.Get(client(t), fmt.Sprintf("%s?limit=%d", historyPath, most+1))
		t.Status(answer, http.StatusOK, http.StatusBadRequest)
		if answer.Status == http.StatusOK {
			t.Check(uint64(len(page(t, "limit=%d", most+1))) <= most, fmt.Sprintf("at most %d", most), "more")
			t.Lenient("a longer page is cut in place of a refusal")
		}
	})
	s.It("STR-HIS-08", "shows each record once on its pages", func(t *suite.T) {
		causeEvents(t, 4)
		count := number(t, "count")
		seen := map[string]bool{}
		const step = 3
		from := max(count, 9) - 9
		for offset := from; offset < count; offset += step {
			for _, r := range page(t, "limit=%d&offset=%d", step, offset) {
				t.Check(!seen[string(r.Hint)], "each record once", string(r.Hint))
				seen[string(r.Hint)] = true
			}
		}
		t.Check(uint64(len(seen)) >= count-from, fmt.Sprintf("%d records", count-from), len(seen))
	})
	s.It("STR-HIS-08", "does not shift pages when an event comes", func(t *suite.T) {
		causeEvents(t, 2)
		first, before := page(t, "limit=1"), number(t, "count")
		rpc.Share(t, some, rpc.NewWallet(t).Transfer(1))
		t.Ready(t.Eventually(t.Target.Budgets.Hint(), func() error { // no page is read meanwhile
			if number(t, "count") == before {
				return errNoRecord
			}
			return nil
		}), "wait for the record of another event")
		second := page(t, "limit=1&offset=1")
		both := page(t, "limit=2")
		t.Check(len(first) == 1 && len(both) == 2 && len(second) == 1, "pages of one, two and one", fmt.Sprint(len(second)))
		t.Check(string(both[0].Hint) == string(first[0].Hint), "the same first record", string(both[0].Hint))
		t.Check(string(second[0].Hint) == string(both[1].Hint), "the second record on the second page",
			string(second[0].Hint))
	})
	s.It("STR-HIS-08", "counts the offset from the first record of the range", func(t *suite.T) {
		_, older := causeEvents(t, 2)
		t.Until(time.Unix(int64(*older.Timestamp)+1, 0))
		_, newer := causeEvents(t, 2)
		from := min(*newer.Timestamp, *older.Timestamp+1)
		all := page(t, "timestampStart=%d&limit=2", from)
		second := page(t, "timestampStart=%d&limit=1&offset=1", from)
		t.Check(len(all) == 2 && len(second) == 1, "two records, and the second alone", fmt.Sprint(len(all), len(second)))
		t.Check(string(second[0].Hint) == string(all[1].Hint), "the second record of the range", string(second[0].Hint))
	})
	s.It("STR-HIS-09", "puts the older of two events first", func(t *suite.T) {
		_, older := causeEvents(t, 1)
		t.Until(time.Unix(int64(*older.Timestamp)+1, 0)) // the order of events within one second is not defined
		_, newer := causeEvents(t, 1)
		list := page(t, "timestampStart=%d&timestampEnd=%d", *older.Timestamp, *newer.Timestamp)
		place := func(of record) int {
			return slices.IndexFunc(list, func(r record) bool { return bytes.Equal(r.Hint, of.Hint) })
		}
		t.Check(place(older) >= 0 && place(older) < place(newer), "the older event, and then the newer one",
			fmt.Sprintf("places %d and %d", place(older), place(newer)))
	})
	s.It("STR-HIS-09", "begins with the oldest", func(t *suite.T) {
		causeEvents(t, 2)
		list := page(t, "limit=%d", min(50, number(t, "maxLimit")))
		for i := 1; i < len(list); i++ {
			t.Check(*list[i].Timestamp >= *list[i-1].Timestamp, "times that rise", *list[i].Timestamp)
		}
		earliest := number(t, "minTimestamp")
		t.Check(len(list) > 0 && *list[0].Timestamp == earliest, fmt.Sprintf("a first record of %d", earliest),
			fmt.Sprint(list))
	})
	for _, row := range []struct {
		clause, parameter string
		of                func(r record) uint64
		start             bool
	}{
		{"STR-HIS-10", "blockStart", func(r record) uint64 { return *r.Block }, true},
		{"STR-HIS-11", "blockEnd", func(r record) uint64 { return *r.Block }, false},
		{"STR-HIS-12", "timestampStart", func(r record) uint64 { return *r.Timestamp }, true},
		{"STR-HIS-13", "timestampEnd", func(r record) uint64 { return *r.Timestamp }, false},
	} {
		s.It(row.clause, "bounds by "+row.parameter, func(t *suite.T) {
			_, mine := causeEvents(t, 2)
			bound := row.of(mine)
			at := 0
			for _, r := range pages(t, "%s=%d", row.parameter, bound) {
				value := row.of(r)
				t.Check(row.start && value >= bound || !row.start && value <= bound, fmt.Sprintf("values bounded by %d", bound),
					value)
				if value == bound {
					at++
				}
			}
			t.Check(at > 0, fmt.Sprintf("a record of %d itself", bound), "none")
			beyond := page(t, "%s=%d", row.parameter, bound+1)
			for _, r := range beyond {
				t.Check(!row.start || row.of(r) > bound, fmt.Sprintf("nothing of %d", bound), row.of(r))
			}
		})
	}
	s.It("STR-HIS-13", "bounds by a single second", func(t *suite.T) {
		_, mine := causeEvents(t, 1)
		got := page(t, "timestampStart=%d&timestampEnd=%d", *mine.Timestamp, *mine.Timestamp)
		t.Check(len(got) > 0, fmt.Sprintf("a record of second %d", *mine.Timestamp), "none")
	})
	s.It("STR-HIS-12", "keeps out earlier records also beside a block", func(t *suite.T) {
		_, mine := causeEvents(t, 1)
		got := page(t, "blockStart=1&timestampStart=%d", *mine.Timestamp+1_000_000)
		t.Check(len(got) == 0, "no record of a time to come", len(got))
	})
	s.It("STR-HIS-10", "has the block of its bound also beside an end", func(t *suite.T) {
		_, mine := causeEvents(t, 1)
		got := page(t, "blockStart=%d&blockEnd=%d", *mine.Block, *mine.Block+1)
		t.Check(len(got) > 0 && *got[0].Block == *mine.Block, fmt.Sprintf("a record of block %d", *mine.Block),
			fmt.Sprint(got))
	})
	s.It("STR-HIS-11", "bounds by a single block", func(t *suite.T) {
		_, mine := causeEvents(t, 1)
		got := page(t, "blockStart=%d&blockEnd=%d", *mine.Block, *mine.Block)
		t.Check(len(got) > 0, fmt.Sprintf("a record of block %d", *mine.Block), "none")
	})
	s.It("STR-HIS-14", "answers [] for a range without records", func(t *suite.T) {
		got := page(t, "blockStart=9000000000000")
		t.Check(len(got) == 0, "no records", len(got))
	})
	for _, query := range []string{"blockStart=abc", "limit=1.5", "offset=x", "timestampEnd=0x10", "blockEnd="} {
		s.It("STR-HIS-15", "refuses "+query, func(t *suite.T) {
			t.Status(t.Get(client(t), historyPath+"?"+query), http.StatusBadRequest)
		})
	}
	for _, query := range []string{"blockStart=-1", "limit=-5", "offset=-1"} {
		s.It("STR-HIS-16", "refuses "+query, func(t *suite.T) {
			t.Status(t.Get(client(t), historyPath+"?"+query), http.StatusBadRequest)
		})
	}
	s.It("STR-HIS-17", "ignores unknown parameters", func(t *suite.T) { page(t, "conformance=suite") })
	s.It("STR-HIS-18", "asks for no authentication", func(t *suite.T) { page(t, "limit=1") })
	s.It("STR-HIS-19", "has what was streamed within a second", func(t *suite.T) { causeEvents(t, 1) })
	s.It("STR-HIS-20", "answers POST", func(t *suite.T) {
		answer := t.Do(client(t), probe.Request{
			Method: http.MethodPost, Path: historyPath, Header: map[string]string{"Content-Type": "application/json"},
			Body: []byte(`{"limit":1}`),
		})
		if answer.Status == http.StatusMethodNotAllowed || answer.Status == http.StatusNotFound {
			t.Unsupported("%d to POST", answer.Status)
		}
		t.Status(answer, http.StatusOK)
		var list []record
		err := answer.JSON(&list)
		t.Check(err == nil && list != nil && len(list) <= 1, "an array of one record at most", answer)
	})
	s.It("STR-HIS-20", "answers POST with each parameter as it answers GET", func(t *suite.T) {
		_, first := causeEvents(t, 2)
		rpc.WaitForBlock(t, *first.Block+1)
		_, last := causeEvents(t, 1)
		block, second := *first.Block, *first.Timestamp
		for _, q := range []struct {
			query, body string
		}{
			{fmt.Sprintf("blockStart=%d", *last.Block), fmt.Sprintf(`{"blockStart":%d}`, *last.Block)},
			{fmt.Sprintf("blockEnd=%d&blockStart=%d", block, block), fmt.Sprintf(`{"blockEnd":%d,"blockStart":%d}`,
				block, block)},
			{fmt.Sprintf("timestampStart=%d&timestampEnd=%d", second, second),
				fmt.Sprintf(`{"timestampStart":%d,"timestampEnd":%d}`, second, second)},
			{fmt.Sprintf("blockStart=%d&blockEnd=%d&offset=1&limit=1", block, block),
				fmt.Sprintf(`{"blockStart":%d,"blockEnd":%d,"offset":1,"limit":1}`, block, block)},
		} {
			want := page(t, "%s", q.query)
			answer := t.Do(client(t), probe.Request{Method: http.MethodPost, Path: historyPath,
				Header: map[string]string{"Content-Type": "application/json"}, Body: []byte(q.body)})
			if answer.Status == http.StatusMethodNotAllowed || answer.Status == http.StatusNotFound {
				t.Unsupported("%d to POST", answer.Status)
			}
			t.Status(answer, http.StatusOK)
			var got []record
			err := answer.JSON(&got)
			t.Check(err == nil && len(got) >= len(want), fmt.Sprintf("%d records for %s", len(want), q.body), len(got))
			for i := range want { // more may have come since
				t.Check(string(got[i].Hint) == string(want[i].Hint), "the records of GET", string(got[i].Hint))
			}
			for _, r := range got {
				t.Check(strings.Contains(q.query, "timestamp") || *r.Block >= block &&
					(!strings.Contains(q.query, "blockEnd") || *r.Block <= block), "records of the range", *r.Block)
			}
		}
	})
	s.It("STR-HIS-21", "has null for what is not shared", func(t *suite.T) {
		stream := listening(t)
		defer stream.Close()
		order := rpc.Share(t, []string{"hash"}, rpc.NewWallet(t).Transfer(1))
		if _, found := waitForEvent(t, stream, order); !found {
			t.Inconclusive("the event did not come")
		}
		var e event
		err := t.Eventually(t.Target.Budgets.Settle(), func() error {
			for _, r := range page(t, "offset=%d", max(number(t, "count"), 20)-20) {
				if strings.Contains(string(r.Hint), hashTwice(order)) {
					e = read(t, string(r.Hint))
					return nil
				}
			}
			return fmt.Errorf("the event is not in the history")
		})
		t.Check(err == nil, "the event in the history", err)
		t.Check(string(e.all["txs"]) == "null" && string(e.all["logs"]) == "null", "txs null and logs null", e.raw)
	})
	s.It("STR-HIS-22", "answers 405 to DELETE", func(t *suite.T) {
		t.Status(t.Do(client(t), probe.Request{Method: http.MethodDelete, Path: historyPath}), http.StatusMethodNotAllowed)
	})
	s.It("STR-HIS-23", "answers 404 to a path that it does not have", func(t *suite.T) {
		t.Status(t.Get(client(t), "/api/v1/conformance"), http.StatusNotFound)
		t.Prepared(t.Get(client(t), infoPath), "ask for a path that it has", http.StatusOK)
	})
}

const errNoRecord = plainError("the count has not changed")

// plainError is a reason to look again.
type plainError string

// Error implements error.
func (e plainError) Error() string { return string(e) }
