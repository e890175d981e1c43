package check

import (
	"fmt"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// EnvelopeCase is an envelope with all that the rules compare it with.
type EnvelopeCase struct {
	Spec     *eth.Spec
	Envelope *gloas.SignedExecutionPayloadEnvelope
	// Bid is the one in the beacon block with the root BlockRoot, whose parent is ParentRoot. The
	// block has been verified, so that the bid has its slot and is on its parent.
	Bid                   *gloas.ExecutionPayloadBid
	BlockRoot, ParentRoot phase0.Root
	// Signer is the builder of the bid; the proposer of the block if it has built the payload itself.
	Signer phase0.BLSPubKey
	// Withdrawals are those that the state of the block expects.
	Withdrawals []*capella.Withdrawal
}

// EnvelopeRule is a row of the table. Do returns what is wrong with an envelope; an empty text for
// one that keeps the rule.
type EnvelopeRule struct {
	Name string
	Do   func(*EnvelopeCase) string
}

// EnvelopeRules has the rules in the order of the specification.
var EnvelopeRules = []EnvelopeRule{
	{"signature", (*EnvelopeCase).signature},
	{"block", (*EnvelopeCase).block},
	{"parent block", (*EnvelopeCase).parentBlock},
	{"builder", (*EnvelopeCase).builder},
	{"randao", (*EnvelopeCase).prevRandao},
	{"gas limit", (*EnvelopeCase).gasLimit},
	{"block hash", (*EnvelopeCase).blockHash},
	{"requests", (*EnvelopeCase).requests},
	{"slot", (*EnvelopeCase).slot},
	{"parent hash", (*EnvelopeCase).parentHash},
	{"timestamp", (*EnvelopeCase).timestamp},
	{"withdrawals", (*EnvelopeCase).withdrawals},
}

// ContentsRules are those about a payload and its requests, which are there before a block has the
// bid.
var ContentsRules = slices.DeleteFunc(slices.Clone(EnvelopeRules), func(rule EnvelopeRule) bool {
	return rule.Name == "signature" || rule.Name == "block" || rule.Name == "parent block"
})

// BrokenError says which rule an envelope breaks, and how.
type BrokenError struct{ Rule, Detail string }

func (e *BrokenError) Error() string { return fmt.Sprintf("envelope: %s: %s", e.Rule, e.Detail) }

// Check applies all rules in order and returns a BrokenError of the first that is broken.
func (c *EnvelopeCase) Check() error { return c.CheckBy(EnvelopeRules) }

// CheckBy applies some of the rules.
func (c *EnvelopeCase) CheckBy(rules []EnvelopeRule) error {
	for _, rule := range rules {
		if detail := rule.Do(c); detail != "" {
			return &BrokenError{rule.Name, detail}
		}
	}
	return nil
}

// differ says what two values of 32 bytes are, if they differ.
func differ[A ~[32]byte](got, want A) string {
	if got == want {
		return ""
	}
	return fmt.Sprintf("got %#x, expected %#x", [32]byte(got), [32]byte(want))
}

// differIn says what two numbers are, if they differ.
func differIn[N ~uint64](got, want N) string {
	if got == want {
		return ""
	}
	return fmt.Sprintf("got %d, expected %d", uint64(got), uint64(want))
}
