package node

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/exec"
)

// ticket is one block's place in the queue. Pool.mu guards it.
type ticket struct {
	priority exec.Priority
	parent   phase0.Hash32
	number   uint64 // by arrival; a block that comes back after a failed try has its old one
	tried    []*node
	granted  chan *node // holds one: the node that may be asked, or nil if there is none for this block
	started  state      // the granted node's state at that time
}

// order is the order of the queue: high before normal, and by arrival within one.
func order(a, b *ticket) int {
	return cmp.Or(cmp.Compare(b.priority, a.priority), cmp.Compare(a.number, b.number))
}

// acquire waits for a node that this block has not been tried on. It returns nil if no node is left to wait for, and an error, the context's
// cause, if the context ends first. The caller must release the node.
func (p *Pool) acquire(ctx context.Context, t *ticket) (*node, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p.mu.Lock()
	at, _ := slices.BinarySearchFunc(p.waiting, t, order)
	p.waiting = slices.Insert(p.waiting, at, t)
	p.dispatch(time.Now())
	p.mu.Unlock()
	select {
	case n := <-t.granted:
		return n, nil
	case <-ctx.Done():
		p.leave(t)
		return nil, context.Cause(ctx)
	}
}

// leave takes a ticket out of the queue; if a node was granted meanwhile, that one is given back.
func (p *Pool) leave(t *ticket) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, waiting := slices.BinarySearchFunc(p.waiting, t, order); waiting {
		p.waiting = slices.Delete(p.waiting, at, at+1)
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
	wasProven, failures := n.proven(), n.failures
	n.inFlight--
	if t.started.trial {
		n.trial = false
	}
	n.learn(s, t.parent, t.started, now)
	switch {
	case n.proven() && !wasProven:
		p.log.Info("validation node is back", "node", n.name)
	case n.failures > failures:
		p.log.Warn("validation node left aside", "node", n.name, "failures", n.failures, "pause", pauseAfter(n.failures))
	}
	p.dispatch(now)
}

// dispatch grants nodes to waiting blocks, in the order of the queue, and sends those away for which there is none to wait for. Whatever
// changes a node or the queue calls it.
func (p *Pool) dispatch(now time.Time) {
	p.waiting = slices.DeleteFunc(p.waiting, func(t *ticket) bool {
		n, hope := p.choose(t, now)
		if n == nil && hope {
			return false
		}
		if n != nil {
			t.started = state{n.answers, n.failures, !n.proven()}
			t.tried = append(t.tried, n)
			n.trial = t.started.trial
			n.inFlight++
		}
		t.granted <- n
		return true
	})
}

// choose is the best node with room for a block, or nil; hope says whether waiting makes sense: some node that could take it is busy.
func (p *Pool) choose(t *ticket, now time.Time) (best *node, hope bool) {
	for _, n := range p.nodes {
		if slices.Contains(t.tried, n) || !n.ready(now) {
			continue
		}
		hope = true
		if n.room(p.perNode) && (best == nil || better(n, best, t.priority)) {
			best = n
		}
	}
	return best, hope
}

// better prefers the node with less in flight. A node that is to be tried again comes before the others for a normal block, or it would
// never come back while the others have room, and after them for a high one, which should not pay for the trial.
func better(a, b *node, priority exec.Priority) bool {
	if a.proven() != b.proven() {
		return a.proven() == (priority == exec.High)
	}
	return a.inFlight < b.inFlight
}
