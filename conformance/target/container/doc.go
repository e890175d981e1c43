// Package container starts and stops targets in containers. Their world runs outside of the
// containers, on this machine.
//
//	target.yaml ─┐                         ┌─ container "relay"
//	             ├─▶ Start ─▶ Engine ──────┼─ container "rpc" ── "stream" in its network
//	words ───────┘     │                   └──────────┬────────────┘
//	(BEACON_URL, …)    ▼                              ▼ gateway of the engine's network
//	            Running.Target: where they are    world: beacon node, execution node, validation node
//
// A container learns about the world only what its command, environment and files say, so an
// implementation of somebody else is started in the same way as ours. The suite reaches all
// containers at published ports.
package container
