package pool

import (
	"cmp"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
)

// Config bounds a pool. What is zero has the default.
type Config struct {
	// MaxOrders is how many orders may be alive: 200,000. As many are kept after their end at most.
	MaxOrders int
	// MaxNewcomers is how many of them may be of newcomers, MaxPerSource how many of those from one
	// network: no bound. Newcomers are signers of class 0.
	MaxNewcomers, MaxPerSource int
	// MaxPerSigner is how many of them may be one signer's: 10,000.
	MaxPerSigner int
	// CancelMemory is how long the cancel of a replacementUuid that nothing came with is remembered:
	// 60 s.
	CancelMemory time.Duration
	// PrivateCancelBlocks is for how many blocks a cancelled private transaction is refused: 30.
	PrivateCancelBlocks uint64
	// KeepFinal is for how many blocks an order is kept after its end, for those who ask: 64.
	KeepFinal uint64
	// ReviveAfterCancel lets an order that is accepted after a cancel count at once, also for the
	// block that the cancelled version could have been in.
	ReviveAfterCancel bool
	// Class ranks signers: orders of a higher class are ready first. There are few classes, small
	// numbers. Nil ranks all the same. It is asked once per signer and Ready.
	Class func(signer common.Address) int
}

const (
	// horizon is how many blocks ahead of the newest one a window may reach: 5 to its first block, 30
	// from there, and room for other rules.
	horizon = 64
	// reorgDepth is for how many blocks the pool stays exact when blocks are taken back: indexes are
	// kept that much longer.
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

// Pool holds orders. It is not safe for concurrent use; its owner holds a lock for every call, also
// for those that only read.
type Pool struct {
	config Config
	head   rpc.Head
	// lastID is the greatest ID that was given.
	lastID uint64
	live   int
	// newcomers are those alive that were of class 0 when they came, sources their numbers by network.
	newcomers int
	sources   map[string]int
	// asked counts Ready calls.
	asked uint64
	// chosen and sorted are the memory of Ready.
	chosen, sorted []choice

	entries map[uint64]*entry
	// byHash holds all kept orders, oldest first; byTx those alive, by each of their transactions.
	byHash map[signed][]*entry
	byTx   map[common.Hash][]*entry
	// slab are the orders alive, close together; blocks their cells by each block that may have them.
	// swept is the last block whose expiry was looked at.
	slab   slab
	blocks map[uint64]*blockIndex
	swept  uint64

	accounts map[common.Address]*account
	keys     map[key]*generation
	// followers are the orders alive that follow another one, by its ID.
	followers map[uint64][]*entry
	// shared are the orders alive that may be followed, by their double hashes.
	shared map[common.Hash][]*entry

	// ended are final orders, in the order of their ends; noted are cancels, and withdrawals cancelled
	// private transactions, in theirs.
	ended       []endedOrder
	noted       []notedCancel
	withdrawn   map[signed]uint64
	withdrawals []signed
}

// key names the versions of one order.
type key struct {
	signer      common.Address
	replacement uuid.UUID
}

// signed names what one signer calls by a hash: it may have several orders with it, and other
// signers are no affair of theirs.
type signed struct {
	signer common.Address
	hash   common.Hash
}

// account is a signer with kept orders. class is what Config.Class said in the Ready call with the
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

// Live is how many orders are alive.
func (p *Pool) Live() int { return p.live }

// Kept is how many orders the pool knows, those included that came to their end.
func (p *Pool) Kept() int { return len(p.entries) }

// applyAll applies facts that were just decided and returns them for the journal.
func (p *Pool) applyAll(facts ...rpc.Fact) []rpc.Fact {
	for _, fact := range facts {
		p.Apply(fact)
	}
	return facts
}
