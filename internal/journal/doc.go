// Package journal keeps what must outlive a crash, on NATS JetStream: facts, state, escrow,
// evidence and guard. The engine runs in this process by default, or is a cluster that is reached
// by URL; the client code is the same. It is the only package that imports NATS.
//
//	facts   FACTS   fact.<subject>   an ordered log, read from any point on       Append, AppendAsync, Read
//	state   STATE   state.<subject>  what is so now, for good                     PutState, State, States
//	escrow  ESCROW  escrow.<key>     the last value of a key, for a while         Put, Get, Drop
//	guard   GUARD   guard.<key>      the first value of a key                     Claim
//	evidence EVIDENCE evidence.<key> the last value of a key, for good            Keep, Kept
//	auction AUCTION auction.<slot>   the logs of open auctions, in one order      AppendAuction, FollowAuction
//
//	relay ──AppendAsync──▶ FACTS ──Read(from)──▶ archive, exports       Claim: publish only if the key has no value yet
//	      ──Put──acked──▶ ESCROW ──Get──▶ relay                                (expected last sequence of the subject = 0)
//
// Without a cluster, escrow and guard are not in the engine but in files beside it: blocks are
// large and need no order (escrowlocal.go), and a claim must reach the disk even if everything else
// has filled it (guardclaims.go).
//
// Facts are bounded in age and bytes, and the oldest are dropped. What a service must know to go on
// after a restart is state, which is never dropped. The log of facts has an identity (ID), so that
// a projection notices when it is given another log.
//
// "Acked" means: the engine has written it, to a file if there is a folder. That survives a crash
// of the process. State and claims of the embedded guard are synced before the call returns, so
// they survive a power cut. What a cluster acks survives a power cut if its servers run with
// sync_interval: always.
//
// Only one process may use the embedded engine's folder, because two engines would each let a claim
// win. A lock keeps a second process out. For the same reason the folder records where it is
// (location.go): a copy is refused until an operator confirms that it is the only one.
package journal
