package stream

import (
	"encoding/json"
	"fmt"
	"math/big"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/suite/rpc"
)

var hashForm = regexp.MustCompile(`^0x[0-9a-f]{64}$`)

// some are hints that share a member of a transaction.
var some = []string{"contract_address"}

// isRounded says whether a number in decimal is at most so many digits and zeros after them.
func isRounded(number *big.Int, digits int) bool {
	return len(strings.TrimRight(number.String(), "0")) <= digits
}

// roundUp is the lowest number of so many digits, and zeros after them, that is not below
// another.
func roundUp(number *big.Int, digits int) *big.Int {
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(len(number.String())-digits, 0))), nil)
	up := new(big.Int).Add(number, new(big.Int).Sub(unit, big.NewInt(1)))
	return up.Mul(up.Div(up, unit), unit)
}

// events: the shape of events. Whoever holds floor is the only one to cause events.
func events(floor *sync.Mutex) func(s *suite.Set) {
	return func(s *suite.Set) { eventsAlone(s, floor) }
}

func eventsAlone(s *suite.Set, floor *sync.Mutex) {
	s.It("STR-EVT-01", "knows a transaction by its double hash", func(t *suite.T) {
		tx := rpc.NewWallet(t).Transfer(1)
		e := shareBundle(t, some, tx)
		var hash string
		err := json.Unmarshal(e.all["hash"], &hash)
		t.Check(err == nil && hash == hashTwice(tx.Hash()), hashTwice(tx.Hash()), string(e.all["hash"]))
	})
	s.It("STR-EVT-01", "knows a bundle by its double hash", func(t *suite.T) {
		w := rpc.NewWallet(t)
		one, two := w.Transfer(1), w.Transfer(2)
		e := shareBundle(t, some, one, two)
		t.Check(string(e.all["hash"]) == `"`+hashTwice(rpc.Hash(one, two))+`"`, hashTwice(rpc.Hash(one, two)),
			string(e.all["hash"]))
	})
	s.It("STR-EVT-02", "writes the hash in lower case", func(t *suite.T) {
		var hash string
		e := shareBundle(t, some, rpc.NewWallet(t).Transfer(1))
		err := json.Unmarshal(e.all["hash"], &hash)
		t.Check(err == nil && hashForm.MatchString(hash), "0x and 64 lower-case digits", string(e.all["hash"]))
	})
	s.It("STR-EVT-03", "has logs of null without logs", func(t *suite.T) {
		e := shareBundle(t, some, rpc.NewWallet(t).Transfer(1))
		t.Check(string(e.all["logs"]) == "null", "logs null", e.raw)
	})
	s.It("STR-EVT-04", "has txs of null when nothing of them is shared", func(t *suite.T) {
		e := shareBundle(t, []string{"hash"}, rpc.NewWallet(t).Transfer(1))
		t.Check(string(e.all["txs"]) == "null", "txs null", e.raw)
	})
	s.It("STR-EVT-05", "has one element for a transaction", func(t *suite.T) {
		shareBundle(t, some, rpc.NewWallet(t).Transfer(1)).tx(t)
	})
	s.It("STR-EVT-06", "lists a bundle's transactions in order", func(t *suite.T) {
		w := rpc.NewWallet(t)
		one, two := w.Transfer(1), w.Transfer(2)
		e := shareBundle(t, []string{"tx_hash"}, one, two)
		t.Check(len(e.txs) == 2, "two elements", e.raw)
		has(t, e.txs[0], "hash", one.Hash().Hex())
		has(t, e.txs[1], "hash", two.Hash().Hex())
	})
	s.It("STR-EVT-06", "has an element for each of two transactions that share the same", func(t *suite.T) {
		w := rpc.NewWallet(t)
		e := shareBundle(t, some, w.Transfer(1, 1, 2, 3, 4), w.Transfer(2, 5, 6, 7, 8))
		t.Check(len(e.txs) == 2, "two elements", e.raw)
	})
	s.It("STR-EVT-06", "has the transactions of an inner bundle in their place", func(t *suite.T) {
		stream := listening(t)
		defer stream.Close()
		w := rpc.NewWallet(t)
		inner, outer := w.Transfer(1), w.Transfer(2)
		e, found := waitForEvent(t, stream, rpc.ShareAround(t, []string{"tx_hash"}, inner, outer))
		t.Check(found, "the event of the bundle", "none")
		t.Check(len(e.txs) == 2, "two elements", e.raw)
		has(t, e.txs[0], "hash", inner.Hash().Hex())
		has(t, e.txs[1], "hash", outer.Hash().Hex())
	})
	s.It("STR-EVT-07", "leaves out what is not shared", func(t *suite.T) {
		hasOnly(t, shareBundle(t, some, rpc.NewWallet(t).Transfer(1, 1, 2, 3, 4)).tx(t), "to")
	})
	s.It("STR-EVT-08", "has address, topics and data in a log", func(t *suite.T) {
		list := shareBundle(t, []string{"logs"}, rpc.NewWallet(t).Create(oneLog)).logs(t)
		t.Check(len(list) == 1 && list[0]["address"] != nil && list[0]["topics"] != nil && list[0]["data"] != nil,
			"a log with address, topics and data", list)
	})
	s.It("STR-EVT-09", "has nothing else in a log", func(t *suite.T) {
		list := shareBundle(t, []string{"logs"}, rpc.NewWallet(t).Create(oneLog)).logs(t)
		t.Check(len(list) == 1 && len(list[0]) == 3, "three members", fmt.Sprint(list))
	})
	for _, row := range []struct {
		clause, member string
		digits         int
	}{{"STR-EVT-10", "gasUsed", 2}, {"STR-EVT-11", "mevGasPrice", 3}} {
		s.It(row.clause, "rounds "+row.member, func(t *suite.T) {
			e := shareBundle(t, some, rpc.NewWallet(t).Create(oneLog))
			if e.all[row.member] == nil {
				t.Unsupported("%s is not shared", row.member)
			}
			var text string
			err := json.Unmarshal(e.all[row.member], &text)
			number, ok := new(big.Int).SetString(strings.TrimPrefix(text, "0x"), 16)
			t.Check(err == nil && ok && isRounded(number, row.digits), fmt.Sprintf("hex of a number of %d digits and zeros",
				row.digits), string(e.all[row.member]))
		})
	}
	for _, row := range []struct {
		clause, member string
		digits         int
	}{{"STR-EVT-10", "gasUsed", 2}, {"STR-EVT-11", "mevGasPrice", 3}} {
		s.It(row.clause, "rounds "+row.member+" up, and no further", func(t *suite.T) {
			for _, paidWei := range []int64{1_234_500_000_000_001, 2_345_600_000_000_001, 7_654_300_000_000_001} {
				tx := rpc.NewWallet(t).Paying(paidWei)
				e := shareBundle(t, some, tx)
				if e.all[row.member] == nil {
					t.Unsupported("%s is not shared", row.member)
				}
				price, gas := rpc.MeasureWorth(t, tx)
				want := roundUp(map[string]*big.Int{"gasUsed": gas, "mevGasPrice": price}[row.member], row.digits)
				var text string
				err := json.Unmarshal(e.all[row.member], &text)
				number, ok := new(big.Int).SetString(strings.TrimPrefix(text, "0x"), 16)
				t.Check(err == nil && ok && number.Cmp(want) == 0, row.member+" "+want.String(), number)
			}
		})
	}
	s.It("STR-EVT-12", "tells of an order once", func(t *suite.T) {
		stream := listening(t)
		defer stream.Close()
		tx := rpc.NewWallet(t).Transfer(1)
		order := rpc.Share(t, some, tx)
		if _, found := waitForEvent(t, stream, order); !found {
			t.Inconclusive("the event did not come")
		}
		rpc.Share(t, some, tx)
		rpc.Share(t, []string{"tx_hash"}, tx)
		_, found := waitForEvent(t, stream, rpc.Share(t, some, rpc.NewWallet(t).Transfer(1)))
		t.Check(found, "the event of a later order", "none")
		t.Until(t.Now().Add(200 * time.Millisecond))
		n := 0
		for _, text := range stream.Events() {
			if strings.Contains(text, hashTwice(order)) {
				n++
			}
		}
		t.Check(n == 1, "one event", n)
	})
	s.It("STR-EVT-13", "does not tell of what fails", func(t *suite.T) {
		stream := listening(t)
		defer stream.Close()
		checkUntold(t, stream, rpc.Share(t, some, rpc.NewWallet(t).Create("0x60006000fd")))
	})
	s.It("STR-EVT-14", "does not tell of what was cancelled before it could be simulated", func(t *suite.T) {
		stream := listening(t)
		defer stream.Close()
		w := rpc.NewWallet(t)
		// the second one cannot succeed in a simulation until the first one is in the chain
		first, second := w.Transfer(1), w.Transfer(2)
		rpc.SendAndCancel(t, second)
		rpc.Publish(t, first)
		rpc.WaitForBlock(t, rpc.Head(t)+2) // so that the service had time to simulate it again
		checkUntold(t, stream, second.Hash())
	})
	s.It("STR-EVT-15", "tells the same of orders that share the same", func(t *suite.T) {
		one := shareBundle(t, some, rpc.NewWallet(t).Transfer(1, 0xaa, 0xbb, 0xcc, 0xdd))
		other := shareBundle(t, some, rpc.NewWallet(t).Transfer(2, 0x11, 0x22, 0x33, 0x44))
		for _, e := range []event{one, other} {
			delete(e.all, "hash")
		}
		a, errA := json.Marshal(one.all)
		b, errB := json.Marshal(other.all)
		t.Check(errA == nil && errB == nil && string(a) == string(b), string(a), string(b))
	})
	s.It("STR-EVT-15", "tells the same of orders that share their hash, whether or not they have logs",
		func(t *suite.T) {
			one := shareBundle(t, []string{"hash"}, rpc.NewWallet(t).Create(emitCode(swapV2, topicA, topicB)))
			other := shareBundle(t, []string{"hash"}, rpc.NewWallet(t).Transfer(1))
			for _, member := range []string{"logs", "txs"} {
				a, b := string(one.all[member]), string(other.all[member])
				t.Check(a == b, "the same "+member+" as of the other order", a+" and "+b)
			}
		})
	s.It("STR-EVT-16", "does not tell of simulations", func(t *suite.T) {
		stream := listening(t)
		defer stream.Close()
		tx := rpc.NewWallet(t).Transfer(1)
		rpc.Simulate(t, tx)
		checkUntold(t, stream, tx.Hash())
		checkUntold(t, stream, rpc.Hash(tx))
	})
	s.It("STR-EVT-16", "does not tell of what other methods are asked", func(t *suite.T) {
		floor.Lock()
		defer floor.Unlock()
		stream := listening(t)
		defer stream.Close()
		tx := rpc.NewWallet(t).Transfer(1)
		checkUntold(t, stream, tx.Hash()) // events of other specs' orders have come by then
		before := len(stream.Events())
		rpc.CallOthers(t, tx)
		order := rpc.Share(t, []string{"hash"}, rpc.NewWallet(t).Transfer(1))
		if _, found := waitForEvent(t, stream, order); !found {
			t.Inconclusive("no event of a later order came")
		}
		t.Until(t.Now().Add(100 * time.Millisecond)) // simulations may end in another order
		for _, text := range stream.Events()[before:] {
			t.Check(strings.Contains(strings.ToLower(text), hashTwice(order)), "no event but that of an order", text)
		}
	})
	s.It("STR-EVT-16", "does not tell of simulated bundles", func(t *suite.T) {
		stream := listening(t)
		defer stream.Close()
		tx := rpc.NewWallet(t).Transfer(1)
		rpc.SimulateShared(t, tx)
		checkUntold(t, stream, tx.Hash())
	})
	s.It("STR-EVT-17", "may tell of other things as well", func(t *suite.T) {
		stream := listening(t)
		defer stream.Close()
		for range 3 {
			_, found := waitForEvent(t, stream, rpc.Share(t, some, rpc.NewWallet(t).Transfer(1)))
			t.Check(found, "the event of an order", "none")
		}
		for _, text := range stream.Events() {
			e := read(t, text) // fails the spec unless the event is one JSON object
			if e.all["hash"] == nil || e.all["txs"] == nil || e.all["logs"] == nil {
				t.Lenient("an event of another kind: %s", text)
			}
		}
	})
}
