package method

import (
	"fmt"

	"github.com/gavel-relay/gavel/rpc"
)

// explainState says the state of an order in words, for a signer who wants to know why it did not
// land.
func explainState(s *rpc.OrderStatus, head uint64) string {
	switch s.State {
	case rpc.Landed:
		return fmt.Sprintf("it is in block %d", s.Block)
	case rpc.Cancelled:
		return explainCancel(s.Reason)
	case rpc.Failed:
		return "it can never be included: " + s.Reason
	case rpc.Expired:
		if s.Withheld {
			return "its last block is over, and the order that it followed did not land"
		}
		return "its last block is over: " + explainExpiry(s)
	case rpc.Sent:
		return fmt.Sprintf("builders have it for block %d", lastDelivery(s))
	case rpc.Simulated:
		if paysNothing(s) {
			return "its simulation succeeded, but it pays nothing: it waits for somebody who follows it"
		}
		return "its simulation succeeded; no builder has taken it yet"
	}
	if s.FirstBlock > head+1 {
		return fmt.Sprintf("it waits for block %d", s.FirstBlock)
	}
	if failed := lastError(s); failed != "" {
		return "its newest simulation failed: " + failed
	}
	if s.Withheld {
		return "how it does behind the order that it follows is told when the block is over, for the first of its " +
			"signer's orders that follow it"
	}
	if s.Order != nil && s.Order.Bundle.Window.MinTimestamp > 0 {
		return "it waits for its simulation, or for its minTimestamp"
	}
	return "it waits for its simulation"
}

// explainCancel says who cancelled it: its signer, or that of the order that it followed.
func explainCancel(reason string) string {
	switch reason {
	case rpc.ReplacedByVersion:
		return "its signer replaced it by a newer version"
	case "", rpc.CancelledBySigner:
		return "its signer cancelled it"
	}
	return reason
}

// explainExpiry says why an expired order is in no block.
func explainExpiry(s *rpc.OrderStatus) string {
	if len(s.Simulations) == 0 {
		return "it was never simulated, since no block within its window and timestamps came in time"
	}
	if failed := lastError(s); failed != "" {
		return "its newest simulation failed: " + failed
	}
	taken := 0
	for _, d := range s.Deliveries {
		if d.Error == "" {
			taken++
		}
	}
	switch {
	case len(s.Deliveries) == 0:
		return "it came too late to be sent to a builder"
	case taken == 0:
		return "no builder took it: " + s.Deliveries[len(s.Deliveries)-1].Error
	}
	return "builders had it, but were outbid, preferred other orders, or did not win the slot"
}

// paysNothing says whether a private transaction by itself pays nothing to the block's fee
// recipient.
func paysNothing(s *rpc.OrderStatus) bool {
	if s.Kind != rpc.KindPrivate || len(s.Simulations) == 0 {
		return false
	}
	newest := s.Simulations[len(s.Simulations)-1]
	return newest.Success && newest.ProfitWei != nil && newest.ProfitWei.IsZero()
}

func lastError(s *rpc.OrderStatus) string {
	if n := len(s.Simulations); n > 0 && !s.Simulations[n-1].Success {
		return s.Simulations[n-1].Error
	}
	return ""
}

func lastDelivery(s *rpc.OrderStatus) uint64 {
	for i := len(s.Deliveries) - 1; i >= 0; i-- {
		if s.Deliveries[i].Error == "" {
			return s.Deliveries[i].Block
		}
	}
	return 0
}
