package searcher

import (
	"context"
	"fmt"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/holiman/uint256"
)

// outcomes are the backruns whose final state is not known yet. It is safe for concurrent use; the
// zero value is empty.
type outcomes struct {
	mu      sync.Mutex          // guards waiting
	waiting map[common.Hash]int // how often each was asked about
}

// askedFor is how often a searcher asks about one backrun before it gives up.
const askedFor = 20

// add remembers a bundle.
func (o *outcomes) add(bundle common.Hash) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.waiting == nil {
		o.waiting = map[common.Hash]int{}
	}
	o.waiting[bundle] = 0
}

func (o *outcomes) done(bundle common.Hash) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.waiting, bundle)
}

// list returns the bundles to ask about now. It forgets those that were asked about too often.
func (o *outcomes) list() []common.Hash {
	o.mu.Lock()
	defer o.mu.Unlock()
	list := make([]common.Hash, 0, len(o.waiting))
	for bundle, asked := range o.waiting {
		if asked == askedFor {
			delete(o.waiting, bundle)
			continue
		}
		o.waiting[bundle]++
		list = append(list, bundle)
	}
	return list
}

// Outcome is the state of a backrun.
type Outcome struct {
	Bundle common.Hash
	// State is the service's word for it, and Why its explanation.
	State, Why string
	// RefundWei is what was refunded of its payment; nil if it did not land or no refund was
	// received yet.
	RefundWei *uint256.Int
}

// followOutcomes asks in each slot about the backruns whose end is not known.
func (s *Searcher) followOutcomes(ctx context.Context) error {
	for slot := s.Spec.SlotAt(s.Clock.Now()) + 1; ; slot = max(slot+1, s.Spec.SlotAt(s.Clock.Now())) {
		if s.Clock.Until(ctx, s.Spec.SlotStart(slot).Add(s.Spec.SlotDuration/2)) != nil {
			return nil
		}
		for _, bundle := range s.sent.list() {
			outcome, ended, err := s.outcome(ctx, bundle)
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil:
				s.Log.Warn("ask what became of a backrun", "searcher", s.Name, "bundle", bundle, "error", err)
			case ended:
				s.sent.done(bundle)
				s.Log.Debug("a backrun has ended", "searcher", s.Name, "bundle", bundle, "state", outcome.State, "why", outcome.Why,
					"refund_wei", outcome.RefundWei)
			}
		}
	}
}

// outcome asks about a bundle. ended says that its state will not change any more; for a bundle
// that landed, that is when its refund was received.
func (s *Searcher) outcome(ctx context.Context, bundle common.Hash) (o Outcome, ended bool, err error) {
	var status struct{ State, Why string }
	if err := s.OrderFlow.CallContext(ctx, &status, "gavel_getOrderStatus", bundle); err != nil {
		return Outcome{}, false, fmt.Errorf("gavel_getOrderStatus: %w", err)
	}
	o = Outcome{Bundle: bundle, State: status.State, Why: status.Why}
	switch status.State {
	case "failed", "expired", "cancelled":
		return o, true, nil
	case "landed":
		o.RefundWei, err = s.refund(ctx, bundle)
		return o, o.RefundWei != nil, err
	}
	return o, false, nil
}

// refund returns the sum of a bundle's received refunds. It is nil while one of them is pending, or
// if none is known.
func (s *Searcher) refund(ctx context.Context, bundle common.Hash) (*uint256.Int, error) {
	var page struct {
		Refunds []struct {
			Amount *hexutil.U256 `json:"amount"`
			Status string        `json:"status"`
		} `json:"refunds"`
	}
	if err := s.OrderFlow.CallContext(ctx, &page, "flashbots_getFeeRefundsByBundle",
		map[string]any{"bundle_hash": bundle}); err != nil {
		return nil, fmt.Errorf("flashbots_getFeeRefundsByBundle: %w", err)
	}
	sum := new(uint256.Int)
	for _, refund := range page.Refunds {
		if refund.Status != "received" || refund.Amount == nil {
			return nil, nil
		}
		sum.Add(sum, (*uint256.Int)(refund.Amount))
	}
	if len(page.Refunds) == 0 {
		return nil, nil
	}
	return sum, nil
}
