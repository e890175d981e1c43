package epbs

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// infinity is the signature of a bid of a proposer that builds its own payload.
var infinity = phase0.BLSSignature{0xc0}

// bid applies the block's bid (consensus-specs, process_execution_payload_bid). Fee recipient and
// gas limit are the proposer's affair.
func (s *State) bid(r *Rules, b *Block) error {
	bid := b.Bid.Message
	if err := s.checkBidder(r, b); err != nil {
		return err
	}
	switch {
	case bid.CheckLimits(r.Spec.MaxBlobs(b.Slot)) != nil:
		return broken("bid blobs", "%v", bid.CheckLimits(r.Spec.MaxBlobs(b.Slot)))
	case bid.Slot != b.Slot:
		return broken("bid slot", "slot %d in a block of slot %d", bid.Slot, b.Slot)
	case bid.ParentBlockHash != s.LatestBlockHash:
		return broken("bid parent hash", "%#x, the newest payload is %#x", bid.ParentBlockHash, s.LatestBlockHash)
	case bid.BlockHash == bid.ParentBlockHash:
		return broken("bid block hash", "%#x is its own parent", bid.BlockHash)
	case bid.ParentBlockRoot != b.ParentRoot:
		return broken("bid parent root", "%#x in a block on %#x", bid.ParentBlockRoot, b.ParentRoot)
	case bid.PrevRandao != b.PrevRandao:
		return broken("bid randao", "%#x, expected %#x", bid.PrevRandao, b.PrevRandao)
	}
	if bid.Value > 0 {
		at, _ := s.paymentOf(r, b.Slot)
		s.PendingPayments[at] = gloas.BuilderPendingPayment{
			ProposerIndex: b.Proposer, Withdrawal: &gloas.BuilderPendingWithdrawal{
				FeeRecipient: bid.FeeRecipient, Amount: bid.Value, BuilderIndex: bid.BuilderIndex,
			},
		}
	}
	s.LatestBid = *bid
	return nil
}

// checkBidder requires a builder that may bid, can pay, and has signed; or a proposer that builds
// its own payload and pays nothing.
func (s *State) checkBidder(r *Rules, b *Block) error {
	bid, index := b.Bid.Message, b.Bid.Message.BuilderIndex
	if index == gloas.SelfBuild {
		if bid.Value != 0 || b.Bid.Signature != infinity {
			return broken("self-build", "value %d and signature %#x", bid.Value, b.Bid.Signature[:4])
		}
		return nil
	}
	switch {
	case uint64(index) >= uint64(len(s.Builders)):
		return broken("bid builder", "there is no builder %d", index)
	case !s.Active(index, b.FinalEpoch):
		return broken("bid builder", "builder %d is not active", index)
	case bid.Value > s.Free(index):
		return broken("bid value", "%d, builder %d can pay %d", bid.Value, index, s.Free(index))
	}
	root, err := gloas.Mainnet.ExecutionPayloadBid.Root(bid)
	if err != nil {
		return broken("bid signature", "%v", err)
	}
	domain := gloas.BuilderDomain(r.Spec, bid.Slot)
	if err := bls.Verify(s.Builders[index].Pubkey, eth.SigningRoot(root, domain), b.Bid.Signature); err != nil {
		return broken("bid signature", "%v", err)
	}
	return nil
}

// Active says whether a builder may bid: its deposit is final, it does not leave, and its version
// counts.
func (s *State) Active(index gloas.BuilderIndex, final phase0.Epoch) bool {
	b := s.Builders[index]
	return b.Version == gloas.PayloadBuilderVersion && b.DepositEpoch < final && b.WithdrawableEpoch == gloas.FarFuture
}

// Owed is what a builder still has to pay: what is owed, and what its bids have promised.
func (s *State) Owed(index gloas.BuilderIndex) (owed phase0.Gwei) {
	for _, w := range s.PendingWithdrawals {
		if w.BuilderIndex == index {
			owed += w.Amount
		}
	}
	for _, p := range s.PendingPayments {
		if p.Withdrawal != nil && p.Withdrawal.BuilderIndex == index {
			owed += p.Withdrawal.Amount
		}
	}
	return owed
}

// Free is the highest value that a builder's next bid can have.
func (s *State) Free(index gloas.BuilderIndex) phase0.Gwei {
	balance, kept := s.Builders[index].Balance, s.Owed(index)+gloas.MinDeposit
	return balance - min(balance, kept)
}
