package epbs

import (
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// parentPayload counts the payload of the parent if the block builds on it (consensus-specs,
// process_parent_execution_payload): its requests, and its builder's payment, which no longer needs
// votes. A block on the EMPTY parent must not have requests.
func (s *State) parentPayload(r *Rules, b *Block) error {
	requests := b.ParentRequests
	if !s.Full(b.Bid.Message) {
		items := len(requests.Deposits) + len(requests.Withdrawals) + len(requests.Consolidations) +
			len(requests.BuilderDeposits) + len(requests.BuilderExits)
		if items > 0 {
			return broken("parent requests", "%d requests of a parent whose payload is left out", items)
		}
		return nil
	}
	root, err := gloas.Mainnet.ExecutionRequests.Root(requests)
	if err != nil {
		return broken("parent requests", "%v", err)
	}
	if want := s.LatestBid.ExecutionRequestsRoot; root != want {
		return broken("parent requests", "they have the root %#x, the parent's bid says %#x", root, want)
	}
	if err := requests.CheckLimits(); err != nil {
		return broken("parent requests", "%v", err)
	}
	s.requests(r, requests)
	s.settle(r)
	s.LatestBlockHash = s.LatestBid.BlockHash
	return nil
}

// settle moves the payment of the newest bid to what is owed. A payment that is older than an epoch
// was owed or void when that epoch ended.
func (s *State) settle(r *Rules) {
	at, ok := s.paymentOf(r, s.LatestBid.Slot)
	if !ok || s.PendingPayments[at].Withdrawal == nil {
		return
	}
	s.PendingWithdrawals = append(s.PendingWithdrawals, *s.PendingPayments[at].Withdrawal)
	s.PendingPayments[at] = gloas.BuilderPendingPayment{}
}
