package ledger

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/rpc"
)

// event is what a fact means, for the slow way of counting.
type orderEvent struct {
	at     time.Time
	signer common.Address
	order  uint64 // of a landing
	sums   Sums
}

// slowly sums a signer's events in the hours of a window that ends at a time; no hours are all
// time.
func sumSlowly(events []orderEvent, signer common.Address, hours int64, at time.Time) (sum Sums) {
	for _, e := range events {
		age := hourNumber(at) - hourNumber(e.at)
		if e.signer == signer && (hours == 0 || age >= 0 && age < hours) {
			sum.add(&e.sums)
		}
	}
	return sum
}

// However facts come, also with times that go back a little: every sum is what adding up all facts
// gives.
func TestSumsAreThoseOfAllFacts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var (
			v      = NewReputation(ReputationConfig{})
			events []orderEvent
			now    = start
			order  uint64
		)
		for range rapid.IntRange(0, 60).Draw(t, "facts") {
			now = now.Add(time.Duration(rapid.IntRange(-90, 60*30).Draw(t, "minutes")) * time.Minute)
			signer := rapid.SampledFrom([]common.Address{erin, frank}).Draw(t, "signer")
			n := rapid.Uint64Range(1, 1<<40).Draw(t, "amount")
			order++
			switch rapid.IntRange(0, 5).Draw(t, "fact") {
			case 0:
				v.Apply(accept(now, signer))
				events = append(events, orderEvent{now, signer, 0, Sums{Orders: 1}})
			case 1:
				v.Apply(simulate(now, signer, n, false))
				events = append(events, orderEvent{now, signer, 0, Sums{Simulations: 1, FailedSimulations: 1, GasSimulated: n}})
			case 2:
				v.Apply(call(now, signer, n))
				events = append(events, orderEvent{now, signer, 0, Sums{GasSimulated: n}})
			case 3:
				v.Apply(end(now, order, signer, rpc.Failed, 0))
				events = append(events, orderEvent{now, signer, 0, Sums{FailedOrders: 1}})
			case 4:
				v.Apply(end(now, order, signer, rpc.Landed, n))
				events = append(events, orderEvent{now, signer, order, Sums{ValueWei: *uint256.NewInt(n)}})
			case 5:
				which := rapid.Uint64Range(1, order).Draw(t, "returned")
				v.Apply(comeBack(now, which, signer))
				events = slices.DeleteFunc(events, func(e orderEvent) bool { return e.order == which })
			}
		}
		for _, signer := range []common.Address{erin, frank} {
			got := v.Standing(v.now, signer)
			got.High = false
			want := Standing{
				AllTime: sumSlowly(events, signer, 0, v.now), Week: sumSlowly(events, signer, hoursOfWeek, v.now),
				Day: sumSlowly(events, signer, hoursOfDay, v.now),
			}
			if got != want {
				t.Fatalf("%v stands\n  %+v, want\n  %+v", signer, got, want)
			}
		}
	})
}

// Whatever happens, no more is remembered than was allowed, and the count of hours is right.
func TestMemoryIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cfg := ReputationConfig{Signers: rapid.IntRange(1, 5).Draw(t, "signers"),
			Hours: rapid.IntRange(hoursOfWeek, 200).Draw(t, "hours")}
		v, now := NewReputation(cfg), start
		for i := range rapid.IntRange(1, 400).Draw(t, "facts") {
			now = now.Add(time.Duration(rapid.IntRange(0, 90).Draw(t, "minutes")) * time.Minute)
			signer := common.Address{rapid.Byte().Draw(t, "signer") % 8}
			if rapid.Bool().Draw(t, "pays") {
				v.Apply(end(now, uint64(i), signer, rpc.Landed, 1))
			} else {
				v.Apply(accept(now, signer))
			}
			hours := 0
			for _, signer := range append(v.payers.Keys(), v.newcomers.Keys()...) {
				hours += len(v.of(signer).hours)
			}
			if v.payers.Len() > cfg.Signers || v.newcomers.Len() > cfg.Signers || v.hours > cfg.Hours || v.hours != hours {
				t.Fatalf("%+v: %d payers, %d newcomers, %d hours, of which %d are there", cfg, v.payers.Len(), v.newcomers.Len(),
					v.hours, hours)
			}
		}
	})
}

// BenchmarkHigh is what a request waits for, by the number of hours in which its signer was active.
func BenchmarkHigh(b *testing.B) {
	var one time.Duration
	for _, hours := range []int{1, hoursOfDay, hoursOfWeek} {
		b.Run(fmt.Sprint(hours), func(b *testing.B) {
			v := NewReputation(ReputationConfig{})
			for h := range hours {
				v.Apply(end(start.Add(time.Duration(h)*time.Hour), uint64(h), erin, rpc.Landed, 1))
			}
			for b.Loop() {
				v.High(erin)
			}
			each := b.Elapsed() / time.Duration(b.N)
			if hours == 1 {
				one = max(each, 1)
			}
			b.ReportMetric(float64(each)/float64(one), "x_one_hour")
		})
	}
}

// BenchmarkApply is the cost of a fact, with as many signers as are remembered and each fact of
// another one.
func BenchmarkApply(b *testing.B) {
	v := NewReputation(ReputationConfig{})
	i := 0
	for b.Loop() {
		i++
		v.Apply(accept(start.Add(time.Duration(i)*time.Millisecond), common.Address{byte(i), byte(i >> 8), byte(i >> 16)}))
	}
}
