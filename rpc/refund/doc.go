// Package refund computes what is given back of what an order paid, and finds the payouts on the
// chain. It is pure arithmetic: all input comes as arguments.
//
//	order in a block, what each transaction paid ──Split──▶ refunds ─▶ facts (pending)
//	pending refunds, a block's plain transfers ──Payouts──▶ payouts ─▶ facts (received)
//
// The rules are those of the interface description ("Refund rules") and of docs/spec.md, Simulation
// and Payouts.
package refund
