package deliver

import (
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
)

// checkProposer requires the slot's proposer (REL-PAY-13) and its signature under the fork of the
// slot (REL-PAY-03).
func (d *Deliverer) checkProposer(block *relay.BlindedBlock) *relay.Refused {
	pubkey, known := d.Proposers.Pubkey(block.ProposerIndex)
	if duty := d.Proposers.Duty(block.Slot); duty != nil {
		if duty.Index != block.ProposerIndex {
			return relay.PayloadUnknownProposer.With("got %d, expected %d", block.ProposerIndex, duty.Index)
		}
		pubkey, known = duty.Proposer, true
	}
	if !known {
		return relay.PayloadUnknownProposer.With("no validator %d", block.ProposerIndex)
	}
	if err := bls.Verify(pubkey, eth.SigningRoot(block.Root, d.Spec.ProposerDomain(block.Slot)),
		block.Signature); err != nil {
		return relay.PayloadSignature.With("%v", err)
	}
	return nil
}
