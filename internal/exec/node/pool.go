// Package node asks execution nodes to validate blocks: by JSON-RPC,
// flashbots_validateBuilderSubmissionV1 (bellatrix) to V6 (gloas), as reth, the builder's geth and
// devnet/network serve it.
//
//	          queue: known builders before         nodes: each takes PerNode at once
//	          strangers, all in turns
//	block ──► [ H K │ N N N N ] ── least in flight ──► ● answers            ──► valid, or invalid by a rule
//	              ▲                                    ○ pause is over: one block tries it
//	              └── failed, back in its old place ── ◌ left aside, 250 ms … 30 s
//
// An answer is about the block or about the node, and only the first kind can count against a
// builder. A node that fails gets no blocks for a pause that doubles with each failure; its blocks
// go to other nodes. Nothing runs in the background: the next block after the pause tries the node
// again.
//
// Blocks are not routed by builder or parent. All blocks of a slot have the same parent, so every
// node that gets blocks has that state in its caches. When there is little to do, the first node of
// the list gets all blocks.
package node

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/upstream"
)

// Config says which nodes to ask, and how much at once.
type Config struct {
	// URLs of the nodes, http or https, at least one; the first is preferred when all are idle.
	URLs []string
	// PerNode is how many blocks one node judges at once; the others wait. 0 is 4.
	PerNode int
	// Timeout bounds one try on one node. 0 is 2 s. It should be well below the time that callers
	// allow for a verdict, or no time is left for another node when the first hangs.
	Timeout time.Duration
	// HTTP is the client to use; nil makes one that keeps PerNode connections to each node.
	HTTP *http.Client
	// Log gets a line when a node fails or comes back; nil logs nothing.
	Log *slog.Logger
}

// Pool implements exec.Validator on a set of nodes.
type Pool struct {
	perNode int
	timeout time.Duration
	client  *http.Client
	log     *slog.Logger

	mu      sync.Mutex // guards all below, and the fields of nodes and tickets that change
	nodes   []*node
	waiting []*ticket // in the order in which they began to wait
	arrived uint64
	order   fairOrder
}

var _ exec.Validator = (*Pool)(nil)

// New returns a pool. It sends no requests: a node counts as healthy until it fails.
func New(cfg Config) (*Pool, error) {
	p := &Pool{perNode: cfg.PerNode, timeout: cfg.Timeout, client: cfg.HTTP, log: cfg.Log}
	if p.perNode <= 0 {
		p.perNode = 4
	}
	if p.timeout <= 0 {
		p.timeout = 2 * time.Second
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	if p.client == nil {
		p.client = newClient(p.perNode)
	}
	endpoints, err := upstream.Parse("validation node", cfg.URLs, "http", "https")
	if err != nil {
		return nil, err
	}
	for _, endpoint := range endpoints {
		p.nodes = append(p.nodes, &node{Endpoint: endpoint})
	}
	return p, nil
}

// newClient keeps connections open, because a node gets hundreds of requests each slot. It follows
// no redirects, because nodes do not send any.
func newClient(perNode int) *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: time.Second, KeepAlive: 15 * time.Second}).DialContext,
			MaxIdleConnsPerHost: perNode, IdleConnTimeout: 2 * time.Minute, TLSHandshakeTimeout: 2 * time.Second,
			DisableCompression: true, WriteBufferSize: 64 << 10,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Live says whether at least one node is healthy. If none is, blocks that are accepted now may
// never be validated, so nothing should be accepted optimistically.
func (p *Pool) Live() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.nodes {
		if n.Healthy() {
			return true
		}
	}
	return false
}

// Works says of each node, by host and port, whether it is healthy.
func (p *Pool) Works() map[string]bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	endpoints := make([]upstream.Endpoint, len(p.nodes))
	for i, n := range p.nodes {
		endpoints[i] = n.Endpoint
	}
	return upstream.ByName(endpoints, func(i int) bool { return p.nodes[i].Healthy() })
}

// maxTries is on how many nodes one block is tried at most. A block that crashes nodes must not
// reach all of them.
const maxTries = 3

// Validate implements exec.Validator. Verdicts of class Infrastructure have one of these rules:
//
// RuleUnavailable if no node could be asked or none gave an answer; RuleParent or RuleMissingState
// if the nodes that answered lack the parent or its state; RuleInterrupted if ctx ended first;
// RuleCrowded if too many blocks wait; RuleUnsupported if nodes cannot be asked about this block.
func (p *Pool) Validate(ctx context.Context, b *exec.Block) exec.Verdict {
	if err := askable(b); err != nil {
		return unknown(exec.RuleUnsupported, err.Error())
	}
	t := p.newTicket(b)
	verdict := unknown(exec.RuleUnavailable, "no validation node can be asked")
	var body *body
	for range maxTries {
		n, err := p.acquire(ctx, t)
		if err != nil {
			return unknown(exec.RuleInterrupted, err.Error())
		}
		if t.shed {
			return unknown(exec.RuleCrowded, "too many blocks wait to be validated")
		}
		if n == nil {
			break
		}
		if body == nil { // made only now, so that a waiting block holds no second copy of itself
			if body, err = request(b); err != nil {
				p.release(n, t, unknownStanding)
				return unknown(exec.RuleUnsupported, err.Error())
			}
		}
		o := p.ask(ctx, n, b, body)
		p.release(n, t, o.standing)
		switch {
		case o.verdict.Class != exec.Infrastructure:
			return o.verdict
		case o.standing == unknownStanding:
			return unknown(exec.RuleInterrupted, context.Cause(ctx).Error())
		case verdict.Rule == exec.RuleUnavailable: // keep the first outcome that says more than that no answer came
			verdict = public(o.verdict)
		}
	}
	return verdict
}

func (p *Pool) newTicket(b *exec.Block) *ticket {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.arrived++
	return &ticket{
		priority: b.Priority, source: b.Source, valueWei: b.ValueWei, parent: b.Payload.ParentHash, number: p.arrived,
		granted: make(chan *node, 1),
	}
}

func unknown(rule exec.Rule, detail string) exec.Verdict {
	return exec.Verdict{Class: exec.Infrastructure, Rule: rule, Detail: detail}
}

// public is a verdict without details of the node's trouble, which may name hosts. The log has
// them.
func public(v exec.Verdict) exec.Verdict {
	switch v.Rule {
	case exec.RuleUnavailable:
		v.Detail = "no validation node gave an answer"
	case exec.RuleUnsupported:
		v.Detail = "validation nodes do not know this kind of request"
	}
	return v
}
