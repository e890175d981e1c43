package ledger

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/rpc"
)

var bundle = common.Hash{0x0b}

// ref is alice's bundle as it came with an intake.
func ref(id uint64) rpc.OrderRef { return rpc.OrderRef{ID: id, Hash: bundle, Signer: alice} }

func at(second int) time.Time { return noon.Add(time.Duration(second) * time.Second) }

func offered(second int, id uint64, builder, failure string) rpc.Fact {
	return rpc.OrderSent{At: at(second), OrderRef: ref(id), Delivery: rpc.Delivery{Builder: builder, Block: 5,
		Error: failure}}
}

// ended is the end of alice's bundle that had come at a second.
func ended(second int, id uint64, state rpc.State, reason string, received int) rpc.OrderEnded {
	fact := rpc.OrderEnded{
		At: at(second), OrderRef: ref(id), State: state, Reason: reason, Block: 5, BlockHash: head(5, 0).Hash,
		Summary: rpc.Summary{Kind: rpc.KindBundle, ReceivedAt: at(received)},
	}
	if state == rpc.Landed {
		fact.ValueWei = wei(77)
	}
	return fact
}

// simulated is the end of an order for which a simulation had succeeded at a second, if that is not
// 0, and the newest had failed, if there is a text.
func simulated(fact rpc.OrderEnded, second int, failure string) rpc.OrderEnded {
	if fact.Summary.SimulationError = failure; second > 0 {
		fact.Summary.SimulatedAt = at(second)
	}
	return fact
}

// remembered is an order's record in one line; times are seconds after noon.
func remembered(t *testing.T, l *Ledger) string {
	t.Helper()
	record, err := l.Order(t.Context(), bundle, alice)
	if err != nil {
		t.Fatal(err)
	}
	if record == nil {
		return "unknown"
	}
	seconds := func(at time.Time) string {
		if at.IsZero() {
			return "never"
		}
		return fmt.Sprint(at.Sub(noon).Seconds())
	}
	words := []string{
		fmt.Sprintf("%d %s %s", record.ID, record.Kind, record.State), "received", seconds(record.ReceivedAt), "simulated",
		seconds(record.SimulatedAt),
	}
	for _, sent := range record.Sent {
		words = append(words, sent.Builder, seconds(sent.At))
	}
	if record.SimulationError != "" {
		words = append(words, "error", record.SimulationError)
	}
	if !record.EndedAt.IsZero() {
		words = append(words, "ended", seconds(record.EndedAt), record.Reason, fmt.Sprint(record.Block))
	}
	if record.ValueWei != nil {
		words = append(words, "value", record.ValueWei.Dec())
	}
	return strings.Join(words, " ")
}

// An order's record is written at its end, with what was before; to whom it was sent is noted as it
// happens.
func TestAnOrdersLife(t *testing.T) {
	onEach(t, Config{}, func(t *testing.T, l *Ledger) {
		for _, step := range []struct {
			fact rpc.Fact
			want string
		}{
			{rpc.OrderAccepted{At: at(1), Order: &rpc.Order{ID: 1, Signer: alice, Bundle: rpc.Bundle{Hash: bundle}}}, "unknown"},
			{offered(6, 1, "east", "timeout"), "unknown"},
			{offered(7, 1, "west", ""), "unknown"},
			{offered(8, 1, "east", ""), "unknown"},
			{offered(9, 1, "west", ""), "unknown"},
			{
				simulated(ended(10, 1, rpc.Landed, "", 1), 3, "nonce too low"),
				"1 bundle landed received 1 simulated 3 west 7 east 8 error nonce too low ended 10  5 value 77",
			},
			{rpc.OrderReturned{At: at(11), OrderRef: ref(1)},
				"1 bundle sent received 1 simulated 3 west 7 east 8 error nonce too low"},
			{simulated(ended(12, 1, rpc.Expired, "", 1), 3, ""),
				"1 bundle expired received 1 simulated 3 west 7 east 8 ended 12  5"},
			// sent again
			{ended(14, 2, rpc.Failed, "nonce too low", 13),
				"2 bundle failed received 1 simulated 3 west 7 east 8 ended 14 nonce too low 5"},
			// the older one
			{ended(15, 1, rpc.Cancelled, "replaced", 1),
				"2 bundle failed received 1 simulated 3 west 7 east 8 ended 14 nonce too low 5"},
			{rpc.OrderReturned{At: at(16), OrderRef: ref(1)},
				"2 bundle failed received 1 simulated 3 west 7 east 8 ended 14 nonce too low 5"},
		} {
			record(t, l, step.fact)
			if got := remembered(t, l); got != step.want {
				t.Errorf("after %s\ngot  %s\nwant %s", step.fact.Subject(), got, step.want)
			}
		}
		if other, err := l.Order(t.Context(), bundle, bob); err != nil || other != nil {
			t.Errorf("%v, %v: an order is its signer's", other, err)
		}
	})
}

// An order that lands before it was simulated or sent here is what it was before when its block is
// gone.
func TestAnOrderReturns(t *testing.T) {
	onEach(t, Config{}, func(t *testing.T, l *Ledger) {
		returned := rpc.OrderReturned{At: at(9), OrderRef: ref(1)}
		record(t, l, ended(2, 1, rpc.Landed, "", 1), returned)
		if got, want := remembered(t, l), "1 bundle submitted received 1 simulated never"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		record(t, l, simulated(ended(4, 1, rpc.Landed, "", 1), 3, ""), returned)
		if got, want := remembered(t, l), "1 bundle simulated received 1 simulated 3"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}

// Facts that share a message count each, whatever is wrong with one of them.
func TestAListOfFacts(t *testing.T) {
	l := openAt(t, "sqlite::memory:", Config{})
	written := func(fact rpc.Fact) []byte {
		data, err := json.Marshal(fact)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	sent := fmt.Appendf(nil, `[%s,{"hash":1},%s]`, written(offered(1, 1, "east", "")), written(offered(2, 1, "west", "")))
	if err := l.Apply(t.Context(), []projection.Entry{
		{Seq: 1, Subject: "rpc.order_sent", Data: sent},
		{Seq: 2, Subject: "rpc.order_ended", Data: written(ended(3, 1, rpc.Expired, "", 0))},
	}); err != nil {
		t.Fatal(err)
	}
	got, want := remembered(t, l), "1 bundle expired received 0 simulated never east 1 west 2 ended 3  5"
	if got != want || l.Skipped() != 1 {
		t.Errorf("%d skipped\ngot  %s\nwant %s", l.Skipped(), got, want)
	}
}
