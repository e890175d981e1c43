// Package app runs a scenario. It makes the devnet's network, services and agents do what a plan
// says (strategy.go), puts a proxy on every connection, causes the plan's faults at their times,
// records every fact, and judges the result. Relays, the bundle RPC and the stream run in processes
// of their own (process.go, child.go), so that they can be killed like any process.
//
//	plan ─▶ chain, beacon node, relays ─▶ proxies ─▶ agents ─▶ clock runs, faults begin and end ─▶ slots … ─▶ verdicts
//	             │                          │            │
//	             └── facts of the journals ─┴── what agents are answered ──▶ run folder: plan.yaml, facts.ndjson, verdicts.json, run.json
//
// Agents use the public interfaces only. This package knows how relays are built, because it starts
// and kills them.
package app
