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
	alice = common.Address{0xaa}
	bob   = common.Address{0xbb}
	noon  = time.Date(2026, 1, 10, 12, 0, 0, 0, time.UTC)
)

func landed(at time.Time, signer common.Address, wei uint64) rpc.Fact {
	return rpc.OrderEnded{At: at, OrderRef: rpc.OrderRef{Signer: signer}, State: rpc.Landed, ValueWei: uint256.NewInt(wei)}
}

func simulated(at time.Time, signer common.Address, gas uint64, success bool) rpc.Fact {
	return rpc.OrderSimulated{At: at, OrderRef: rpc.OrderRef{Signer: signer}, Simulation: rpc.Simulation{Success: success, GasUsed: gas}}
}

// Sums are of all time, of 7 days and of a day; a signer that nobody knows has done nothing.
func TestStats(t *testing.T) {
	b := New()
	for _, fact := range []rpc.Fact{
		rpc.OrderAccepted{At: noon, Order: &rpc.Order{Signer: alice}},
		landed(noon.Add(-8*24*time.Hour), alice, 1000), simulated(noon.Add(-8*24*time.Hour), alice, 10, true),
		landed(noon.Add(-3*24*time.Hour), alice, 200), rpc.CallSimulated{At: noon.Add(-3 * 24 * time.Hour), Signer: alice, GasUsed: 20},
		landed(noon.Add(-time.Hour), alice, 30), simulated(noon, alice, 30, false),
		rpc.OrderEnded{At: noon, OrderRef: rpc.OrderRef{Signer: alice}, State: rpc.Landed}, // its payment is not known
		rpc.OrderEnded{At: noon, OrderRef: rpc.OrderRef{Signer: alice}, State: rpc.Expired, ValueWei: uint256.NewInt(9)},
		landed(noon, bob, 7),
	} {
		b.Apply(fact)
	}
	got := b.Stats(noon, alice)
	for name, row := range map[string]struct {
		got  rpc.UserSums
		wei  uint64
		used uint64
	}{"all time": {got.AllTime, 1230, 60}, "7 days": {got.Week, 230, 50}, "a day": {got.Day, 30, 30}} {
		if row.got.ValueWei.Uint64() != row.wei || row.got.GasSimulated != row.used {
			t.Errorf("%s: %s wei, gas %d; want %d, %d", name, row.got.ValueWei.Dec(), row.got.GasSimulated, row.wei, row.used)
		}
	}
	if got.Orders != 1 || got.FailedSimulations != 1 {
		t.Errorf("%d orders, %d failed", got.Orders, got.FailedSimulations)
	}
	if stranger := b.Stats(noon, common.Address{1}); stranger.High || !stranger.AllTime.ValueWei.IsZero() {
		t.Errorf("a stranger has %+v", stranger)
	}
}

// Who pays enough for the work it makes comes first, and who only has itself simulated does not.
func TestHigh(t *testing.T) {
	b := New()
	b.Apply(simulated(noon, alice, 1000, true))
	if b.High(alice) {
		t.Error("high without having paid")
	}
	b.Apply(landed(noon, alice, 1000*highWeiPerGas))
	if !b.High(alice) || !b.Stats(noon, alice).High {
		t.Error("not high although it paid enough")
	}
	b.Apply(simulated(noon, alice, 1, true))
	if b.High(alice) || b.High(bob) {
		t.Error("high although it paid too little")
	}
	b.Apply(landed(noon.Add(200*time.Hour), alice, 1))
	if !b.High(alice) {
		t.Error("work of more than 7 days ago still counts")
	}
}

// However many signers there are, the newest ones are remembered, and all-time sums are the sums of what happened.
func TestBookIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := New()
		b.limit = 5
		want := map[common.Address]uint64{}
		var order []common.Address
		for range rapid.IntRange(1, 40).Draw(t, "facts") {
			signer := common.Address{rapid.Byte().Draw(t, "signer") % 8}
			if _, known := b.signers[signer]; !known {
				want[signer] = 0 // it was forgotten
			}
			gas := rapid.Uint64Range(0, 100).Draw(t, "gas")
			b.Apply(simulated(noon, signer, gas, true))
			want[signer] += gas
			order = append(order, signer)
		}
		if len(b.signers) > 5 || b.recent.Len() != len(b.signers) {
			t.Fatalf("%d signers", len(b.signers))
		}
		newest := order[len(order)-1]
		if got := b.Stats(noon, newest).AllTime.GasSimulated; got != want[newest] {
			t.Fatalf("gas %d, want %d", got, want[newest])
		}
	})
}
