// Package refund counts what is given back of what an order paid, and finds the payouts of it on the chain. It is arithmetic: all that it knows
// comes in as arguments.
//
//	order in a block, what each transaction paid ──Split──▶ refunds ─▶ facts (pending)
//	pending refunds, a block's plain transfers ──Payouts──▶ payouts ─▶ facts (received)
//
// The rules are those of the interface description ("Refund rules") and of orderflow.md §3.4 and §3.5.
package refund

import "github.com/gavel-relay/gavel/rpc"

// Percentages of a backrun's value that come back when the order that was followed did not say: by default, and with preferences.fast.
const (
	DefaultPercent = 90
	FastPercent    = 50
)

// WantPercent is the part of a backrun's value that an order wants when somebody follows it: what it says (0: nothing said), or else the default
// of its kind. Whoever puts an order into another one writes it into that one's Refunds.
func WantPercent(order *rpc.Order) int {
	switch {
	case order.Bundle.WantRefundPercent != 0:
		return order.Bundle.WantRefundPercent
	case order.AllBuilders:
		return FastPercent
	default:
		return DefaultPercent
	}
}
