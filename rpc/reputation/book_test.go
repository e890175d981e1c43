package reputation

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/rpc"
)

var (
	alice, bob = common.Address{1}, common.Address{2}
	noon       = time.Unix(1_800_000_000, 0).Truncate(time.Hour).UTC()
)

func ref(id uint64, signer common.Address) rpc.OrderRef { return rpc.OrderRef{ID: id, Signer: signer} }

func accepted(at time.Time, signer common.Address) rpc.Fact {
	return rpc.OrderAccepted{At: at, Order: &rpc.Order{Signer: signer}}
}

func simulated(at time.Time, signer common.Address, gas uint64, success bool) rpc.Fact {
	return rpc.OrderSimulated{At: at, OrderRef: ref(1, signer), Simulation: rpc.Simulation{GasUsed: gas, Success: success}}
}

func landed(at time.Time, id uint64, signer common.Address, wei uint64) rpc.Fact {
	return rpc.OrderEnded{At: at, OrderRef: ref(id, signer), State: rpc.Landed, ValueWei: uint256.NewInt(wei)}
}

// TestStanding: what is counted, for whom, and for how long.
func TestStanding(t *testing.T) {
	facts := []rpc.Fact{
		accepted(noon, alice), simulated(noon, alice, 21_000, true), simulated(noon, alice, 500, false), landed(noon, 1, alice, 7),
		accepted(noon, bob),
		rpc.CallSimulated{At: noon.Add(time.Minute), Signer: alice, GasUsed: 1_000, Success: false},
		rpc.OrderEnded{At: noon, OrderRef: ref(2, alice), State: rpc.Expired},
		landed(noon.Add(48*time.Hour), 3, alice, 5),
		landed(noon.Add(48*time.Hour), 4, alice, 100), rpc.OrderReturned{At: noon.Add(49 * time.Hour), OrderRef: ref(4, alice)},
		rpc.OrderReturned{At: noon.Add(49 * time.Hour), OrderRef: ref(9, alice)}, // it never landed
		rpc.CancelNoted{At: noon, Signer: alice},
	}
	second := Tally{Landed: 1, ValueLandedWei: *uint256.NewInt(5)}
	both := Tally{Orders: 1, GasSimulated: 22_500, Succeeded: 1, Failed: 1, Landed: 2, ValueLandedWei: *uint256.NewInt(12)}
	for _, row := range []struct {
		name      string
		after     time.Duration
		week, day Tally
	}{
		{"two days later", 49 * time.Hour, both, second},
		{"within the day of the second", 71 * time.Hour, both, second},
		{"a day after the second", 72 * time.Hour, both, Tally{}},
		{"the last hour of the first week", 167 * time.Hour, both, Tally{}},
		{"a week after the first", 168 * time.Hour, second, Tally{}},
		{"a year later", 365 * 24 * time.Hour, Tally{}, Tally{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			book := New(Config{})
			for _, fact := range facts {
				book.Apply(fact)
			}
			got := book.Standing(noon.Add(row.after), alice)
			if want := (Standing{AllTime: both, LastWeek: row.week, LastDay: row.day}); got != want {
				t.Errorf("alice stands at\n%+v, not\n%+v", got, want)
			}
			if got := book.Standing(noon.Add(row.after), bob).AllTime; got != (Tally{Orders: 1}) {
				t.Errorf("bob has %+v", got)
			}
		})
	}
}

// TestHigh: what the simulations of a week cost must have been worth it.
func TestHigh(t *testing.T) {
	config := Config{HighValueWei: uint256.NewInt(1000), HighOrders: 2}
	for _, row := range []struct {
		name  string
		facts []rpc.Fact
		want  bool
	}{
		{"nothing is known", nil, false},
		{"too few landed", []rpc.Fact{landed(noon, 1, alice, 1_000_000)}, false},
		{"worth it", []rpc.Fact{landed(noon, 1, alice, 1000), landed(noon, 2, alice, 1000), simulated(noon, alice, 2_000_000, false)}, true},
		{"not quite", []rpc.Fact{landed(noon, 1, alice, 1000), landed(noon, 2, alice, 999), simulated(noon, alice, 2_000_000, false)}, false},
		{"little gas counts as a million", []rpc.Fact{landed(noon, 1, alice, 1), landed(noon, 2, alice, 1)}, false},
		{"more than a week ago", []rpc.Fact{landed(noon.Add(-200*time.Hour), 1, alice, 9000), landed(noon.Add(-200*time.Hour), 2, alice, 9000)}, false},
		{"somebody else's", []rpc.Fact{landed(noon, 1, bob, 9000), landed(noon, 2, bob, 9000)}, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			book := New(config)
			for _, fact := range row.facts {
				book.Apply(fact)
			}
			if got := book.High(noon, alice); got != row.want {
				t.Errorf("high is %t", got)
			}
		})
	}
}

// TestForgets: the signer who was not heard of for longest goes, when there are too many signers or hours.
func TestForgets(t *testing.T) {
	carol := common.Address{3}
	book := New(Config{MaxSigners: 2})
	for _, signer := range []common.Address{alice, bob, alice, carol} {
		book.Apply(accepted(noon, signer))
	}
	if book.Signers() != 2 || book.Standing(noon, bob) != (Standing{}) || book.Standing(noon, alice).AllTime.Orders != 2 {
		t.Errorf("%d signers, bob %+v", book.Signers(), book.Standing(noon, bob))
	}
	book = New(Config{MaxHours: 3})
	for i := range 3 {
		book.Apply(accepted(noon.Add(time.Duration(i)*time.Hour), alice))
	}
	book.Apply(accepted(noon, bob))
	if book.Signers() != 1 || book.hours != 1 {
		t.Errorf("%d signers with %d hours", book.Signers(), book.hours)
	}
}

// TestSums: for any facts, in any hours, the periods are what adding up the facts by hand gives, and never more than all time; the hours are counted.
func TestSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		book := New(Config{})
		at, sum, week, day := noon, Tally{}, Tally{}, Tally{}
		end := noon.Add(400 * time.Hour)
		for at.Before(end) {
			gas := rapid.Uint64Range(0, 1000).Draw(t, "gas")
			change := Tally{GasSimulated: gas, Succeeded: 1}
			book.Apply(simulated(at, alice, gas, true))
			sum.add(&change)
			if hourOf(end)-hourOf(at) < weekHours {
				week.add(&change)
			}
			if hourOf(end)-hourOf(at) < dayHours {
				day.add(&change)
			}
			at = at.Add(time.Duration(rapid.IntRange(1, 40*60).Draw(t, "minutes")) * time.Minute)
		}
		if got, want := book.Standing(end, alice), (Standing{AllTime: sum, LastWeek: week, LastDay: day}); got != want {
			t.Fatalf("alice stands at\n%+v, not\n%+v", got, want)
		}
		if kept := len(recordOf(book.signers[alice]).hours); kept != book.hours || kept > weekHours {
			t.Fatalf("%d hours kept, counted as %d", kept, book.hours)
		}
	})
}
