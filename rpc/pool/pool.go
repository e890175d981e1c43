package pool

import (
	"cmp"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// Config bounds a pool. The comments name the defaults for zero fields.
type Config struct {
	// MaxOrders is how many orders may be alive: 200,000. After their end at most as many are kept.
	MaxOrders int
	// MaxNewcomers is how many live orders may be of newcomers, MaxPerSource how many of those may
	// come from one network: unlimited. Newcomers are signers of class 0.
	MaxNewcomers, MaxPerSource int
	// MaxPerSigner is how many live orders one signer may have: 10,000.
	MaxPerSigner int
	// CancelMemory is how long a cancel is remembered if no order with its replacementUuid came
	// before: 60 s.
	CancelMemory time.Duration
	// PrivateCancelBlocks is for how many blocks a cancelled private transaction is refused: 30.
	PrivateCancelBlocks uint64
	// KeepFinal is for how many blocks an order is kept after its end, for status requests: 64.
	KeepFinal uint64
	// ReviveAfterCancel lets an order that is accepted after a cancel count at once, even for the
	// block that the cancelled version could have been in.
	ReviveAfterCancel bool
	// Class ranks signers: orders of a higher class come first in Ready. Classes must be few, small
	// numbers. Nil ranks all signers equally. It is called once per signer and call of Ready.
	Class func(signer common.Address) int
}

const (
	// horizon is how many blocks ahead of the newest one a window may reach: 5 to its first block,
	// 30 from there to its last, and some more for other rules.
	horizon = 64
	// reorgDepth is for how many blocks the pool stays exact when blocks are reverted: indexes are
	// kept for that much longer.
	reorgDepth = 8
)

func (c Config) withDefaults() Config {
	c.MaxOrders = cmp.Or(c.MaxOrders, 200_000)
	c.MaxPerSigner = cmp.Or(c.MaxPerSigner, 10_000)
	c.CancelMemory = cmp.Or(c.CancelMemory, time.Minute)
	c.PrivateCancelBlocks = cmp.Or(c.PrivateCancelBlocks, 30)
	c.KeepFinal = cmp.Or(c.KeepFinal, 64)
	return c
}

// Pool holds orders. It is not safe for concurrent use: its owner must hold a lock for every call,
// even for those that only read.
type Pool struct {
	config Config
	head   rpc.Head
	// lastID is the greatest ID that was assigned.
	lastID uint64
	live   int
	// newcomers counts the live orders whose signers were of class 0 when they came; sources counts
	// these by network.
	newcomers int
	sources   map[string]int
	// asked counts calls of Ready.
	asked uint64
	// chosen and sorted are slices that Ready reuses.
	chosen, sorted []choice

	entries map[uint64]*entry
	// byHash holds all kept orders, oldest first; byTx holds the live ones, by each of their
	// transactions.
	byHash map[signed][]*entry
	byTx   map[common.Hash][]*entry
	// slab holds the live orders' cells, close together in memory. blocks are the handles of the
	// orders that each block may include. swept is the last block that has been checked for expired
	// orders.
	slab   slab
	blocks map[uint64]*blockIndex
	swept  uint64

	accounts map[common.Address]*account
	keys     map[key]*generation
	// followers are the live orders that follow another one, by its ID.
	followers map[uint64][]*entry
	// shared are the live orders that may be followed, by their double hashes.
	shared map[common.Hash][]*entry

	// ended are the ended orders, noted the cancels, and withdrawals the cancelled private
	// transactions, each in the order in which they came. withdrawn says up to which block a
	// private transaction is refused.
	ended       []endedOrder
	noted       []notedCancel
	withdrawn   map[signed]uint64
	withdrawals []signed
}

// key identifies the versions of one order.
type key struct {
	signer      common.Address
	replacement uuid.UUID
}

// signed identifies the orders of one signer with one hash; there may be several.
type signed struct {
	signer common.Address
	hash   common.Hash
}

// account is a signer with kept orders. class is what Config.Class returned in the call of Ready
// number asked.
type account struct {
	kept, live int
	class      int32
	asked      uint64
}

// New makes an empty pool.
func New(config Config) *Pool {
	return &Pool{
		config:    config.withDefaults(),
		entries:   make(map[uint64]*entry),
		byHash:    make(map[signed][]*entry),
		byTx:      make(map[common.Hash][]*entry),
		blocks:    make(map[uint64]*blockIndex),
		accounts:  make(map[common.Address]*account),
		keys:      make(map[key]*generation),
		followers: make(map[uint64][]*entry),
		shared:    make(map[common.Hash][]*entry),
		withdrawn: make(map[signed]uint64),
		sources:   make(map[string]int),
	}
}

// Live is the number of live orders.
func (p *Pool) Live() int { return p.live }

// Kept is the number of orders that the pool knows, including those that have ended.
func (p *Pool) Kept() int { return len(p.entries) }

// applyAll applies new facts and returns them for the journal.
func (p *Pool) applyAll(facts ...rpc.Fact) []rpc.Fact {
	for _, fact := range facts {
		p.Apply(fact)
	}
	return facts
}
