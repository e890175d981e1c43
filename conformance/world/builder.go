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

// BuilderNames are the builders that a bundle RPC may send orders to. The first must be the
// operator's own, which gets every order; it makes the world's blocks. The others get orders that
// name them or go to all builders.
var BuilderNames = []string{"default", "second", "third"}

// EarliestRefundBlock is the first block whose refunds an RPC in the world may list. On mainnet it
// is block 20802497.
const EarliestRefundBlock = 16

// Sent is a request about an order that a builder has accepted.
type Sent struct {
	Builder string `json:"builder"`
	Method  string `json:"method"`
	// Head is the number of the world's newest block when the request came.
	Head uint64 `json:"head"`
	// FirstBlock and LastBlock are the blocks that the order is for, inclusive. 0 means that the
	// request did not say.
	FirstBlock uint64 `json:"firstBlock"`
	LastBlock  uint64 `json:"lastBlock"`
	// Txs are the hashes of the order's transactions. Those of inner bundles are at the bundle's
	// place.
	Txs []common.Hash `json:"txs"`
	// Cancelled says that the order was cancelled afterwards.
	Cancelled bool `json:"cancelled"`

	replacement string // the signer and the order's replacementUuid, if it has one
}

// maxOrderBody bounds the body of a request to a builder, in bytes.
const maxOrderBody = 30 << 20

// builders are the world's builders. They take orders by JSON-RPC as real builders do, and remember
// them. They put only those orders into the world's blocks that the suite has asked for, so that no
// order is included by chance.
//
//	RPC under test ──eth_sendBundle, mev_sendBundle, eth_cancelBundle──▶ /default /second /third ─▶ sent
//	suite ──────────include, sent──────────────────────────────────────▶ wanted
//	beacon node ────local block────────────────────────────────────────▶ Build: orders of default with a wanted transaction, refunds paid
type builders struct {
	*chain.Node

	coinbase common.Address
	takers   map[string]http.Handler
	own      *orders.Intake // takes the orders of the first builder

	mu     sync.Mutex // guards the fields below
	sent   map[common.Hash][]*Sent
	wanted map[common.Hash]bool
}

// openBuilders makes the world's builders. They pay refunds from the wallet of the network's
// builder. The beacon node gets its local blocks from them and not from the chain's node, so that
// blocks can have orders.
func (w *World) openBuilders(node *chain.Node) (beacon.Execution, error) {
	wallet := network.Wallet(seed, "builder", 0)
	b := &builders{
		Node: node, coinbase: network.Address(wallet), takers: map[string]http.Handler{},
		sent: map[common.Hash][]*Sent{}, wanted: map[common.Hash]bool{},
	}
	for _, name := range BuilderNames {
		made := orders.New(wallet, types.LatestSignerForChainID(big.NewInt(network.ChainID)))
		made.TakesUnsigned = true // as the builders behind an RPC of the same operator
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

// Handler returns the handler that takes orders. Each builder has its name as path.
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

// listener forwards an answer and keeps a copy.
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

// took says whether the builder has accepted the order.
func (l *listener) took() bool {
	var answer struct {
		Error json.RawMessage `json:"error"`
	}
	return (l.status == 0 || l.status == http.StatusOK) && json.Unmarshal(l.said.Bytes(), &answer) == nil &&
		answer.Error == nil
}

// builderRequest has the members of a request to a builder that the suite wants to know. One type
// serves eth_sendBundle, mev_sendBundle, eth_sendPrivateTransaction and eth_cancelBundle, because
// members of the same name mean the same in all of them.
type builderRequest struct {
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
	Tx     hexutil.Bytes   `json:"tx"`
	Bundle *builderRequest `json:"bundle"`
}

// transactions returns the hashes of all transactions of the request, depth first.
func (o *builderRequest) transactions() (list []common.Hash) {
	add := func(raw hexutil.Bytes) {
		tx := new(types.Transaction)
		if len(raw) > 0 && tx.UnmarshalBinary(raw) == nil { // the builder has accepted it, so it can be read
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

// remember records a request that a builder has accepted.
func (b *builders) remember(name, signer string, body []byte) {
	var call struct {
		Method string            `json:"method"`
		Params []json.RawMessage `json:"params"`
	}
	var o builderRequest
	if json.Unmarshal(body, &call) != nil || len(call.Params) == 0 {
		return
	}
	// eth_sendPrivateRawTransaction has only the transaction
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

// cancel marks the orders of a replacement as cancelled. The caller holds mu.
func (b *builders) cancel(replacement string) {
	for _, list := range b.sent {
		for _, s := range list {
			s.Cancelled = s.Cancelled || replacement != "" && s.replacement == replacement
		}
	}
}

// listSent returns what builders were sent about a transaction, oldest first.
func (b *builders) listSent(tx common.Hash) []Sent {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := []Sent{}
	for _, s := range b.sent[tx] {
		list = append(list, *s)
	}
	return list
}

// want has the builder put orders with these transactions into blocks from now on.
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

// Build makes a local block: wanted orders come first, then transactions of the public pool. Its
// fee recipient is the builder, because the builder pays refunds.
func (b *builders) Build(ctx context.Context, args chain.BuildArgs) (*chain.Built, error) {
	args.Coinbase = b.coinbase
	draft, err := b.Draft(ctx, args)
	if err != nil {
		return nil, err
	}
	draft, _ = b.own.Merge(ctx, draft, b.isWanted)
	for _, tx := range args.Transactions {
		_, _ = draft.Apply(ctx, tx) // a transaction that does not fit stays in the pool
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("build a local block: %w", err)
	}
	return draft.Finish(ctx)
}
