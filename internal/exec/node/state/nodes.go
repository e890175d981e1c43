package state

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/gavel-relay/gavel/internal/backoff"
	"github.com/gavel-relay/gavel/internal/exec"
)

// maxAnswer bounds one HTTP answer, in bytes. The largest honest ones are blocks of 10 MB in hex.
const maxAnswer = 64 << 20

// pauses are how long a node that failed is asked last.
var pauses = backoff.Doubling{First: 250 * time.Millisecond, Longest: 30 * time.Second}

// errSlow ends a try.
var errSlow = errors.New("no answer in time")

// node is one execution node and what we know of it.
type node struct {
	name string // host and port, for logs: the rest of an address may hold secrets
	url  string
	live bool // it has subscriptions (ws, wss)

	mu          sync.Mutex // guards all below
	client      *rpc.Client
	failures    int // in a row
	pausedUntil time.Time
	noProofs    bool // it refuses eth_getProof
	byNumber    bool // it does not know EIP-1898's block objects
}

// nodes are asked in order, the first that answers wins. Who failed is asked last until a pause is
// over.
type nodes struct {
	list   []*node
	client *http.Client
	try    time.Duration
	log    *slog.Logger
}

func newNodes(o Options) (*nodes, error) {
	all := &nodes{client: bounded(o.HTTP), try: o.Try, log: o.Log}
	if len(o.URLs) == 0 {
		return nil, errors.New("no execution node is configured")
	}
	for i, raw := range o.URLs {
		parsed, err := url.Parse(raw)
		if err != nil || parsed.Host == "" || !slices.Contains([]string{"http", "https", "ws", "wss"}, parsed.Scheme) {
			// not quoted: it may hold a password
			return nil, fmt.Errorf("execution node %d: want a URL with http, https, ws or wss", i+1)
		}
		all.list = append(all.list, &node{name: parsed.Host, url: raw, live: parsed.Scheme == "ws" || parsed.Scheme == "wss"})
	}
	return all, nil
}

// close ends the connections.
func (s *nodes) close() {
	for _, n := range s.list {
		n.mu.Lock()
		if n.client != nil {
			n.client.Close()
		}
		n.mu.Unlock()
	}
	s.client.CloseIdleConnections()
}

// ask does something with the first node that can. The error is ErrUnknownBlock if that is what a
// node says of a block and no other knows it, ErrNode if nobody gives a sensible answer, and the
// context's own if it ended.
func (s *nodes) ask(ctx context.Context, what string, do func(context.Context, *node, *rpc.Client) error) error {
	var unknown, trouble error
	for _, n := range s.order(time.Now()) {
		err := s.attempt(ctx, n, do)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return fmt.Errorf("%s: %w", what, context.Cause(ctx))
		case errors.Is(err, exec.ErrUnknownBlock):
			unknown = err
		default:
			trouble = err
			s.log.Warn("execution node gives no answer", "node", n.name, "asked", what, "error", err)
		}
	}
	switch {
	case unknown != nil:
		return fmt.Errorf("%s: %w", what, unknown)
	case errors.Is(trouble, exec.ErrNode):
		return fmt.Errorf("%s: %w", what, trouble)
	default:
		return fmt.Errorf("%s: %w: %w", what, exec.ErrNode, trouble)
	}
}

// attempt gives one node the time of one try, and remembers how that went.
func (s *nodes) attempt(ctx context.Context, n *node, do func(context.Context, *node, *rpc.Client) error) error {
	within, cancel := context.WithTimeoutCause(ctx, s.try, errSlow)
	defer cancel()
	client, err := n.connect(within, s.client)
	if err == nil {
		err = understand(do(within, n, client))
	}
	if err != nil && within.Err() != nil {
		err = errSlow
	}
	if ctx.Err() != nil {
		return err // the caller left; that says nothing about the node
	}
	n.learn(err == nil || errors.Is(err, exec.ErrUnknownBlock), time.Now())
	return err
}

// order is whom to ask first: those without a pause as they were listed, then the others, by when
// their pause ends. With nobody else there a node that failed is better asked again than not at
// all.
func (s *nodes) order(at time.Time) []*node {
	type place struct {
		*node
		until time.Time
	}
	places := make([]place, len(s.list))
	for i, n := range s.list {
		n.mu.Lock()
		places[i].node = n
		if n.failures > 0 && at.Before(n.pausedUntil) {
			places[i].until = n.pausedUntil
		}
		n.mu.Unlock()
	}
	slices.SortStableFunc(places, func(a, b place) int { return a.until.Compare(b.until) })
	order := make([]*node, len(places))
	for i, p := range places {
		order[i] = p.node
	}
	return order
}

// connect returns the node's client. HTTP connects when it is used, a socket now; a socket that
// breaks is renewed by the client itself.
func (n *node) connect(ctx context.Context, client *http.Client) (*rpc.Client, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.client == nil {
		made, err := rpc.DialOptions(ctx, n.url, rpc.WithHTTPClient(client), rpc.WithWebsocketMessageSizeLimit(maxAnswer))
		if err != nil {
			return nil, bare("connect", err)
		}
		n.client = made
	}
	return n.client, nil
}

// learn takes note of a try. Tries that fail while the node is paused do not make the pause longer:
// they may have been under way together.
func (n *node) learn(good bool, at time.Time) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case good:
		n.failures = 0
	case n.failures == 0 || !at.Before(n.pausedUntil):
		n.failures++
		n.pausedUntil = at.Add(pauses.After(n.failures))
	}
}

// knows reads what the node has been found to lack.
func (n *node) knows() (proofs, hashes bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.noProofs, !n.byNumber
}

// lacks remembers what the node lacks.
func (n *node) lacks(proofs, hashes bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.noProofs, n.byNumber = n.noProofs || proofs, n.byNumber || hashes
}

// bounded is a client that keeps connections and reads no endless answers. A redirect is no answer.
func bounded(given *http.Client) *http.Client {
	client := http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: time.Second, KeepAlive: 15 * time.Second}).DialContext,
		MaxIdleConnsPerHost: 16, IdleConnTimeout: 2 * time.Minute, TLSHandshakeTimeout: 2 * time.Second,
	}}
	if given != nil {
		client = *given
	}
	if client.Transport == nil {
		client.Transport = http.DefaultTransport
	}
	client.Transport = boundedTransport{client.Transport}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

type boundedTransport struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b boundedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := b.RoundTripper.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	answer.Body = http.MaxBytesReader(nil, answer.Body, maxAnswer)
	return answer, nil
}

// CloseIdleConnections passes on what http.Client asks of its transport.
func (b boundedTransport) CloseIdleConnections() {
	if closer, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}
