// Package fault puts a proxy on a connection between two services of the lab, which does to it what
// networks do. Nobody needs to know: who speaks to the proxy's URL speaks to the service behind it.
//
//	client ──▶ listener ──▶ request: held, refused, lost, spoiled? ──▶ gate ──▶ service
//	  (reset, refused)  ◀───────── answer: spoiled? ◀── latency ◀──────┘
//	                                                          Set switches all of it at once, also for connections that are open
//
// A partition holds bytes back in both directions and tells nobody; they flow again when it ends,
// as TCP would have them. Times here are wall time.
package fault
