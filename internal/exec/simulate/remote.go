package simulate

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
)

// RemoteOptions say which nodes to ask, and how much to cache.
type RemoteOptions struct {
	// URLs of the nodes: http, https, ws or wss, at least one. The first that answers is asked. They
	// should be of one chain.
	URLs []string
	// Config is the chain's fork schedule. If it is nil, mainnet, sepolia and hoodi are recognised
	// by their chain id, and other networks' nodes are asked (eth_config, EIP-7910). A network
	// whose nodes do not know eth_config counts as one that began with all forks up to osaka.
	Config *params.ChainConfig
	// Blocks is the number of blocks, the last used ones, whose state is cached; 0 is 8.
	Blocks int
	// StateBytes bounds roughly what the cached states of all blocks take, and CodeBytes what codes
	// take; 0 is 64 MiB and 128 MiB.
	StateBytes, CodeBytes int
	// Try bounds one request to one node; then the next node is asked. 0 is 2 s.
	Try time.Duration
	// PollEvery is how often Follow looks for a new block when no node has subscriptions; 0 is 500 ms.
	PollEvery time.Duration
	// HTTP is the client to use; nil makes one.
	HTTP *http.Client
	// Log gets a line about nodes that do not answer; nil logs nothing.
	Log *slog.Logger
}

// withDefaults fills in what is zero.
func (o RemoteOptions) withDefaults() RemoteOptions {
	o.Blocks = positiveOr(o.Blocks, 8)
	o.StateBytes = positiveOr(o.StateBytes, 64<<20)
	o.CodeBytes = positiveOr(o.CodeBytes, 128<<20)
	o.Try = positiveOr(o.Try, 2*time.Second)
	o.PollEvery = positiveOr(o.PollEvery, 500*time.Millisecond)
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// positiveOr returns the value if it is above zero, otherwise the usual one.
func positiveOr[T int | time.Duration](value, usual T) T {
	if value > 0 {
		return value
	}
	return usual
}

// RemoteStates opens states of the nodes' chain, and follows that chain. It is safe for concurrent
// use.
//
//	                        memory of the newest blocks             nodes, in order
//	simulation ── reader ──▶ accounts, slots (by block) ──misses──▶ eth_getProof, eth_getStorageAt ──▶ ● answers
//	     ▲           └─────▶ code (for ever, by hash)   ──misses──▶ eth_getCode                       ◌ paused, 250 ms … 30 s
//	     └── Warm: one batch for senders, receivers and access lists
//
// Only methods of the standard API are used. Answers are checked where that is possible: headers
// and codes must have the hash that was asked for, and blocks must hold what their header names. A
// node without eth_getProof is asked for balance, nonce and code. A node without EIP-1898 is asked
// by block number, with the hash at that number in the same batch.
type RemoteStates struct {
	options RemoteOptions
	nodes   *nodes
	// empty is a placeholder for the database of tries. It is never opened, because states are read
	// through a reader and never committed.
	empty    corestate.Database
	memories *memories
	headers  *lru.Cache[common.Hash, *types.Header]
	codes    *lru.SizeConstrainedCache[common.Hash, []byte]
	// asking has the requests under way for headers, codes and the chain's config, so that each is
	// sent once.
	asking singleflight.Group

	mu     sync.Mutex // guards config
	config *params.ChainConfig
}

var (
	_ States     = (*RemoteStates)(nil)
	_ exec.Chain = (*RemoteStates)(nil)
	_ io.Closer  = (*RemoteStates)(nil)
)

// NewRemote returns the states of a chain. It sends no requests.
func NewRemote(options RemoteOptions) (*RemoteStates, error) {
	options = options.withDefaults()
	all, err := newNodes(options)
	if err != nil {
		return nil, err
	}
	return &RemoteStates{
		options: options, nodes: all, empty: corestate.NewDatabaseForTesting(),
		memories: newMemories(options.Blocks, options.StateBytes), headers: lru.NewCache[common.Hash, *types.Header](1024),
		codes: lru.NewSizeConstrainedCache[common.Hash, []byte](uint64(options.CodeBytes)), config: options.Config,
	}, nil
}

// Close ends the connections to the nodes.
func (s *RemoteStates) Close() error {
	s.nodes.close()
	return nil
}

// At implements States. It fetches the header unless it is cached, and the chain's config
// the first time. The state itself is fetched as it is read. When ctx ends, so do the reads.
func (s *RemoteStates) At(ctx context.Context, env exec.Environment) (*State, error) {
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
	return &State{Parent: types.CopyHeader(parent), DB: db, Config: config, Hash: ancestors.hash}, nil
}

// patience bounds a request that several callers wait for: it allows one try on each node, and one
// more.
func (s *RemoteStates) patience() time.Duration {
	return time.Duration(len(s.nodes.list)+1) * s.options.Try
}

// account reads an account from memory, or fetches it.
func (s *RemoteStates) account(ctx context.Context, block *types.Header, m *memory,
	address common.Address) (account, error) {
	if known, ok := m.accounts.Get(address); ok {
		return known, nil
	}
	return shared(ctx, &m.asking, s.patience(), string(address[:]), func(ctx context.Context) (account, error) {
		if known, ok := m.accounts.Get(address); ok { // another caller has fetched it meanwhile
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

// storage reads a slot from memory, or fetches it. A slot of an account that is known to have no
// storage is zero.
func (s *RemoteStates) storage(ctx context.Context, block *types.Header, m *memory, key slotKey) (common.Hash, error) {
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

// code reads a code from memory, or fetches it.
func (s *RemoteStates) code(ctx context.Context, block *types.Header, address common.Address,
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
			return nil, impossible("the code of %s does not have the hash that its account names", address)
		}
		s.codes.Add(hash, got.codes[0])
		return got.codes[0], nil
	})
}

func (s *RemoteStates) keepCodes(codes map[common.Hash][]byte) {
	for hash, code := range codes {
		s.codes.Add(hash, code)
	}
}
