// Package send hands orders to builders.
//
//	order ─▶ Choose ─┬─▶ queue of builder A ─▶ convert, sign once ─▶ POST, again if the network failed ─▶ rpc.Delivery
//	                 └─▶ queue of builder B ─▶        …
//
// Each builder has a queue of its own, so a slow one delays nobody but itself: when its queue is
// full, the oldest order in it is given up. What is about one replacementUuid leaves a queue in the
// order in which it came; with one request at a time, everything does.
package send
