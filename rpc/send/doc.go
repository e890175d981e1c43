// Package send hands orders to builders.
//
//	order ─▶ Choose ─┬─▶ queue of builder A ─▶ convert, sign once ─▶ POST, again if the network failed ─▶ rpc.Delivery
//	                 └─▶ queue of builder B ─▶        …
//
// Each builder has a queue of its own, so that a slow builder delays no other. When its queue is
// full, the oldest order in it is given up. Messages about one replacementUuid leave a queue in the
// order in which they came; with one request at a time, all messages do.
package send
