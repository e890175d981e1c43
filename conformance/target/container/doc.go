// Package container starts targets from images, in a world that runs beside them on this machine,
// and ends them again.
//
//	target.yaml ─┐                         ┌─ container "relay"
//	             ├─▶ Start ─▶ Engine ──────┼─ container "rpc" ── "stream" in its network
//	words ───────┘     │                   └──────────┬────────────┘
//	(BEACON_URL, …)    ▼                              ▼ gateway of the engine's network
//	            Running.Target: where they are    world: beacon node, execution node, validation node
//
// Containers know of the world what their command and environment say, and nothing else: an
// implementation that nobody here has seen is started like ours. The suite asks all of them at
// published ports.
package container
