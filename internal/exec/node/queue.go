package node

import (
	"context"
	"slices"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/exec"
)

// ticket is one block's place in the queue. Pool.mu guards it, except for shed, which is written
// before granted is filled.
type ticket struct {
	priority exec.Priority
	source   exec.Source
	valueWei *uint256.Int
	parent   phase0.Hash32
	number   uint64 // by arrival; a block keeps its number after a failed try
	tried    []*node
	granted  chan *node // gets one value: the node that may be asked, or nil if there is none for this block
	started  state      // the granted node's state at that time
	shed     bool       // sent away, because too many blocks wait
}

// acquire waits for a node that this block has not been tried on. It returns nil if no node is left
// to wait for or if too many blocks wait. If the context ends first, the error is the context's
// cause. The caller must release the node.
func (p *Pool) acquire(ctx context.Context, t *ticket) (*node, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p.mu.Lock()
	p.waiting = append(p.waiting, t)
	p.dispatch(time.Now())
	p.shedOne(t)
	p.mu.Unlock()
	select {
	case n := <-t.granted:
		return n, nil
	case <-ctx.Done():
		p.leave(t)
		return nil, context.Cause(ctx)
	}
}

// leave takes a ticket out of the queue. If a node was granted meanwhile, leave gives it back.
func (p *Pool) leave(t *ticket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.remove(t) {
		return
	}
	if n := <-t.granted; n != nil {
		p.giveBack(n, t, unknownStanding)
	}
}

// release gives a node back with what the try said about it.
func (p *Pool) release(n *node, t *ticket, s standing) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.giveBack(n, t, s)
}

func (p *Pool) giveBack(n *node, t *ticket, s standing) {
	now := time.Now()
	wasHealthy, failures := n.Healthy(), n.Failures()
	n.inFlight--
	if t.priority.Stranger() {
		n.strangers--
	}
	if t.started.trial {
		n.trial = false
	}
	n.learn(s, t.parent, t.started, now)
	switch {
	case n.Healthy() && !wasHealthy:
		p.log.Info("validation node is back", "node", n.Name)
	case n.Failures() > failures:
		p.log.Warn("validation node left aside", "node", n.Name, "failures", n.Failures(), "pause", n.Pause())
	}
	p.dispatch(now)
}

// remove takes a ticket out of the queue and says whether it was there.
func (p *Pool) remove(t *ticket) bool {
	at := slices.Index(p.waiting, t)
	if at < 0 {
		return false
	}
	p.waiting = slices.Delete(p.waiting, at, at+1)
	return true
}

// dispatch grants nodes to waiting blocks, in the order of their turns, and sends away blocks that
// no node could still take. It must be called after each change of a node or of the queue.
func (p *Pool) dispatch(now time.Time) {
	for again := true; again; {
		again = false
		for _, t := range p.order.order(p.waiting) {
			n, hope := p.choose(t, now)
			if n == nil && hope {
				continue
			}
			p.remove(t)
			if n != nil {
				p.grant(t, n)
			}
			t.granted <- n
			again = n != nil // the grant has changed the order of turns
			if again {
				break
			}
		}
	}
}

// grant gives a block a place on a node.
func (p *Pool) grant(t *ticket, n *node) {
	p.order.took(t, p.waiting)
	t.started = state{n.answers, n.Failures(), !n.Healthy()}
	t.tried = append(t.tried, n)
	n.trial = t.started.trial
	n.inFlight++
	if t.priority.Stranger() {
		n.strangers++
	}
}

// choose returns the best node with room for a block, or nil. hope says whether waiting makes
// sense: a node that the block was not tried on is ready, if only busy.
func (p *Pool) choose(t *ticket, now time.Time) (best *node, hope bool) {
	for _, n := range p.nodes {
		if slices.Contains(t.tried, n) || !n.Ready(now) {
			continue
		}
		hope = true
		if n.room(p.perNode, t.priority) && (best == nil || better(n, best, t.priority)) {
			best = n
		}
	}
	return best, hope
}

// better prefers the node with fewer blocks in flight. A node that is to be tried again after a
// pause comes first for a stranger's block; otherwise it would never come back while the others
// have room. It comes last for a known builder's block, which should not be delayed by the trial.
func better(a, b *node, priority exec.Priority) bool {
	if a.Healthy() != b.Healthy() {
		return a.Healthy() == (priority >= exec.Known)
	}
	return a.inFlight < b.inFlight
}
