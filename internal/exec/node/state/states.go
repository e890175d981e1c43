// Package state simulates on the state of any standard execution node: the EVM runs here, and what
// it reads is asked for by JSON-RPC when it is read, by block hash, and remembered.
//
//	                        memory of the newest blocks             nodes, in order
//	simulation ── reader ──▶ accounts, slots (by block) ──misses──▶ eth_getProof, eth_getStorageAt ──▶ ● answers
//	     ▲           └─────▶ code (for ever, by hash)   ──misses──▶ eth_getCode                       ◌ paused, 250 ms … 30 s
//	     └── Warm: one batch for senders, receivers and access lists
//
// Only methods of the standard API are used. Answers are checked where they can be: headers and
// codes have the hash that was asked for, blocks hold what their header names. A node without
// eth_getProof is asked for balance, nonce and code; one without EIP-1898 by block number, with the
// hash at that number in the same batch.
package state

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/lru"
	corestate "github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"golang.org/x/sync/singleflight"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// Options say which nodes to ask, and how much to remember.
type Options struct {
	// URLs of the nodes: http, https, ws or wss, at least one. The first that answers is asked. They
	// should be of one chain.
	URLs []string
	// Config is the chain's fork schedule. If nil it is known for mainnet, sepolia and hoodi by their
	// chain id, else told by the node (eth_config, EIP-7910); and a network whose nodes cannot tell
	// counts as one that has begun with all forks up to osaka.
	Config *params.ChainConfig
	// Blocks is of how many blocks the state is remembered, the last used; 0 is 8.
	Blocks int
	// StateBytes bounds, roughly, what the states of all blocks take, and CodeBytes what codes take; 0
	// is 64 MiB and 128 MiB.
	StateBytes, CodeBytes int
	// Try bounds one request to one node; then the next node is asked. 0 is 2 s.
	Try time.Duration
	// PollEvery is how often Follow looks for a new block when no node has subscriptions; 0 is 500 ms.
	PollEvery time.Duration
	// HTTP is nil for a client of our own.
	HTTP *http.Client
	// Log is told about nodes that do not answer; nil is nobody.
	Log *slog.Logger
}

// withDefaults fills in what is zero.
func (o Options) withDefaults() Options {
	orElse := func(value *int, usual int) {
		if *value <= 0 {
			*value = usual
		}
	}
	orElse(&o.Blocks, 8)
	orElse(&o.StateBytes, 64<<20)
	orElse(&o.CodeBytes, 128<<20)
	if o.Try <= 0 {
		o.Try = 2 * time.Second
	}
	if o.PollEvery <= 0 {
		o.PollEvery = 500 * time.Millisecond
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// States opens states of a chain that nodes know, and follows that chain. It is safe for concurrent
// use.
type States struct {
	options Options
	nodes   *nodes
	// empty stands for the database of tries, which nobody may open: states are read through a reader
	// and never committed.
	empty    corestate.Database
	memories *memories
	headers  *lru.Cache[common.Hash, *types.Header]
	codes    *lru.SizeConstrainedCache[common.Hash, []byte]
	// asking are questions under way for headers, and for the chain's config.
	asking singleflight.Group

	mu     sync.Mutex // guards config
	config *params.ChainConfig
}

var (
	_ simulate.States = (*States)(nil)
	_ exec.Chain      = (*States)(nil)
	_ io.Closer       = (*States)(nil)
)

// New returns the states of a chain. It asks nobody yet.
func New(options Options) (*States, error) {
	options = options.withDefaults()
	all, err := newNodes(options)
	if err != nil {
		return nil, err
	}
	return &States{
		options: options, nodes: all, empty: corestate.NewDatabaseForTesting(),
		memories: newMemories(options.Blocks, options.StateBytes), headers: lru.NewCache[common.Hash, *types.Header](1024),
		codes: lru.NewSizeConstrainedCache[common.Hash, []byte](uint64(options.CodeBytes)), config: options.Config,
	}, nil
}

// Close ends the connections to the nodes.
func (s *States) Close() error {
	s.nodes.close()
	return nil
}

// At implements simulate.States. It asks for the header, if that is not known, and for the chain's
// config the first time; the state itself is asked for as it is read. When ctx ends, so do the
// reads.
func (s *States) At(ctx context.Context, env exec.Environment) (*simulate.State, error) {
	config, err := s.chainConfig(ctx)
	if err != nil {
		return nil, err
	}
	parent, err := s.parent(ctx, env)
	if err != nil {
		return nil, err
	}
	if err := checkForks(config, parent); err != nil {
		return nil, err
	}
	r := &reader{ctx: ctx, states: s, block: parent, memory: s.memories.of(parent.Hash()), codes: map[common.Hash][]byte{}}
	db, err := corestate.NewWithReader(parent.Root, s.empty, r)
	if err != nil {
		return nil, fmt.Errorf("open the state of block %d: %w: %w", parent.Number, exec.ErrNode, err)
	}
	ancestors := &ancestors{reader: r, db: db, config: config}
	return &simulate.State{Parent: types.CopyHeader(parent), DB: db, Config: config, Hash: ancestors.hash}, nil
}

// patience is what a question that is asked for several may take: a try on each node, and some
// more.
func (s *States) patience() time.Duration { return time.Duration(len(s.nodes.list)+1) * s.options.Try }

// account reads an account from memory, or asks for it.
func (s *States) account(ctx context.Context, block *types.Header, m *memory, address common.Address) (account, error) {
	if known, ok := m.accounts.Get(address); ok {
		return known, nil
	}
	return shared(ctx, &m.asking, s.patience(), string(address[:]), func(ctx context.Context) (account, error) {
		if known, ok := m.accounts.Get(address); ok { // who asked before us has just been answered
			return known, nil
		}
		got, err := s.fetch(ctx, block, wanted{accounts: []common.Address{address}})
		if err != nil {
			return account{}, err
		}
		s.keepCodes(got.extra)
		m.accounts.Add(address, got.accounts[0])
		return got.accounts[0], nil
	})
}

// storage reads a slot from memory, or asks for it; unless its account is known to have none.
func (s *States) storage(ctx context.Context, block *types.Header, m *memory, key slotKey) (common.Hash, error) {
	if value, ok := m.slots.Get(key); ok {
		return value, nil
	}
	if known, ok := m.accounts.Get(key.address); ok && known.bare {
		return common.Hash{}, nil
	}
	return shared(ctx, &m.asking, s.patience(), string(key.address[:])+string(key.slot[:]),
		func(ctx context.Context) (common.Hash, error) {
			if value, ok := m.slots.Get(key); ok {
				return value, nil
			}
			got, err := s.fetch(ctx, block, wanted{slots: []slotKey{key}})
			if err != nil {
				return common.Hash{}, err
			}
			m.slots.Add(key, got.slots[0])
			return got.slots[0], nil
		})
}

// code reads a code from memory, or asks for it.
func (s *States) code(ctx context.Context, block *types.Header, address common.Address,
	hash common.Hash) ([]byte, error) {
	if code, ok := s.codes.Get(hash); ok {
		return code, nil
	}
	return shared(ctx, &s.asking, s.patience(), hash.Hex()+"code", func(ctx context.Context) ([]byte, error) {
		if code, ok := s.codes.Get(hash); ok {
			return code, nil
		}
		got, err := s.fetch(ctx, block, wanted{codes: []common.Address{address}})
		if err != nil {
			return nil, err
		}
		if crypto.Keccak256Hash(got.codes[0]) != hash {
			return nil, nonsense("the code of %s does not have the hash that its account names", address)
		}
		s.codes.Add(hash, got.codes[0])
		return got.codes[0], nil
	})
}

func (s *States) keepCodes(codes map[common.Hash][]byte) {
	for hash, code := range codes {
		s.codes.Add(hash, code)
	}
}
