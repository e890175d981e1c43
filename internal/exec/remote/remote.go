// Package remote has the states and blocks of a chain that execution nodes keep, of whatever make: state is read over JSON-RPC when a simulation
// needs it, and the EVM runs here.
//
//	simulate ─▶ States.At ─▶ StateDB ─▶ reader ─┬─ known of this block? ─▶ yes
//	                                            └─ eth_getProof, eth_getStorageAt, eth_getCode ─▶ the first node that answers
//	desk ─▶ Follow ─▶ eth_getBlockBy… twice a second ─▶ blocks, parents first
//
// State is asked for by the block's hash, so that a reorganisation between two questions cannot mix two states.
package remote

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/params"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/gavel-relay/gavel/internal/exec"
)

// Config says which nodes to ask. Zero values take the defaults that are named.
type Config struct {
	// URLs of the nodes (http, https, ws or wss), which all follow the same chain; the first is asked first, the next when it does not answer.
	URLs []string
	// Chain is the fork schedule; nil asks the nodes (see chainConfig).
	Chain *params.ChainConfig
	// Timeout bounds one question: 2 s.
	Timeout time.Duration
	// PollEvery is how often the newest block is asked for: 500 ms.
	PollEvery time.Duration
	// Blocks is of how many blocks what was read is kept: 8.
	Blocks int
	Log    *slog.Logger
}

// Node is one chain behind one or many nodes. It is safe for concurrent use.
type Node struct {
	cfg     Config
	clients []*rpc.Client
	// answering is the client that answered last.
	answering atomic.Int32
	chain     *params.ChainConfig
	caches    *caches
	codes     *codes
}

// Open connects to the nodes and learns the chain's forks. At least one must answer.
func Open(ctx context.Context, cfg Config) (*Node, error) {
	if len(cfg.URLs) == 0 {
		return nil, errors.New("no execution node")
	}
	orElse(&cfg.Timeout, 2*time.Second)
	orElse(&cfg.PollEvery, 500*time.Millisecond)
	orElse(&cfg.Blocks, 8)
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	n := &Node{cfg: cfg, caches: newCaches(cfg.Blocks), codes: newCodes()}
	for i, url := range cfg.URLs {
		client, err := rpc.DialContext(ctx, url)
		if err != nil {
			n.Close()
			return nil, fmt.Errorf("connect to execution node %d: %w", i+1, err)
		}
		n.clients = append(n.clients, client)
	}
	if n.chain = cfg.Chain; n.chain == nil {
		chain, err := n.chainConfig(ctx)
		if err != nil {
			n.Close()
			return nil, fmt.Errorf("learn the chain's forks: %w", err)
		}
		n.chain = chain
	}
	return n, nil
}

func orElse[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// Close ends the connections.
func (n *Node) Close() {
	for _, client := range n.clients {
		client.Close()
	}
}

// Chain is the fork schedule.
func (n *Node) Chain() *params.ChainConfig { return n.chain }

// errNotThere says that a node answered, but does not have what was asked for.
var errNotThere = errors.New("not there")

// ask has a question answered by the first node that can. The question is asked again of the next node when one does not answer, or does not know
// the block; its error is exec.ErrUnknownBlock if that was all of them, exec.ErrNode if none answered.
func (n *Node) ask(ctx context.Context, question func(ctx context.Context, client *rpc.Client) error) error {
	first := int(n.answering.Load())
	var errs []error
	known := false
	for i := range n.clients {
		at := (first + i) % len(n.clients)
		err := n.attempt(ctx, n.clients[at], question)
		if err == nil {
			n.answering.Store(int32(at))
			return nil
		}
		known = known || errors.Is(err, errNotThere)
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	if known {
		return fmt.Errorf("%w: %w", exec.ErrUnknownBlock, errors.Join(errs...))
	}
	return fmt.Errorf("%w: %w", exec.ErrNode, errors.Join(errs...))
}

func (n *Node) attempt(ctx context.Context, client *rpc.Client, question func(context.Context, *rpc.Client) error) error {
	ctx, cancel := context.WithTimeout(ctx, n.cfg.Timeout)
	defer cancel()
	err := question(ctx, client)
	if err != nil && aboutTheBlock(err) {
		return fmt.Errorf("%w: %w", errNotThere, err)
	}
	return err
}

// aboutTheBlock says whether a node's error means that it does not have a block, or not its state. Nodes have no code for it.
func aboutTheBlock(err error) bool {
	answered := (rpc.Error)(nil)
	if errors.Is(err, errNotThere) {
		return true
	}
	if !errors.As(err, &answered) {
		return false
	}
	text := strings.ToLower(answered.Error())
	for _, words := range []string{
		"header not found", "block not found", "unknown block", "hash not found", "missing trie node", "state not available", "historical state",
		"no state available", "pruned", "resource not found", "could not find block", "state is not available",
	} {
		if strings.Contains(text, words) {
			return true
		}
	}
	return false
}
