package world

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/devnet/agent/orders"
	"github.com/gavel-relay/gavel/devnet/beacon"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"
)

// BuilderNames are the builders that a bundle RPC may send orders to. The first is to be the
// operator's own, which gets every order, and it makes the world's blocks; the others get what
// names them or goes to all.
var BuilderNames = []string{"default", "second", "third"}

// EarliestRefundBlock is the first block of which an RPC in the world may list refunds, in the
// place of a public network's 20802497.
const EarliestRefundBlock = 16

// Sent is a request about an order that a builder has taken.
type Sent struct {
	Builder string `json:"builder"`
	Method  string `json:"method"`
	// Head is the number of the world's newest block then.
	Head uint64 `json:"head"`
	// FirstBlock and LastBlock are the blocks that the order is for, inclusive; 0 is not said.
	FirstBlock uint64 `json:"firstBlock"`
	LastBlock  uint64 `json:"lastBlock"`
	// Txs are the hashes of its transactions, depth first.
	Txs []common.Hash `json:"txs"`
	// Cancelled says that the builder was told to forget it.
	Cancelled bool `json:"cancelled"`

	replacement string // the signer and the order's replacementUuid, if it has one
}

// maxOrderBody bounds a request to a builder.
const maxOrderBody = 30 << 20

// builders take orders by JSON-RPC as builders do, remember what came, and put into the world's
// blocks what the suite wants there, and nothing else: so no spec's order lands by itself.
//
//	RPC under test ──eth_sendBundle, mev_sendBundle, eth_cancelBundle──▶ /default /second /third ─▶ sent
//	suite ──────────include, sent──────────────────────────────────────▶ wanted
//	beacon node ────local block────────────────────────────────────────▶ Build: orders of default with a wanted transaction, refunds paid
type builders struct {
	*chain.Node

	coinbase common.Address
	takers   map[string]http.Handler
	own      *orders.Intake // of the first builder

	mu     sync.Mutex // guards what follows
	sent   map[common.Hash][]*Sent
	wanted map[common.Hash]bool
}

// openBuilders are builders on the network's node, who pay refunds from its builder's wallet. They
// stand between beacon node and chain.
func (w *World) openBuilders(node *chain.Node) (beacon.Execution, error) {
	wallet := network.Wallet(seed, "builder", 0)
	b := &builders{
		Node: node, coinbase: network.Address(wallet), takers: map[string]http.Handler{},
		sent: map[common.Hash][]*Sent{}, wanted: map[common.Hash]bool{},
	}
	for _, name := range BuilderNames {
		made := orders.New(wallet, types.LatestSignerForChainID(big.NewInt(network.ChainID)))
		taker, err := made.Handler()
		if err != nil {
			return nil, err
		}
		if b.takers[name] = taker; b.own == nil {
			b.own = made
		}
	}
	w.builders = b
	return b, nil
}

// Handler is where orders come in, each builder at its name.
func (b *builders) Handler() http.Handler {
	mux := http.NewServeMux()
	for name, taker := range b.takers {
		mux.HandleFunc("POST /"+name, func(rw http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(http.MaxBytesReader(rw, r.Body, maxOrderBody))
			if err != nil {
				http.Error(rw, err.Error(), http.StatusBadRequest)
				return
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			signer, _, _ := strings.Cut(r.Header.Get("X-Flashbots-Signature"), ":")
			heard := &listener{ResponseWriter: rw}
			taker.ServeHTTP(heard, r)
			if heard.took() {
				b.remember(name, strings.ToLower(signer), body)
			}
		})
	}
	return mux
}

// listener hears what is answered.
type listener struct {
	http.ResponseWriter

	status int
	said   bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (l *listener) WriteHeader(status int) {
	l.status = status
	l.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (l *listener) Write(p []byte) (int, error) {
	l.said.Write(p)
	return l.ResponseWriter.Write(p)
}

// took says whether the answer is a success.
func (l *listener) took() bool {
	var answer struct {
		Error json.RawMessage `json:"error"`
	}
	return (l.status == 0 || l.status == http.StatusOK) && json.Unmarshal(l.said.Bytes(), &answer) == nil &&
		answer.Error == nil
}

// told is a request to a builder, as far as the suite wants to know it: the forms of
// eth_sendBundle, mev_sendBundle, eth_sendPrivateTransaction and eth_cancelBundle have no member in
// common that means different things.
type told struct {
	Txs            []hexutil.Bytes `json:"txs"`
	Tx             hexutil.Bytes   `json:"tx"`
	Body           []element       `json:"body"`
	BlockNumber    hexutil.Uint64  `json:"blockNumber"`
	MaxBlockNumber hexutil.Uint64  `json:"maxBlockNumber"`
	Inclusion      struct {
		Block    hexutil.Uint64 `json:"block"`
		MaxBlock hexutil.Uint64 `json:"maxBlock"`
	} `json:"inclusion"`
	Replacement string `json:"replacementUuid"`
}

type element struct {
	Tx     hexutil.Bytes `json:"tx"`
	Bundle *told         `json:"bundle"`
}

// transactions are the hashes of what was sent, depth first.
func (o *told) transactions() (list []common.Hash) {
	add := func(raw hexutil.Bytes) {
		tx := new(types.Transaction)
		if len(raw) > 0 && tx.UnmarshalBinary(raw) == nil { // the builder has read it already
			list = append(list, tx.Hash())
		}
	}
	for _, raw := range append(o.Txs, o.Tx) {
		add(raw)
	}
	for _, e := range o.Body {
		if add(e.Tx); e.Bundle != nil {
			list = append(list, e.Bundle.transactions()...)
		}
	}
	return list
}

// remember notes a request that a builder has taken.
func (b *builders) remember(name, signer string, body []byte) {
	var call struct {
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	var o told
	if json.Unmarshal(body, &call) != nil || len(call.Params) == 0 {
		return
	}
	// the raw form has the transaction alone
	if json.Unmarshal(call.Params[0], &o) != nil && json.Unmarshal(call.Params[0], &o.Tx) != nil {
		return
	}
	s := &Sent{
		Builder: name, Method: call.Method, Head: b.Chain().CurrentBlock().Number.Uint64(),
		FirstBlock: uint64(max(o.BlockNumber, o.Inclusion.Block)),
		LastBlock:  uint64(max(o.BlockNumber, o.Inclusion.Block, o.Inclusion.MaxBlock, o.MaxBlockNumber)),
		Txs:        o.transactions(),
	}
	if o.Replacement != "" {
		s.replacement = name + signer + strings.ToLower(o.Replacement)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(s.Txs) == 0 {
		b.cancel(s.replacement)
	}
	for _, tx := range s.Txs {
		b.sent[tx] = append(b.sent[tx], s)
	}
}

// cancel marks what a builder was told to forget. The caller holds mu.
func (b *builders) cancel(replacement string) {
	for _, list := range b.sent {
		for _, s := range list {
			s.Cancelled = s.Cancelled || replacement != "" && s.replacement == replacement
		}
	}
}

// about is what builders were sent about a transaction, oldest first.
func (b *builders) about(tx common.Hash) []Sent {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := []Sent{}
	for _, s := range b.sent[tx] {
		list = append(list, *s)
	}
	return list
}

// want has orders with these transactions put into blocks from now on.
func (b *builders) want(txs []common.Hash) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, tx := range txs {
		b.wanted[tx] = true
	}
}

func (b *builders) isWanted(tx common.Hash) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.wanted[tx]
}

// Build makes a local block: orders that are wanted come first, and then what the pool has. The
// builder is its fee recipient, since it pays refunds.
func (b *builders) Build(ctx context.Context, args chain.BuildArgs) (*chain.Built, error) {
	args.Coinbase = b.coinbase
	draft, err := b.Draft(ctx, args)
	if err != nil {
		return nil, err
	}
	draft, _ = b.own.Merge(ctx, draft, b.isWanted)
	for _, tx := range args.Transactions {
		_, _ = draft.Apply(ctx, tx) // what does not fit, or is there already, waits
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("build a local block: %w", err)
	}
	return draft.Finish(ctx)
}
