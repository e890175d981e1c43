// Package refund counts what is given back of what an order paid, and finds the payouts of it on
// the chain. It is arithmetic: all that it knows comes in as arguments.
//
//	order in a block, what each transaction paid ──Split──▶ refunds ─▶ facts (pending)
//	pending refunds, a block's plain transfers ──Payouts──▶ payouts ─▶ facts (received)
//
// The rules are those of the interface description ("Refund rules") and of docs/spec.md, Simulation
// and Payouts.
package refund
