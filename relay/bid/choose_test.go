package bid

import (
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// signedBid is a bid of a staked builder that keeps the terms of terms, without its payload.
func signedBid(value phase0.Gwei) *Signed {
	return &Signed{SignedExecutionPayloadBid: &gloas.SignedExecutionPayloadBid{Message: &gloas.ExecutionPayloadBid{
		Slot: 7, ParentBlockRoot: phase0.Root{1}, ParentBlockHash: phase0.Hash32{2},
		BlockHash:  phase0.Hash32{0xbb, byte(value)},
		PrevRandao: phase0.Root{3}, FeeRecipient: bellatrix.ExecutionAddress{4}, BuilderIndex: 9, Value: value,
		GasLimit: gasLimit,
	}}}
}

// promising is a bid with its payload, which pays within it besides.
func promising(value, payment phase0.Gwei) *Signed {
	s := signedBid(value)
	s.Message.ExecutionPayment, s.PayloadRoot = payment, phase0.Root{5}
	return s
}

func changed(s *Signed, change func(*Signed)) *Signed {
	change(s)
	return s
}

// Which bid a proposer is served: the own one, which pays ten Gwei within the payload, or one of
// those that builders have signed.
func TestChoose(t *testing.T) {
	own := &gloas.ExecutionPayloadBid{ExecutionPayment: 10}
	limit := func(gwei phase0.Gwei) func(*Terms) { return func(t *Terms) { t.Cap = &gwei } }
	asIs := func(*Terms) {}
	for name, row := range map[string]struct {
		change func(*Terms)
		own    *gloas.ExecutionPayloadBid
		signed []*Signed
		best   int // in signed; -1 for the own one
	}{
		"none is signed":                 {asIs, own, nil, -1},
		"more value":                     {asIs, own, []*Signed{signedBid(11)}, 0},
		"as much":                        {asIs, own, []*Signed{signedBid(10)}, -1},
		"less":                           {asIs, own, []*Signed{signedBid(9)}, -1},
		"no own one":                     {asIs, nil, []*Signed{signedBid(1)}, 0},
		"the best of three":              {asIs, own, []*Signed{signedBid(11), signedBid(13), signedBid(12)}, 1},
		"value and payment together":     {asIs, own, []*Signed{promising(5, 6), signedBid(10)}, 0},
		"a payment at the cap":           {limit(6), own, []*Signed{promising(5, 6)}, 0},
		"a payment above the cap":        {limit(5), own, []*Signed{promising(50, 6)}, -1},
		"value has no cap":               {limit(0), nil, []*Signed{signedBid(50)}, 0},
		"the relay's builder is not one": {func(t *Terms) { t.Active = false }, nil, []*Signed{signedBid(1)}, 0},
		"a bare promise": {asIs, own, []*Signed{changed(promising(5, 60), func(s *Signed) {
			s.PayloadRoot = phase0.Root{}
		})}, -1},
		"with its payload, if as much": {asIs, own, []*Signed{signedBid(11), promising(11, 0)}, 1},
		"the first, if as much": {asIs, own, []*Signed{
			changed(signedBid(11), func(s *Signed) { s.ReceivedAt = time.Unix(9, 0) }),
			changed(signedBid(11), func(s *Signed) { s.ReceivedAt = time.Unix(8, 0) }),
		}, 1},
		"on the EMPTY parent": {asIs, nil, []*Signed{changed(signedBid(9), func(s *Signed) {
			s.Message.ParentBlockHash[0]++
		})}, -1},
		"on another block": {asIs, nil, []*Signed{changed(signedBid(9), func(s *Signed) {
			s.Message.ParentBlockRoot[0]++
		})}, -1},
		"for another slot": {asIs, nil, []*Signed{changed(signedBid(9), func(s *Signed) { s.Message.Slot++ })}, -1},
		"another RANDAO mix": {asIs, nil, []*Signed{changed(signedBid(9), func(s *Signed) {
			s.Message.PrevRandao[0]++
		})}, -1},
		"another fee address": {asIs, nil, []*Signed{changed(signedBid(9), func(s *Signed) {
			s.Message.FeeRecipient[0]++
		})}, -1},
		"its own parent": {asIs, nil, []*Signed{changed(signedBid(9), func(s *Signed) {
			s.Message.BlockHash = s.Message.ParentBlockHash
		})}, -1},
		"too many blobs": {asIs, nil, []*Signed{changed(signedBid(9), func(s *Signed) {
			s.Message.BlobKZGCommitments = make([]deneb.KZGCommitment, 3)
		})}, -1},
		"nothing":        {asIs, nil, []*Signed{signedBid(0)}, -1},
		"2^64 Gwei":      {asIs, nil, []*Signed{promising(1<<63, 1<<63)}, -1},
		"no preferences": {func(t *Terms) { t.Preferences = nil }, nil, []*Signed{signedBid(9)}, -1},
		"two preferences": {func(t *Terms) {
			other := *t.Preferences[0]
			other.TargetGasLimit++
			t.Preferences = append(t.Preferences, &other)
		}, nil, []*Signed{signedBid(9)}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			asked := terms()
			row.change(asked)
			var want *Signed
			if row.best >= 0 {
				want = row.signed[row.best]
			}
			if got := Choose(asked, row.own, row.signed); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

// Whatever is offered: what is served is worth more than the own bid, pays no more within the
// payload than the cap, and nothing that may be served is worth more. The order does not matter.
func TestChosenBidIsTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		asked, gwei := terms(), func(name string) phase0.Gwei { return phase0.Gwei(rapid.Uint64Range(0, 20).Draw(t, name)) }
		most := gwei("cap")
		asked.Cap = &most
		own := &gloas.ExecutionPayloadBid{ExecutionPayment: min(gwei("own"), most)}
		var signed []*Signed
		for i := range rapid.IntRange(0, 6).Draw(t, "bids") {
			s := promising(gwei("value"), gwei("payment"))
			if rapid.Bool().Draw(t, "alone") {
				s.PayloadRoot = phase0.Root{}
			}
			s.ReceivedAt = time.Unix(int64(i), 0)
			signed = append(signed, s)
		}
		got := Choose(asked, own, signed)
		if again := Choose(asked, own, rapid.Permutation(signed).Draw(t, "order")); again != got {
			t.Fatalf("in another order %+v", again)
		}
		best := WorthWei(own)
		if got != nil {
			if m := got.Message; !WorthWei(m).Gt(best) || m.ExecutionPayment > most ||
				m.ExecutionPayment > 0 && !got.HasPayload() {
				t.Fatalf("%+v, the cap is %d", m, most)
			}
			best = WorthWei(got.Message)
		}
		for _, s := range signed {
			m := s.Message
			if m.ExecutionPayment <= most && (s.HasPayload() || m.ExecutionPayment == 0) && WorthWei(m).Gt(best) {
				t.Fatalf("%+v is worth more than what is served", m)
			}
		}
	})
}

// A builder can only raise its bid, and add the payload to it.
func TestReplaces(t *testing.T) {
	for name, row := range map[string]struct {
		next, before *Signed
		why          Reason
	}{
		"more":                     {signedBid(6), signedBid(5), ""},
		"as much":                  {signedBid(5), signedBid(5), Lower},
		"less":                     {signedBid(4), signedBid(5), Lower},
		"more within the payload":  {promising(0, 6), signedBid(5), ""},
		"now with its payload":     {promising(5, 0), signedBid(5), ""},
		"now without its payload":  {signedBid(5), promising(5, 0), Lower},
		"another with its payload": {changed(promising(5, 0), func(s *Signed) { s.Signature[0]++ }), signedBid(5), Lower},
	} {
		if why := Replaces(row.next, row.before); why != row.why {
			t.Errorf("%s: %q, want %q", name, why, row.why)
		}
	}
}
