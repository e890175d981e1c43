package reputation

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

var (
	start = time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
	alice = common.Address{0xa}
	bob   = common.Address{0xb}
)

func ref(id uint64, signer common.Address) rpc.OrderRef { return rpc.OrderRef{ID: id, Signer: signer} }

func accepted(at time.Time, signer common.Address) rpc.Fact {
	return rpc.OrderAccepted{At: at, Order: &rpc.Order{Signer: signer}}
}

func simulated(at time.Time, signer common.Address, gas uint64, success bool) rpc.Fact {
	return rpc.OrderSimulated{At: at, OrderRef: ref(1, signer), Simulation: rpc.Simulation{GasUsed: gas, Success: success}}
}

func called(at time.Time, signer common.Address, gas uint64) rpc.Fact {
	return rpc.CallSimulated{At: at, Signer: signer, GasUsed: gas}
}

func ended(at time.Time, id uint64, signer common.Address, state rpc.State, wei uint64) rpc.Fact {
	return rpc.OrderEnded{At: at, OrderRef: ref(id, signer), State: state, ValueWei: uint256.NewInt(wei)}
}

func returned(at time.Time, id uint64, signer common.Address) rpc.Fact {
	return rpc.OrderReturned{At: at, OrderRef: ref(id, signer)}
}

func view(cfg Config, facts ...rpc.Fact) *Projection {
	v := New(cfg)
	for _, f := range facts {
		v.Apply(f)
	}
	return v
}

func TestStanding(t *testing.T) {
	hour, day := time.Hour, 24*time.Hour
	for name, c := range map[string]struct {
		facts              []rpc.Fact
		after              time.Duration
		allTime, week, day Sums
	}{
		"nothing is known": {},
		"an order's life": {
			facts: []rpc.Fact{
				accepted(start, alice), simulated(start, alice, 100, true), simulated(start, alice, 20, false),
				ended(start, 1, alice, rpc.Landed, 7),
			},
			allTime: Sums{Orders: 1, Simulations: 2, FailedSimulations: 1, GasSimulated: 120, ValueWei: *uint256.NewInt(7)},
			week:    Sums{Orders: 1, Simulations: 2, FailedSimulations: 1, GasSimulated: 120, ValueWei: *uint256.NewInt(7)},
			day:     Sums{Orders: 1, Simulations: 2, FailedSimulations: 1, GasSimulated: 120, ValueWei: *uint256.NewInt(7)},
		},
		"calls cost gas, and are no orders": {
			facts: []rpc.Fact{called(start, alice, 5)}, allTime: Sums{GasSimulated: 5}, week: Sums{GasSimulated: 5},
			day: Sums{GasSimulated: 5},
		},
		"of the ends, failure counts, and what landed": {
			facts: []rpc.Fact{
				ended(start, 1, alice, rpc.Failed, 0), ended(start, 2, alice, rpc.Expired, 0), ended(start, 3, alice,
					rpc.Cancelled, 0),
				rpc.OrderEnded{At: start, OrderRef: ref(4, alice), State: rpc.Landed},
			},
			allTime: Sums{FailedOrders: 1}, week: Sums{FailedOrders: 1}, day: Sums{FailedOrders: 1},
		},
		"others' orders are theirs": {facts: []rpc.Fact{accepted(start, bob), ended(start, 1, bob, rpc.Landed, 7)}},
		"what has landed has not": {
			facts: []rpc.Fact{ended(start, 1, alice, rpc.Landed, 7), ended(start.Add(hour), 2, alice, rpc.Landed, 9),
				returned(start.Add(hour), 1, alice)},
			after: hour, allTime: Sums{ValueWei: *uint256.NewInt(9)}, week: Sums{ValueWei: *uint256.NewInt(9)},
			day: Sums{ValueWei: *uint256.NewInt(9)},
		},
		"it landed elsewhere": {
			facts: []rpc.Fact{ended(start, 1, alice, rpc.Landed, 7), returned(start, 1, alice), returned(start, 1, alice),
				ended(start, 1, alice, rpc.Landed, 9)},
			after: hour, allTime: Sums{ValueWei: *uint256.NewInt(9)}, week: Sums{ValueWei: *uint256.NewInt(9)},
			day: Sums{ValueWei: *uint256.NewInt(9)},
		},
		"23 hours ago": {facts: []rpc.Fact{accepted(start, alice)}, after: 23 * hour, allTime: Sums{Orders: 1},
			week: Sums{Orders: 1}, day: Sums{Orders: 1}},
		"a day ago": {facts: []rpc.Fact{accepted(start, alice)}, after: day, allTime: Sums{Orders: 1},
			week: Sums{Orders: 1}},
		"nearly 7 days ago": {facts: []rpc.Fact{accepted(start, alice)}, after: 7*day - hour, allTime: Sums{Orders: 1},
			week: Sums{Orders: 1}},
		"7 days ago": {facts: []rpc.Fact{accepted(start, alice)}, after: 7 * day, allTime: Sums{Orders: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got := view(Config{}, c.facts...).Standing(start.Add(c.after), alice)
			got.High = false // see TestHigh
			if want := (Standing{AllTime: c.allTime, Week: c.week, Day: c.day}); got != want {
				t.Errorf("stands\n  %+v, want\n  %+v", got, want)
			}
		})
	}
}

func TestStats(t *testing.T) {
	v := view(Config{HighWeiPerGas: 1},
		accepted(start, alice), called(start, alice, 5), ended(start, 1, alice, rpc.Failed, 0), ended(start.Add(48*time.Hour),
			2, alice, rpc.Landed, 7))
	s := v.Stats(start.Add(48*time.Hour), alice)
	if !s.High || s.Orders != 1 || s.FailedOrders != 1 {
		t.Errorf("got %+v, want High, one order, one that failed", s)
	}
	for name, c := range map[string]struct {
		got rpc.UserSums
		gas uint64
	}{"all time": {s.AllTime, 5}, "week": {s.Week, 5}, "day": {s.Day, 0}} {
		if c.got.GasSimulated != c.gas || !c.got.ValueWei.Eq(uint256.NewInt(7)) {
			t.Errorf("%s: %v wei and %d gas, want 7 and %d", name, c.got.ValueWei, c.got.GasSimulated, c.gas)
		}
	}
	if unknown := v.Stats(start, bob); unknown.High || unknown.AllTime.ValueWei == nil {
		t.Errorf("somebody unknown is %+v, want zeros, and no nil", unknown)
	}
}

func TestHigh(t *testing.T) {
	pays, fails := ended(start, 1, alice, rpc.Landed, 1000), simulated(start, alice, 0, false)
	for name, c := range map[string]struct {
		facts []rpc.Fact
		want  bool
	}{
		"has done nothing": {nil, false},
		"has paid nothing": {[]rpc.Fact{accepted(start, alice), simulated(start, alice, 0, true)}, false},
		"pays":             {[]rpc.Fact{pays}, true},
		"pays exactly enough": {[]rpc.Fact{pays, simulated(start, alice, 90, true), called(start, alice, 10)},
			true},
		"pays too little for its gas": {[]rpc.Fact{pays, simulated(start, alice, 90, true), called(start, alice, 11)},
			false},
		"half of its simulations fail":  {[]rpc.Fact{pays, fails, simulated(start, alice, 0, true)}, true},
		"two of three simulations fail": {[]rpc.Fact{pays, fails, fails, simulated(start, alice, 0, true)}, false},
		"its payment was taken back":    {[]rpc.Fact{pays, returned(start, 1, alice)}, false},
		"its payment is 7 days ago":     {[]rpc.Fact{pays, accepted(start.Add(7*24*time.Hour), bob)}, false},
		"its payment is nearly so":      {[]rpc.Fact{pays, accepted(start.Add(7*24*time.Hour-time.Hour), bob)}, true},
		"somebody else's orders pay":    {[]rpc.Fact{ended(start, 1, bob, rpc.Landed, 1000)}, false},
		"a late fact does not turn back": {[]rpc.Fact{pays, accepted(start.Add(7*24*time.Hour), bob), accepted(start, bob)},
			false},
	} {
		t.Run(name, func(t *testing.T) {
			v := view(Config{HighWeiPerGas: 10, HighFailedPercent: 50}, c.facts...)
			if got := v.High(alice); got != c.want || v.Standing(start, alice).High != got {
				t.Errorf("High is %v, want %v, and the same in its standing", got, c.want)
			}
		})
	}
}

func TestForgetting(t *testing.T) {
	known := func(v *Projection, signer common.Address) bool { return v.Standing(start, signer) != Standing{} }
	v := view(Config{Signers: 2}, ended(start, 1, alice, rpc.Landed, 7), accepted(start, bob))
	for i := range byte(10) {
		v.Apply(accepted(start, common.Address{1, i}))
	}
	if !known(v, alice) || known(v, bob) || !known(v, common.Address{1, 9}) || v.hours != 3 {
		t.Errorf("want alice, who has paid, and the two newest of the others; %d hours are remembered", v.hours)
	}
	v.Apply(accepted(start, common.Address{1, 8})) // the older of the two is the newer one now
	v.Apply(accepted(start, bob))
	if !known(v, common.Address{1, 8}) || known(v, common.Address{1, 9}) {
		t.Error("want that who was used last is kept")
	}
	v.Apply(ended(start, 2, bob, rpc.Landed, 1))
	v.Apply(ended(start, 3, common.Address{1, 8}, rpc.Landed, 1))
	if known(v, alice) || !known(v, bob) || v.newcomers.Len() != 0 {
		t.Error("want bob and one more among those who have paid, no newcomer, and alice, who paid first, forgotten")
	}
	v.Apply(accepted(start, alice))
	v.Apply(returned(start, 1, alice)) // what it paid was forgotten with it
	if got := v.Standing(start, alice).AllTime; got != (Sums{Orders: 1}) {
		t.Errorf("alice, who came back, stands %+v, want one order", got)
	}
}
