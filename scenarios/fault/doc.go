// Package fault puts a proxy on a connection between two services of the lab, which breaks it in
// the ways that networks do. The services need not know: a client that uses the proxy's URL reaches
// the service behind it.
//
//	client ──▶ listener ──▶ request: held, refused, lost, spoiled? ──▶ gate ──▶ service
//	  (reset, refused)  ◀───────── answer: spoiled? ◀── latency ◀──────┘
//	                                                          Set switches all of it at once, also for connections that are open
//
// During a partition bytes are held back in both directions, and neither side gets an error. They
// flow again when the partition ends, as TCP would deliver them. Times in this package are wall
// time.
package fault
