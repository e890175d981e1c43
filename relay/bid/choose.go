package bid

import (
	"math/bits"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Signed is a bid that a staked builder has signed itself. The relay has checked it, and serves it
// as it is. It is immutable.
type Signed struct {
	*gloas.SignedExecutionPayloadBid
	// Builder is the key of the bid's builder.
	Builder phase0.BLSPubKey
	// PayloadRoot is the root of the payload, if the relay has it: then its execution has shown that
	// it pays what the bid promises. It is zero if the builder reveals the payload itself.
	PayloadRoot phase0.Root
	ReceivedAt  time.Time
}

// HasPayload says whether the relay has the payload.
func (s *Signed) HasPayload() bool { return s.PayloadRoot != (phase0.Root{}) }

// Reasons for which no signed bid is chosen, beside those of offers.
const (
	Promise Reason = "promise" // it promises a payment within a payload that the relay has not executed
	Lower   Reason = "lower"   // it is worth no more than the best one
)

// Choose returns the signed bid that is served in place of the relay's own one; nil if the own one
// is, which may be nil too. A bid is worth its value, which the beacon chain pays, and its payment
// within the payload, which the proposer counts up to its cap; a bid above the cap is not served. A
// signed bid must be worth more than the own one, whose payload the relay can reveal in any case.
// Of two that are worth the same, the one whose payload is here is served, and then the one that
// came first.
func Choose(t *Terms, own *gloas.ExecutionPayloadBid, signed []*Signed) *Signed {
	preferences, why := Agreed(t.Preferences)
	if why != "" {
		return nil
	}
	var best *Signed
	for _, s := range signed {
		if t.judge(s, preferences) != "" || own != nil && !isMore(s.Message, own) {
			continue
		}
		if best == nil || isBetter(s, best) {
			best = s
		}
	}
	return best
}

// judge says why a signed bid may not be served; nothing if it may.
func (t *Terms) judge(s *Signed, p *gloas.ProposerPreferences) Reason {
	m := s.Message
	switch {
	case m.Slot != t.Slot || m.ParentBlockRoot != t.ParentRoot || m.ParentBlockHash != t.ParentHash:
		return NoOffer
	case m.FeeRecipient != p.FeeRecipient || m.PrevRandao != t.PrevRandao:
		return OtherTerms
	case m.BlockHash == t.ParentHash:
		return OwnParent
	case uint64(len(m.BlobKZGCommitments)) > t.MaxBlobs:
		return TooManyBlobs
	case !s.HasPayload() && m.ExecutionPayment > 0:
		return Promise
	case t.Cap != nil && m.ExecutionPayment > *t.Cap:
		return AboveCap
	}
	switch worth, isImmense := worth(m); {
	case isImmense:
		return Immense
	case worth == 0:
		return NoPayment
	}
	return ""
}

// Replaces says whether a builder's bid takes the place of the one before it, which is for the same
// slot and parent: if it is worth more, or if it is the same one, now with its payload. So nobody
// can take back what a proposer may have seen.
func Replaces(next, before *Signed) Reason {
	if isMore(next.Message, before.Message) ||
		next.Signature == before.Signature && next.HasPayload() && !before.HasPayload() {
		return ""
	}
	return Lower
}

// WorthWei is what a proposer gets for a bid.
func WorthWei(m *gloas.ExecutionPayloadBid) *uint256.Int {
	value := eth.WeiOf(m.Value)
	return value.Add(value, eth.WeiOf(m.ExecutionPayment))
}

// worth is the same in Gwei. It is true for a sum that no bid can be compared by, since it takes
// more than 64 bits.
func worth(m *gloas.ExecutionPayloadBid) (phase0.Gwei, bool) {
	sum, carry := bits.Add64(uint64(m.Value), uint64(m.ExecutionPayment), 0)
	return phase0.Gwei(sum), carry > 0
}

func isMore(a, b *gloas.ExecutionPayloadBid) bool { return WorthWei(a).Gt(WorthWei(b)) }

// isBetter says whether a goes before b.
func isBetter(a, b *Signed) bool {
	switch order := WorthWei(a.Message).Cmp(WorthWei(b.Message)); {
	case order != 0:
		return order > 0
	case a.HasPayload() != b.HasPayload():
		return a.HasPayload()
	}
	return a.ReceivedAt.Before(b.ReceivedAt)
}

// Agreed returns a proposer's preferences, if those of all branches of the chain say the same.
func Agreed(all []*gloas.ProposerPreferences) (*gloas.ProposerPreferences, Reason) {
	if len(all) == 0 {
		return nil, NoPreferences
	}
	first := all[0]
	for _, p := range all[1:] {
		if p.FeeRecipient != first.FeeRecipient || p.TargetGasLimit != first.TargetGasLimit {
			return nil, Contradiction
		}
	}
	return first, ""
}
