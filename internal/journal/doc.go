// Package journal keeps what must outlive a crash, on NATS JetStream: facts, escrow, evidence and guard. The engine runs in this process by default
// and as a cluster by URL; the client code is the same. It is the only package that knows NATS.
//
//	facts   FACTS   fact.<subject>   an ordered log, read from any point on       Append, AppendAsync, Read
//	escrow  ESCROW  escrow.<key>     the last value of a key, for a while         Put, Get, Drop
//	guard   GUARD   guard.<key>      the first value of a key, for ever           Claim
//	evidence EVIDENCE evidence.<key> the last value of a key, for good            Keep, Kept
//
//	relay ──AppendAsync──▶ FACTS ──Read(from)──▶ archive, exports       Claim: publish only if the key has no value yet
//	      ──Put──acked──▶ ESCROW ──Get──▶ relay                                (expected last sequence of the subject = 0)
//
// The embedded engine's escrow is not in the engine but in files beside it (local.go): blocks are large, and need no order.
//
// "Acked" means: written by the engine, to the file if there is a folder. That survives a crash of the process; what survives a crash of the
// machine is for the cluster's replicas to say.
//
// The embedded engine's folder has one owner: a lock keeps a second process out, since two engines would each let a claim win.
package journal
