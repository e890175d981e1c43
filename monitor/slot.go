package monitor

import (
	"fmt"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
)

// PastSlot is a slot that is over, with what one relay did in it.
type PastSlot struct {
	Slot phase0.Slot
	// Landed is the hash of the slot's block on the chain; zero when there is none.
	Landed phase0.Hash32
	// Served are the headers that the relay served, by block hash with their value.
	Served map[phase0.Hash32]*uint256.Int
	// Best: no other relay served a header of a higher value, so the proposer most likely signed
	// one of this relay.
	Best bool
	// Listed is what the relay lists as delivered in the slot. ListErr says that the relay did not
	// answer; it is nil for a refusal.
	Listed  []Delivered
	ListErr error
	// ListedByAny: some relay lists the slot's block as delivered.
	ListedByAny bool
}

// Delivered is an item of a relay's list.
type Delivered struct {
	BlockHash phase0.Hash32
	ValueWei  *uint256.Int
}

// JudgeSlot returns the contradictions between what a relay served, what it lists, and the chain.
func JudgeSlot(over PastSlot) []Finding {
	var found findings
	if over.ListErr != nil {
		found.add(Unavailable, "list of delivered payloads: %v", over.ListErr)
	}
	for _, one := range over.Listed {
		if one.BlockHash != over.Landed {
			found.add(ListedUnlanded, "%#x is listed as delivered, the chain has %s", one.BlockHash[:], word(over.Landed))
		}
		if served := over.Served[one.BlockHash]; served != nil && one.ValueWei.Lt(served) {
			found.add(Value, "%#x was served for %s wei and is listed for %s", one.BlockHash[:], served.Dec(),
				one.ValueWei.Dec())
		}
	}
	switch {
	case len(over.Served) == 0:
	case over.Landed == (phase0.Hash32{}):
		if !over.Best {
			break
		}
		found.add(Withheld, "%d headers were served, and the slot has no block", len(over.Served))
	case over.ListErr == nil && over.Served[over.Landed] != nil && !over.ListedByAny:
		found.add(Unlisted, "%#x was served and is on the chain, and nobody lists it as delivered", over.Landed[:])
	}
	return found.in(over.Slot)
}

func word(hash phase0.Hash32) string {
	if hash == (phase0.Hash32{}) {
		return "no block"
	}
	return fmt.Sprintf("%#x", hash[:])
}

// ShownRegistration is what a relay shows of a proposer's registration.
type ShownRegistration struct {
	Slot     phase0.Slot
	Proposer phase0.BLSPubKey
	// Registration is nil if the relay answers that it has none.
	Registration *builderv1.SignedValidatorRegistration
	Err          error // there was no answer
	// Serves: the relay has served a header for the proposer.
	Serves bool
}

// JudgeRegistration returns the faults of a registration that a relay shows, or that it does not
// show although it serves headers for the proposer.
func JudgeRegistration(network *eth.Spec, shown ShownRegistration) []Finding {
	var found findings
	registration := shown.Registration
	switch {
	case shown.Err != nil:
		found.add(Unavailable, "registration: %v", shown.Err)
	case registration == nil || registration.Message == nil:
		if shown.Serves {
			found.add(Registrations, "headers are served for %#x, whose registration is not shown", shown.Proposer[:])
		}
	case registration.Message.Pubkey != shown.Proposer:
		found.add(Registrations, "asked for %#x, shown %#x", shown.Proposer[:], registration.Message.Pubkey[:])
	default:
		root, err := registration.Message.HashTreeRoot()
		if err != nil || bls.Verify(shown.Proposer, eth.SigningRoot(root, network.BuilderDomain()),
			registration.Signature) != nil {
			found.add(Registrations, "the registration of %#x has a wrong signature", shown.Proposer[:])
		}
	}
	return found.in(shown.Slot)
}
