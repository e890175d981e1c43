// Package journal keeps what must outlive a crash, on NATS JetStream: facts, escrow, evidence and
// guard. The engine runs in this process by default and as a cluster by URL; the client code is the
// same. It is the only package that knows NATS.
//
//	facts   FACTS   fact.<subject>   an ordered log, read from any point on       Append, AppendAsync, Read
//	state   STATE   state.<subject>  what is so now, for good                     PutState, State, States
//	escrow  ESCROW  escrow.<key>     the last value of a key, for a while         Put, Get, Drop
//	guard   GUARD   guard.<key>      the first value of a key                     Claim
//	evidence EVIDENCE evidence.<key> the last value of a key, for good            Keep, Kept
//
//	relay ──AppendAsync──▶ FACTS ──Read(from)──▶ archive, exports       Claim: publish only if the key has no value yet
//	      ──Put──acked──▶ ESCROW ──Get──▶ relay                                (expected last sequence of the subject = 0)
//
// The embedded engine's escrow and guard are not in the engine but in files beside it: blocks are
// large and need no order (escrowlocal.go), and a claim must be on the disk, whatever else fills
// that (guardclaims.go).
//
// Facts are traffic: they are bounded in age and room, and the oldest go. What a service must know
// to go on after a restart is state, which nothing takes away. The log of facts has an identity
// (ID): a projection of it notices that it is shown another log.
//
// "Acked" means: written by the engine, to the file if there is a folder. That survives a crash of
// the process. A claim of the embedded guard, and state, is on the disk when it is answered, and
// survives a power cut; so does what the cluster acks, if its servers run with sync_interval:
// always.
//
// The embedded engine's folder has one owner: a lock keeps a second process out, since two engines
// would each let a claim win. For the same reason it knows where it is (location.go): a copy of it
// is refused until an operator says that it is the only one.
package journal
