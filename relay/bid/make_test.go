package bid

import (
	"testing"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

const gasLimit = 60_000_000

func terms() *Terms {
	return &Terms{
		Slot: 7, ParentRoot: phase0.Root{1}, ParentHash: phase0.Hash32{2}, PrevRandao: phase0.Root{3},
		Builder: 5, Active: true, MaxBlobs: 2,
		Preferences: []*gloas.ProposerPreferences{{FeeRecipient: bellatrix.ExecutionAddress{4}, TargetGasLimit: gasLimit}},
	}
}

// paying is an offer that keeps these terms and pays an amount in Gwei, and a wei less than one
// more.
func paying(gwei uint64) *Offer {
	paid := eth.WeiOf(phase0.Gwei(gwei))
	return &Offer{
		ParentRoot: phase0.Root{1}, ParentHash: phase0.Hash32{2}, BlockHash: phase0.Hash32{byte(gwei), 0xbb},
		PrevRandao: phase0.Root{3}, GasLimit: gasLimit, TargetGasLimit: gasLimit, PaidWei: paid.AddUint64(paid, 999_999_999),
		FeeRecipient: bellatrix.ExecutionAddress{4}, Commitments: make([]deneb.KZGCommitment, 2),
		RequestsRoot: phase0.Root{6},
	}
}

func with(o *Offer, change func(*Offer)) *Offer {
	change(o)
	return o
}

// A bid is for the best offer that keeps the proposer's terms; the reason why there is none is that
// of the best offer.
func TestMake(t *testing.T) {
	limit := func(gwei phase0.Gwei) func(*Terms) { return func(t *Terms) { t.Cap = &gwei } }
	asIs := func(*Terms) {}
	for name, row := range map[string]struct {
		change func(*Terms)
		offers []*Offer
		pays   phase0.Gwei
		why    Reason
	}{
		"the best":               {asIs, []*Offer{paying(9), paying(8)}, 9, ""},
		"none":                   {asIs, nil, 0, NoOffer},
		"for the EMPTY parent":   {asIs, []*Offer{with(paying(9), func(o *Offer) { o.ParentHash[0]++ })}, 0, NoOffer},
		"for another block":      {asIs, []*Offer{with(paying(9), func(o *Offer) { o.ParentRoot[0]++ }), paying(1)}, 1, ""},
		"as much as the cap":     {limit(9), []*Offer{paying(9)}, 9, ""},
		"the best below the cap": {limit(8), []*Offer{paying(9), paying(8), paying(7)}, 8, ""},
		"all above the cap":      {limit(0), []*Offer{paying(9), paying(8)}, 0, AboveCap},
		"another fee recipient":  {asIs, []*Offer{with(paying(9), func(o *Offer) { o.FeeRecipient[0]++ })}, 0, OtherTerms},
		"for another gas limit":  {asIs, []*Offer{with(paying(9), func(o *Offer) { o.TargetGasLimit-- })}, 0, OtherTerms},
		"another RANDAO mix":     {asIs, []*Offer{with(paying(9), func(o *Offer) { o.PrevRandao[0]++ })}, 0, OtherTerms},
		"three blobs":            {func(t *Terms) { t.MaxBlobs = 1 }, []*Offer{paying(9)}, 0, TooManyBlobs},
		"its own parent": {asIs, []*Offer{with(paying(9), func(o *Offer) {
			o.BlockHash = o.ParentHash
		})}, 0, OwnParent},
		"less than a Gwei": {asIs, []*Offer{paying(0)}, 0, NoPayment},
		"2^64 Gwei": {asIs, []*Offer{with(paying(9), func(o *Offer) {
			o.PaidWei.Lsh(o.PaidWei, 70)
		})}, 0, Immense},
		"no preferences":          {func(t *Terms) { t.Preferences = nil }, []*Offer{paying(9)}, 0, NoPreferences},
		"a builder without stake": {func(t *Terms) { t.Active = false }, []*Offer{paying(9)}, 0, Inactive},
		"no index":                {func(t *Terms) { t.Builder = gloas.SelfBuild }, []*Offer{paying(9)}, 0, Inactive},
		"preferences of two branches that agree": {func(t *Terms) {
			t.Preferences = append(t.Preferences, t.Preferences[0])
		}, []*Offer{paying(9)}, 9, ""},
		"preferences that contradict each other": {func(t *Terms) {
			other := *t.Preferences[0]
			other.FeeRecipient[0]++
			t.Preferences = append(t.Preferences, &other)
		}, []*Offer{paying(9)}, 0, Contradiction},
	} {
		t.Run(name, func(t *testing.T) {
			asked := terms()
			row.change(asked)
			got, offer, why := Make(asked, row.offers)
			if why != row.why || (why == "") != (got != nil && offer != nil) {
				t.Fatalf("%+v, %q; want %q", got, why, row.why)
			}
			if got != nil && (got.ExecutionPayment != row.pays || got.BlockHash != offer.BlockHash || got.Slot != 7 ||
				got.BuilderIndex != 5 || got.ExecutionRequestsRoot != offer.RequestsRoot || len(got.BlobKZGCommitments) != 2) {
				t.Errorf("%+v, want one that pays %d", got, row.pays)
			}
		})
	}
}

// Whatever blocks pay, and whatever the cap: a bid promises no wei more than its block pays and no
// Gwei more than the cap, pays nothing from the stake, and no offer that keeps the cap pays a Gwei
// more.
func TestBidNeverPromisesMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asked := terms()
		most := phase0.Gwei(rapid.Uint64Range(0, 40).Draw(t, "cap"))
		asked.Cap = &most
		var offers []*Offer
		for gwei := uint64(rapid.IntRange(30, 50).Draw(t, "best")); gwei > 0 && len(offers) < 6; {
			offers = append(offers, paying(gwei))
			gwei -= min(gwei, rapid.Uint64Range(0, 20).Draw(t, "less"))
		}
		got, offer, why := Make(asked, offers)
		for _, o := range offers {
			paid, _ := eth.WholeGwei(o.PaidWei)
			if paid <= most && (why != "" || paid > got.ExecutionPayment) {
				t.Fatalf("%+v, %q; an offer pays %d", got, why, paid)
			}
		}
		if why != "" {
			return
		}
		promised := eth.WeiOf(got.ExecutionPayment)
		if promised.Gt(offer.PaidWei) || got.ExecutionPayment > most || got.Value != 0 {
			t.Fatalf("%+v for a block that pays %s wei, the cap is %d", got, offer.PaidWei.Dec(), most)
		}
	})
}
