package ledger

import (
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

var (
	start = time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
	erin  = common.Address{0xa}
	frank = common.Address{0xb}
)

func refOf(id uint64, signer common.Address) rpc.OrderRef {
	return rpc.OrderRef{ID: id, Signer: signer}
}

func accept(at time.Time, signer common.Address) rpc.Fact {
	return rpc.OrderAccepted{At: at, Order: &rpc.Order{Signer: signer}}
}

func simulate(at time.Time, signer common.Address, gas uint64, success bool) rpc.Fact {
	return rpc.OrderSimulated{At: at, OrderRef: refOf(1, signer),
		Simulation: rpc.Simulation{GasUsed: gas, Success: success}}
}

func call(at time.Time, signer common.Address, gas uint64) rpc.Fact {
	return rpc.CallSimulated{At: at, Signer: signer, GasUsed: gas}
}

func end(at time.Time, id uint64, signer common.Address, state rpc.State, wei uint64) rpc.Fact {
	return rpc.OrderEnded{At: at, OrderRef: refOf(id, signer), State: state, ValueWei: uint256.NewInt(wei)}
}

func comeBack(at time.Time, id uint64, signer common.Address) rpc.Fact {
	return rpc.OrderReturned{At: at, OrderRef: refOf(id, signer)}
}

func reputationOf(cfg ReputationConfig, facts ...rpc.Fact) *Reputation {
	v := NewReputation(cfg)
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
				accept(start, erin), simulate(start, erin, 100, true), simulate(start, erin, 20, false),
				end(start, 1, erin, rpc.Landed, 7),
			},
			allTime: Sums{Orders: 1, Simulations: 2, FailedSimulations: 1, GasSimulated: 120, ValueWei: *uint256.NewInt(7)},
			week:    Sums{Orders: 1, Simulations: 2, FailedSimulations: 1, GasSimulated: 120, ValueWei: *uint256.NewInt(7)},
			day:     Sums{Orders: 1, Simulations: 2, FailedSimulations: 1, GasSimulated: 120, ValueWei: *uint256.NewInt(7)},
		},
		"calls cost gas, and are no orders": {
			facts: []rpc.Fact{call(start, erin, 5)}, allTime: Sums{GasSimulated: 5}, week: Sums{GasSimulated: 5},
			day: Sums{GasSimulated: 5},
		},
		"of the ends, failure counts, and what landed": {
			facts: []rpc.Fact{
				end(start, 1, erin, rpc.Failed, 0), end(start, 2, erin, rpc.Expired, 0), end(start, 3, erin,
					rpc.Cancelled, 0),
				rpc.OrderEnded{At: start, OrderRef: refOf(4, erin), State: rpc.Landed},
			},
			allTime: Sums{FailedOrders: 1}, week: Sums{FailedOrders: 1}, day: Sums{FailedOrders: 1},
		},
		"others' orders are theirs": {facts: []rpc.Fact{accept(start, frank), end(start, 1, frank, rpc.Landed, 7)}},
		"what has landed has not": {
			facts: []rpc.Fact{end(start, 1, erin, rpc.Landed, 7), end(start.Add(hour), 2, erin, rpc.Landed, 9),
				comeBack(start.Add(hour), 1, erin)},
			after: hour, allTime: Sums{ValueWei: *uint256.NewInt(9)}, week: Sums{ValueWei: *uint256.NewInt(9)},
			day: Sums{ValueWei: *uint256.NewInt(9)},
		},
		"it landed elsewhere": {
			facts: []rpc.Fact{end(start, 1, erin, rpc.Landed, 7), comeBack(start, 1, erin), comeBack(start, 1, erin),
				end(start, 1, erin, rpc.Landed, 9)},
			after: hour, allTime: Sums{ValueWei: *uint256.NewInt(9)}, week: Sums{ValueWei: *uint256.NewInt(9)},
			day: Sums{ValueWei: *uint256.NewInt(9)},
		},
		"23 hours ago": {facts: []rpc.Fact{accept(start, erin)}, after: 23 * hour, allTime: Sums{Orders: 1},
			week: Sums{Orders: 1}, day: Sums{Orders: 1}},
		"a day ago": {facts: []rpc.Fact{accept(start, erin)}, after: day, allTime: Sums{Orders: 1},
			week: Sums{Orders: 1}},
		"nearly 7 days ago": {facts: []rpc.Fact{accept(start, erin)}, after: 7*day - hour, allTime: Sums{Orders: 1},
			week: Sums{Orders: 1}},
		"7 days ago": {facts: []rpc.Fact{accept(start, erin)}, after: 7 * day, allTime: Sums{Orders: 1}},
	} {
		t.Run(name, func(t *testing.T) {
			got := reputationOf(ReputationConfig{}, c.facts...).Standing(start.Add(c.after), erin)
			got.High = false // see TestHigh
			if want := (Standing{AllTime: c.allTime, Week: c.week, Day: c.day}); got != want {
				t.Errorf("stands\n  %+v, want\n  %+v", got, want)
			}
		})
	}
}

func TestStats(t *testing.T) {
	v := reputationOf(ReputationConfig{HighWeiPerGas: 1},
		accept(start, erin), call(start, erin, 5), end(start, 1, erin, rpc.Failed, 0), end(start.Add(48*time.Hour),
			2, erin, rpc.Landed, 7))
	s := v.Stats(start.Add(48*time.Hour), erin)
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
	if unknown := v.Stats(start, frank); unknown.High || unknown.AllTime.ValueWei == nil {
		t.Errorf("somebody unknown is %+v, want zeros, and no nil", unknown)
	}
}

func TestHigh(t *testing.T) {
	pays, fails := end(start, 1, erin, rpc.Landed, 1000), simulate(start, erin, 0, false)
	for name, c := range map[string]struct {
		facts []rpc.Fact
		want  bool
	}{
		"has done nothing": {nil, false},
		"has paid nothing": {[]rpc.Fact{accept(start, erin), simulate(start, erin, 0, true)}, false},
		"pays":             {[]rpc.Fact{pays}, true},
		"pays exactly enough": {[]rpc.Fact{pays, simulate(start, erin, 90, true), call(start, erin, 10)},
			true},
		"pays too little for its gas": {[]rpc.Fact{pays, simulate(start, erin, 90, true), call(start, erin, 11)},
			false},
		"half of its simulations fail":  {[]rpc.Fact{pays, fails, simulate(start, erin, 0, true)}, true},
		"two of three simulations fail": {[]rpc.Fact{pays, fails, fails, simulate(start, erin, 0, true)}, false},
		"its payment was taken back":    {[]rpc.Fact{pays, comeBack(start, 1, erin)}, false},
		"its payment is 7 days ago":     {[]rpc.Fact{pays, accept(start.Add(7*24*time.Hour), frank)}, false},
		"its payment is nearly so":      {[]rpc.Fact{pays, accept(start.Add(7*24*time.Hour-time.Hour), frank)}, true},
		"somebody else's orders pay":    {[]rpc.Fact{end(start, 1, frank, rpc.Landed, 1000)}, false},
		"a late fact does not turn back": {[]rpc.Fact{pays, accept(start.Add(7*24*time.Hour), frank), accept(start, frank)},
			false},
	} {
		t.Run(name, func(t *testing.T) {
			v := reputationOf(ReputationConfig{HighWeiPerGas: 10, HighFailedPercent: 50}, c.facts...)
			if got := v.High(erin); got != c.want || v.Standing(start, erin).High != got {
				t.Errorf("High is %v, want %v, and the same in its standing", got, c.want)
			}
		})
	}
}

func TestForgetting(t *testing.T) {
	known := func(v *Reputation, signer common.Address) bool { return v.Standing(start, signer) != Standing{} }
	v := reputationOf(ReputationConfig{Signers: 2}, end(start, 1, erin, rpc.Landed, 7), accept(start, frank))
	for i := range byte(10) {
		v.Apply(accept(start, common.Address{1, i}))
	}
	if !known(v, erin) || known(v, frank) || !known(v, common.Address{1, 9}) || v.hours != 3 {
		t.Errorf("want alice, who has paid, and the two newest of the others; %d hours are remembered", v.hours)
	}
	v.Apply(accept(start, common.Address{1, 8})) // the older of the two is the newer one now
	v.Apply(accept(start, frank))
	if !known(v, common.Address{1, 8}) || known(v, common.Address{1, 9}) {
		t.Error("want that who was used last is kept")
	}
	v.Apply(end(start, 2, frank, rpc.Landed, 1))
	v.Apply(end(start, 3, common.Address{1, 8}, rpc.Landed, 1))
	if known(v, erin) || !known(v, frank) || v.newcomers.Len() != 0 {
		t.Error("want bob and one more among those who have paid, no newcomer, and alice, who paid first, forgotten")
	}
	v.Apply(accept(start, erin))
	v.Apply(comeBack(start, 1, erin)) // what it paid was forgotten with it
	if got := v.Standing(start, erin).AllTime; got != (Sums{Orders: 1}) {
		t.Errorf("alice, who came back, stands %+v, want one order", got)
	}
}
