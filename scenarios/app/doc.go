// Package app runs a scenario: it has the devnet's network, services and agents do what a plan says
// (strategy.go), puts a proxy on every connection, breaks what the plan breaks when the plan breaks
// it, writes down every fact, and judges what came of it. Relays, the bundle RPC and the stream are
// processes of their own (process, child), so that they can be killed as processes are.
//
//	plan ─▶ chain, beacon node, relays ─▶ proxies ─▶ agents ─▶ clock runs, faults begin and end ─▶ slots … ─▶ verdicts
//	             │                          │            │
//	             └── facts of the journals ─┴── what agents are answered ──▶ run folder: plan.yaml, facts.ndjson, verdicts.json, run.json
//
// Agents speak through the public interfaces only; the room knows the relay's inside because it
// starts and kills it.
package app
