// Package app runs a scenario: it wires the whole network of a plan in one process, with a proxy on every connection, breaks what the plan
// breaks when the plan breaks it, writes down every fact, and judges what came of it.
//
//	plan ─▶ chain, beacon node, relays ─▶ proxies ─▶ agents ─▶ clock runs, faults begin and end ─▶ slots … ─▶ verdicts
//	             │                          │            │
//	             └── facts of the journals ─┴── what agents are answered ──▶ run folder: plan.yaml, facts.ndjson, verdicts.json, run.json
//
// Agents speak through the public interfaces only; the room knows the relay's inside because it starts and kills it.
package app
