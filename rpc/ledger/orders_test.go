package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

var bundle = common.Hash{0x0b}

// ref is alice's bundle as it came with an intake.
func ref(id uint64) rpc.OrderRef { return rpc.OrderRef{ID: id, Hash: bundle, Signer: alice} }

func at(second int) time.Time { return noon.Add(time.Duration(second) * time.Second) }

func accepted(second int, id uint64) rpc.Fact {
	return rpc.OrderAccepted{At: at(second), Order: &rpc.Order{
		ID: id, Kind: rpc.KindBundle, Signer: alice, ReceivedAt: at(second), Bundle: rpc.Bundle{Hash: bundle},
	}}
}

func simulated(second int, id uint64, failure string) rpc.Fact {
	return rpc.OrderSimulated{At: at(second), OrderRef: ref(id), Simulation: rpc.Simulation{
		Success: failure == "", Error: failure, ProfitWei: wei(1), RefundableWei: wei(1),
	}}
}

func offered(second int, id uint64, builder, failure string) rpc.Fact {
	return rpc.OrderSent{At: at(second), OrderRef: ref(id), Delivery: rpc.Delivery{Builder: builder, Block: 5, Error: failure}}
}

func ended(second int, id uint64, state rpc.State, reason string) rpc.Fact {
	fact := rpc.OrderEnded{At: at(second), OrderRef: ref(id), State: state, Reason: reason, Block: 5, BlockHash: head(5, 0).Hash}
	if state == rpc.Landed {
		fact.ValueWei = wei(77)
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
		fmt.Sprintf("%d %s %s", record.ID, record.Kind, record.State), "received", seconds(record.ReceivedAt), "simulated", seconds(record.SimulatedAt),
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

// An order's record grows with its life: that is what getBundleStatsV2 tells in its four states.
func TestAnOrdersLife(t *testing.T) {
	onEach(t, Config{}, func(t *testing.T, l *Ledger) {
		for _, step := range []struct {
			fact rpc.Fact
			want string
		}{
			{simulated(0, 1, ""), "unknown"}, // of an order from before the journal began
			{accepted(1, 1), "1 bundle submitted received 1 simulated never"},
			{simulated(2, 1, "tx failed"), "1 bundle submitted received 1 simulated never error tx failed"},
			{simulated(3, 1, ""), "1 bundle simulated received 1 simulated 3"},
			{simulated(4, 1, "nonce too low"), "1 bundle submitted received 1 simulated 3 error nonce too low"},
			{simulated(5, 1, ""), "1 bundle simulated received 1 simulated 3"},
			{offered(6, 1, "east", "timeout"), "1 bundle simulated received 1 simulated 3"},
			{offered(7, 1, "west", ""), "1 bundle sent received 1 simulated 3 west 7"},
			{offered(8, 1, "east", ""), "1 bundle sent received 1 simulated 3 west 7 east 8"},
			{offered(9, 1, "west", ""), "1 bundle sent received 1 simulated 3 west 7 east 8"},
			{ended(10, 1, rpc.Landed, ""), "1 bundle landed received 1 simulated 3 west 7 east 8 ended 10  5 value 77"},
			{rpc.OrderReturned{At: at(11), OrderRef: ref(1)}, "1 bundle sent received 1 simulated 3 west 7 east 8"},
			{ended(12, 1, rpc.Expired, ""), "1 bundle expired received 1 simulated 3 west 7 east 8 ended 12  5"},
			{accepted(13, 2), "2 bundle submitted received 1 simulated 3 west 7 east 8"},
			{ended(14, 1, rpc.Cancelled, "replaced"), "2 bundle submitted received 1 simulated 3 west 7 east 8"}, // the older one
			{accepted(1, 1), "2 bundle submitted received 1 simulated 3 west 7 east 8"},
			{ended(15, 2, rpc.Failed, "nonce too low"), "2 bundle failed received 1 simulated 3 west 7 east 8 ended 15 nonce too low 5"},
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

// An order that lands before it was simulated or sent here is what it was before when its block is gone.
func TestAnOrderReturns(t *testing.T) {
	onEach(t, Config{}, func(t *testing.T, l *Ledger) {
		returned := rpc.OrderReturned{At: at(9), OrderRef: ref(1)}
		record(t, l, accepted(1, 1), ended(2, 1, rpc.Landed, ""), returned)
		if got, want := remembered(t, l), "1 bundle submitted received 1 simulated never"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		record(t, l, simulated(3, 1, ""), ended(4, 1, rpc.Landed, ""), returned)
		if got, want := remembered(t, l), "1 bundle simulated received 1 simulated 3"; got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	})
}
