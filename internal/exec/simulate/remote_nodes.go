package simulate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/rpc"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/upstream"
)

// maxAnswer bounds one HTTP answer, in bytes. The largest usual ones are blocks of 10 MB in hex.
const maxAnswer = 64 << 20

// node is one execution node and what is known of it beside its health.
type node struct {
	upstream.Endpoint

	mu       sync.Mutex // guards all below
	client   *rpc.Client
	noProofs bool // it refuses eth_getProof
	byNumber bool // it does not know EIP-1898's block objects
}

// nodes are asked in order until one answers. A node that failed is asked last until its pause is
// over.
type nodes struct {
	list   []*node
	pool   *upstream.Pool // by index in list
	client *http.Client
	log    *slog.Logger
}

func newNodes(o RemoteOptions) (*nodes, error) {
	endpoints, err := upstream.Parse("execution node", o.URLs, "http", "https", "ws", "wss")
	if err != nil {
		return nil, err
	}
	all := &nodes{client: boundClient(o.HTTP), log: o.Log}
	for _, endpoint := range endpoints {
		all.list = append(all.list, &node{Endpoint: endpoint})
	}
	all.pool = upstream.NewPool(len(endpoints), upstream.Config{
		Timeout: o.Try, PauseFailed: true,
		Answered: func(err error) bool { return errors.Is(err, exec.ErrUnknownBlock) },
	})
	return all, nil
}

// subscribes says whether the node has subscriptions (ws, wss).
func (n *node) subscribes() bool { return n.Scheme == "ws" || n.Scheme == "wss" }

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

// rpcCall makes requests to a node with its client.
type rpcCall func(context.Context, *node, *rpc.Client) error

// ask calls do with one node after another until one answers. The error is ErrUnknownBlock if a
// node says so and no other node knows the block, ErrNode if no node gives a sensible answer, and
// the context's own if the context ended.
func (s *nodes) ask(ctx context.Context, what string, do rpcCall) error {
	var unknown, trouble error
	err := s.pool.Ask(ctx, s.try(do), func(i int, err error) {
		if errors.Is(err, exec.ErrUnknownBlock) {
			unknown = err
			return
		}
		trouble = err
		s.log.Warn("execution node gives no answer", "node", s.list[i].Name, "asked", what, "error", err)
	})
	switch {
	case err == nil:
		return nil
	case !errors.Is(err, upstream.ErrNoAnswer):
		return fmt.Errorf("%s: %w", what, err)
	case unknown != nil:
		return fmt.Errorf("%s: %w", what, unknown)
	case errors.Is(trouble, exec.ErrNode):
		return fmt.Errorf("%s: %w", what, trouble)
	default:
		return fmt.Errorf("%s: %w: %w", what, exec.ErrNode, trouble)
	}
}

// Answers says of each node, by host and port, whether it answered its last request, or has had
// none.
func (s *RemoteStates) Answers() map[string]bool {
	healthy, endpoints := s.nodes.pool.Healthy(), make([]upstream.Endpoint, len(s.nodes.list))
	for i, n := range s.nodes.list {
		endpoints[i] = n.Endpoint
	}
	return upstream.ByName(endpoints, func(node int) bool { return healthy[node] })
}

// try returns a function that calls do with the node of an index, and classifies its error.
func (s *nodes) try(do rpcCall) func(context.Context, int) error {
	return func(ctx context.Context, i int) error {
		n := s.list[i]
		client, err := n.connect(ctx, s.client)
		if err != nil {
			return err
		}
		return classify(do(ctx, n, client))
	}
}

// connect returns the node's client. A websocket connects now, HTTP with the first request. The
// client itself renews a websocket that breaks.
func (n *node) connect(ctx context.Context, client *http.Client) (*rpc.Client, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.client == nil {
		made, err := rpc.DialOptions(ctx, n.URL, rpc.WithHTTPClient(client), rpc.WithWebsocketMessageSizeLimit(maxAnswer))
		if err != nil {
			return nil, withoutURL("connect", err)
		}
		n.client = made
	}
	return n.client, nil
}

// knows says whether to ask the node by eth_getProof and by block hash.
func (n *node) knows() (proofs, hashes bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.noProofs, !n.byNumber
}

// noteLacking remembers which of these the node has refused.
func (n *node) noteLacking(proofs, hashes bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.noProofs, n.byNumber = n.noProofs || proofs, n.byNumber || hashes
}

// boundClient returns a client that keeps connections open and reads at most maxAnswer bytes. It
// does not follow redirects.
func boundClient(given *http.Client) *http.Client {
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

// CloseIdleConnections passes the call of http.Client on to its transport.
func (b boundedTransport) CloseIdleConnections() {
	if closer, ok := b.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}
