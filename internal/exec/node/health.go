package node

import (
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/upstream"
)

// node is one node and what the pool knows of it. Pool.mu guards what changes.
type node struct {
	upstream.Endpoint
	// Health: an unhealthy node gets no blocks until its pause is over. Then it gets one block at a
	// time until it answers.
	upstream.Health

	inFlight  int
	strangers int // of the blocks in flight
	// answers counts judgements, so that a try without an answer can see whether other tries had
	// one.
	answers uint64
	// lacking counts the parents that the node lacked since its last judgement; lacks is the last
	// of them.
	lacking int
	lacks   phase0.Hash32
	trial   bool
}

// lackingLimit is how many parents, one a slot, a node must lack without a judgement in between to
// count as failed: it has stopped following the chain. Parents are counted and not blocks, because
// a block with a wrong number looks like one without a parent, and anybody can make many of those.
const lackingLimit = 2

// room says whether a ready node can take one more block now. Strangers never get all places of a
// node that has several, so that a known builder's block need not wait for them.
func (n *node) room(perNode int, priority exec.Priority) bool {
	if n.Healthy() {
		return n.inFlight < perNode && (!priority.Stranger() || n.strangers < max(perNode-1, 1))
	}
	return !n.trial
}

// learn records what a try of a block on some parent said about the node. started is the node's
// state when the try began.
func (n *node) learn(s standing, parent phase0.Hash32, started state, at time.Time) {
	switch s {
	case judging:
		n.answers++
		n.lacking = 0
		n.Succeed()
	case behind:
		if n.lacking == 0 || n.lacks != parent {
			n.lacking, n.lacks = n.lacking+1, parent
		}
		if n.lacking >= lackingLimit {
			n.fail(started, at)
		} else {
			n.Succeed()
		}
	case slow:
		if n.answers == started.answers {
			n.fail(started, at)
		}
	case broken:
		n.fail(started, at)
	case unknownStanding: // the caller left; that says nothing
	}
}

// fail pauses the node. Tries that were under way together count as one failure.
func (n *node) fail(started state, at time.Time) {
	if n.Failures() == started.failures {
		n.Fail(at)
	}
}

// state is what learn must know of the node at the start of a try.
type state struct {
	answers  uint64
	failures int
	trial    bool
}
