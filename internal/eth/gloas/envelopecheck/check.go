// Package envelopecheck holds the rules by which the payload that a builder reveals is the one that
// its bid was for (consensus-specs, specs/gloas/beacon-chain.md,
// verify_execution_payload_envelope), one file each, in one ordered table. All are pure: what they
// need to know is in the Case.
//
//	signature ─ block ─ parent block ─ builder ─ randao ─ gas limit ─ block hash ─ requests ─ slot ─ parent hash
//	          ─ timestamp ─ withdrawals
//
// Whether the payload has the hash that it names, the blobs of the bid, and a right access list is
// found by executing it.
package envelopecheck

import (
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Case is an envelope with all that the rules compare it with.
type Case struct {
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

// Rule is a row of the table. Do returns what is wrong with an envelope; an empty text for one that
// keeps the rule.
type Rule struct {
	Name string
	Do   func(*Case) string
}

// Table has the rules in the order of the specification.
var Table = []Rule{
	{"signature", Signature},
	{"block", Block},
	{"parent block", ParentBlock},
	{"builder", Builder},
	{"randao", PrevRandao},
	{"gas limit", GasLimit},
	{"block hash", BlockHash},
	{"requests", Requests},
	{"slot", Slot},
	{"parent hash", ParentHash},
	{"timestamp", Timestamp},
	{"withdrawals", Withdrawals},
}

// BrokenError says which rule an envelope breaks, and how.
type BrokenError struct{ Rule, Detail string }

func (e *BrokenError) Error() string { return fmt.Sprintf("envelope: %s: %s", e.Rule, e.Detail) }

// Check applies all rules in order and returns a BrokenError of the first that is broken.
func Check(c *Case) error {
	for _, rule := range Table {
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
