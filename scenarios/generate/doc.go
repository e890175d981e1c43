// Package generate makes the rows of a data set that has all: an auction house with its builders,
// order flow, proposers and chain, played in one loop over events in chain time. It has no clock
// and starts no goroutine, so the same seed gives the same rows.
//
//	agenda ─next event─▶ at its time, one party does one thing, and puts what follows on the agenda
//
//	users, searchers ─▶ bundle RPC ─orders─▶ builders ─blocks, bids─▶ relays ◀─header, payload─ proposer
//	      ▲    hints ◀──────┘                                            └─▶ chain ─block─▶ all of them
//
// What decides is the code that decides in services and devnets, not a copy of it: the bundle RPC's
// lifecycle with its pool, simulation and refunds; the stream's hints; the strategies of users,
// searchers and builders; the relay's decoding, checks and auction; and the chain itself, which
// builds and executes each block. What is a model here are times: how long messages travel and work
// takes, when proposers ask, and which parties are there. Models has them all.
package generate
