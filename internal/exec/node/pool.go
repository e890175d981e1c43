// Package node has blocks judged by execution nodes that one can ask: JSON-RPC,
// flashbots_validateBuilderSubmissionV1 (bellatrix) to V5 (fulu), as reth, the builder's geth and
// devnet/validation serve it.
//
//	          queue: known builders before         nodes: each takes PerNode at once
//	          strangers, all in turns
//	block ──► [ H K │ N N N N ] ── least in flight ──► ● answers            ──► valid, or invalid by a rule
//	              ▲                                    ○ pause is over: one block tries it
//	              └── failed, back in its old place ── ◌ left aside, 250 ms … 30 s
//
// An answer is about the block or about the node, and only the first is ever held against a
// builder. A node that fails is left aside for a pause that doubles, and its blocks go to other
// nodes. Nothing runs in the background: the next block after a pause is what tries the node.
//
// Blocks are not routed by builder or parent. All blocks of a slot have the same parent, so every
// node that gets any keeps its state at hand; and when there is little to do, the first node of the
// list gets it all.
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

// Config says which nodes to ask and what may be asked of them.
type Config struct {
	// URLs of the nodes, http or https, at least one; the first is preferred when all are idle.
	URLs []string
	// PerNode is how many blocks one node judges at once; the others wait. 0 is 4.
	PerNode int
	// Timeout bounds one try on one node. 0 is 2 s. It should be well below what callers allow a
	// verdict to take, or nothing is left for another node when the first hangs.
	Timeout time.Duration
	// HTTP is nil for a client of our own, which keeps PerNode connections to each node.
	HTTP *http.Client
	// Log is told when nodes go and come back; nil is nobody.
	Log *slog.Logger
}

// Pool implements exec.Validator on a set of nodes.
type Pool struct {
	perNode int
	timeout time.Duration
	client  *http.Client
	log     *slog.Logger

	mu      sync.Mutex // guards all below, and what changes in nodes and tickets
	nodes   []*node
	waiting []*ticket // by arrival
	arrived uint64
	turns   turns
}

var _ exec.Validator = (*Pool)(nil)

// New returns a pool. It asks nobody yet: a node counts as usable until it fails.
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

// newClient keeps connections: a node is asked hundreds of times each slot. It follows no
// redirects, which no node answers with.
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

// Live says whether some node's last word was a good one. Without one, what is accepted now may
// never be judged, and optimism should rest.
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

// maxTries is on how many nodes one block is tried. A block that brings nodes down must not reach
// all of them.
const maxTries = 3

// Validate implements exec.Validator. Beside what the block's own rules give, Infrastructure comes
// with RuleUnavailable if no node could be asked or none gave an answer, with RuleParent or
// RuleMissingState if all that did lack them, with RuleInterrupted if ctx ended first, and with
// RuleCrowded if too many blocks wait, and with RuleUnsupported if nodes cannot be asked about this
// block.
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
		if body == nil { // not before: who waits should not hold megabytes
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
		case verdict.Rule == exec.RuleUnavailable: // a node that says what it lacks says more than one that says nothing
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

// public is a verdict without a node's troubles, which may name hosts; they are in the log.
func public(v exec.Verdict) exec.Verdict {
	switch v.Rule {
	case exec.RuleUnavailable:
		v.Detail = "no validation node gave an answer"
	case exec.RuleUnsupported:
		v.Detail = "validation nodes do not know this kind of request"
	}
	return v
}
