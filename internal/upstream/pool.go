package upstream

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// ErrSlow is the error of a try that took longer than Config.Timeout.
var ErrSlow = errors.New("no answer in time")

// ErrNoAnswer says that all nodes were asked and none answered.
var ErrNoAnswer = errors.New("no node answers")

// Config says how a pool treats its nodes, which are named by their index.
type Config struct {
	// Timeout bounds one try on one node.
	Timeout time.Duration
	// Answered, if set, says whether the error of a try is an answer of a healthy node. Ask still
	// goes on to the next node.
	Answered func(error) bool
	// PauseFailed asks a failed node after all others until its pause is over. If the others do not
	// answer, it is still asked.
	PauseFailed bool
	// StayWithLast begins with the node that answered last instead of the first of the list, so
	// that a node that hangs costs its time once only.
	StayWithLast bool
	// HeldBack, if set, names nodes that are asked after all others, whatever their health.
	HeldBack func() map[int]bool
}

// Pool asks nodes one after another. It is safe for concurrent use.
type Pool struct {
	cfg Config

	mu     sync.Mutex // guards what follows
	health []Health   // of each node
	last   int        // the node that answered last
}

// NewPool makes a pool of so many nodes.
func NewPool(nodes int, cfg Config) *Pool { return &Pool{cfg: cfg, health: make([]Health, nodes)} }

// Ask tries nodes in the order of Rank until a try returns nil. It calls failed for each try that
// does not. The error is ErrNoAnswer, or the context's cause if the context ended.
func (p *Pool) Ask(ctx context.Context, try func(ctx context.Context, node int) error,
	failed func(node int, err error)) error {
	for _, node := range p.Rank(time.Now()) {
		err := p.Try(ctx, node, try)
		switch {
		case err == nil:
			p.mu.Lock()
			p.last = node
			p.mu.Unlock()
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
		failed(node, err)
	}
	return ErrNoAnswer
}

// Try makes one try on a node, within Config.Timeout, and updates the node's health.
func (p *Pool) Try(ctx context.Context, node int, try func(ctx context.Context, node int) error) error {
	within, cancel := context.WithTimeoutCause(ctx, p.cfg.Timeout, ErrSlow)
	defer cancel()
	err := try(within, node)
	if err != nil && within.Err() != nil {
		err = ErrSlow
	}
	if ctx.Err() != nil {
		return err // the caller's context ended; that says nothing about the node
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil || p.cfg.Answered != nil && p.cfg.Answered(err) {
		p.health[node].Succeed()
	} else {
		p.health[node].Fail(time.Now())
	}
	return err
}

// Rank is the order in which nodes are asked.
func (p *Pool) Rank(at time.Time) []int {
	var heldBack map[int]bool
	if p.cfg.HeldBack != nil {
		heldBack = p.cfg.HeldBack()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	order := make([]int, len(p.health))
	for i := range order {
		order[i] = i
		if p.cfg.StayWithLast {
			order[i] = (p.last + i) % len(order)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(compareFalseFirst(heldBack[a], heldBack[b]), p.pausedUntil(a, at).Compare(p.pausedUntil(b, at)))
	})
	return order
}

// Healthy says of each node, by its index, whether it has not failed since it last answered.
func (p *Pool) Healthy() []bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	healthy := make([]bool, len(p.health))
	for i := range p.health {
		healthy[i] = p.health[i].Healthy()
	}
	return healthy
}

// pausedUntil is the end of a node's pause; zero if it has none. The caller holds mu.
func (p *Pool) pausedUntil(node int, at time.Time) time.Time {
	if h := &p.health[node]; p.cfg.PauseFailed && !h.Ready(at) {
		return h.pausedUntil
	}
	return time.Time{}
}

func compareFalseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
