// Package bench decides what a load test sends when, what the answers say about a service's speed,
// and which answers are wrong.
//
//	Mix, Phase ─▶ requests of package load ─▶ Sample ─Account─▶ Measure ─┐
//	                                        └▶ Auction ─Check─▶ Fault ───┴─▶ Report ─▶ JSON, table, curves, comparison
//
// Times are durations since the beginning of the run.
package bench

// Kind is a kind of request. Each has measures of its own.
type Kind string

// The kinds of requests to a relay.
const (
	Registrations Kind = "registrations"
	Submissions   Kind = "submissions"
	Headers       Kind = "headers"
	Deliveries    Kind = "deliveries"
	Data          Kind = "data"
)

// The kinds of requests to a bundle RPC: eth_sendBundle, mev_sendBundle,
// eth_sendPrivateTransaction, and what became of a bundle.
const (
	Bundles Kind = "bundles"
	Shares  Kind = "shares"
	Private Kind = "private"
	Status  Kind = "status"
)

// Events is what listeners of a stream get of orders that share hints: one sample for each listener
// and order, from when the order was sent until the event was there.
const Events Kind = "events"
