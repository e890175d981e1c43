package bid

import (
	"math"
	"math/big"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// A share of the bid is its value, as far as the stake covers it; the cap is on the rest alone.
func TestShareOfABid(t *testing.T) {
	limit := func(gwei phase0.Gwei) *phase0.Gwei { return &gwei }
	for name, row := range map[string]struct {
		stake         Stake
		limit         *phase0.Gwei
		pays          uint64
		value, within phase0.Gwei
		why           Reason
	}{
		"no share":                     {Stake{Most: 1000}, nil, 50, 0, 50, ""},
		"a tenth":                      {Stake{10, 1000}, nil, 50, 5, 45, ""},
		"a tenth in whole Gwei":        {Stake{10, 1000}, nil, 59, 5, 54, ""},
		"all of it":                    {Stake{100, 1000}, nil, 50, 50, 0, ""},
		"more than the stake covers":   {Stake{50, 7}, nil, 50, 7, 43, ""},
		"nothing is left of the stake": {Stake{50, 0}, nil, 50, 0, 50, ""},
		"the cap is on the rest":       {Stake{50, 1000}, limit(25), 50, 25, 25, ""},
		"the rest is above the cap":    {Stake{50, 1000}, limit(24), 50, 0, 0, AboveCap},
		"only the value counts":        {Stake{100, 1000}, limit(0), 50, 50, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			asked := terms()
			asked.Stake, asked.Cap = row.stake, row.limit
			got, _, why := Make(asked, []*Offer{paying(row.pays)})
			if why != row.why {
				t.Fatalf("%q, want %q", why, row.why)
			}
			if got != nil && (got.Value != row.value || got.ExecutionPayment != row.within) {
				t.Errorf("%d and %d, want %d and %d", got.Value, got.ExecutionPayment, row.value, row.within)
			}
		})
	}
}

// Whatever the share: the value is the exact share, rounded down, or what the stake covers, and
// value and payment are together what the block pays.
func TestShareIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := Stake{rapid.Uint64Range(0, 100).Draw(t, "percent"), phase0.Gwei(rapid.Uint64().Draw(t, "most"))}
		total := rapid.Uint64().Draw(t, "total")
		exact := new(big.Int).Mul(new(big.Int).SetUint64(total), new(big.Int).SetUint64(s.SharePercent))
		want := min(exact.Div(exact, big.NewInt(100)).Uint64(), uint64(s.Most))
		got := s.value(phase0.Gwei(total))
		if uint64(got) != want {
			t.Fatalf("%d of %d, want %d", got, total, want)
		}
		promised := WorthWei(&gloas.ExecutionPayloadBid{Value: got, ExecutionPayment: phase0.Gwei(total) - got})
		inWei := new(big.Int).Mul(new(big.Int).SetUint64(total), big.NewInt(1_000_000_000))
		if promised.ToBig().Cmp(inWei) != 0 {
			t.Fatalf("%s wei promised, want %s", promised.Dec(), inWei)
		}
	})
}

// The gossip rule holds in the worst case: each slot of four epochs owes the highest value.
func TestStakeLasts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		slots := rapid.Uint64Range(1, 64).Draw(t, "slots per epoch")
		balance := rapid.Uint64Range(0, math.MaxUint64).Draw(t, "balance")
		most := uint64(Covered(phase0.Gwei(balance), slots))
		if most == 0 {
			return
		}
		if owed := most * 4 * slots; owed/(4*slots) != most || balance < gloas.MinDeposit || balance-gloas.MinDeposit < owed {
			t.Fatalf("a balance of %d does not cover %d slots of %d", balance, 4*slots, most)
		}
	})
	if got := Covered(129_000_000_000, 32); got != 1_000_000_000 {
		t.Errorf("129 ETH cover %d Gwei a slot, want one ETH", got)
	}
	if got := Covered(1_000_000_000, 32); got != 0 {
		t.Errorf("the deposit alone covers %d", got)
	}
}
