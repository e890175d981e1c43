package node

import (
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/upstream"
)

// node is one node and what we know of it. Pool.mu guards what changes.
type node struct {
	upstream.Endpoint
	// Health: a node that is not healthy is left aside until its pause is over, and then tried with
	// one block at a time until it answers.
	upstream.Health

	inFlight  int
	strangers int // of those in flight
	// answers counts judgements, so that a try which got none can see that others did.
	answers uint64
	// lacking counts the parents that it lacked since its last judgement; lacks is the last of them.
	lacking int
	lacks   phase0.Hash32
	trial   bool
}

// lackingLimit is how many parents, one a slot, a node may lack without a judgement in between: it
// has stopped following the chain. Blocks do not count, because a block with a wrong number looks
// like one without a parent, and anybody can make many.
const lackingLimit = 2

// room says whether a ready node can take one more block now. Strangers never have all places of a
// node that has several: a known builder's block finds one at once.
func (n *node) room(perNode int, priority exec.Priority) bool {
	if n.Healthy() {
		return n.inFlight < perNode && (!priority.Stranger() || n.strangers < max(perNode-1, 1))
	}
	return !n.trial
}

// learn takes note of what a try of a block on some parent said about the node. started is the
// node's state when the try began.
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

// fail leaves the node aside. Tries that were under way together fail together, and count once.
func (n *node) fail(started state, at time.Time) {
	if n.Failures() == started.failures {
		n.Fail(at)
	}
}

// state is what of a node counts when its answer comes.
type state struct {
	answers  uint64
	failures int
	trial    bool
}
