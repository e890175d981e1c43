// Package send hands orders to builders: each request signed by the service's own key, within a time-out, again if the network failed, never again
// if the builder said no. Every builder has a queue and a courier of its own, so that a slow one delays nobody, and what is for one builder arrives
// in the order in which it was handed over, a cancel after its bundle.
//
//	Send ─▶ queue of a builder (1,024, the oldest dropped) ─▶ courier ─POST, sign─▶ builder ─┬─ result ───────────────▶ done: rpc.Delivery
//	                                                             ▲                           ├─ JSON-RPC error, 4xx ──▶ done: with the error
//	                                                             └──── back-off, twice ──────┴─ no answer, 5xx ───────▶ done after the last time
package send
