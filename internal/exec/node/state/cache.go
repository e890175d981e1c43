package state

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/lru"
	"github.com/ethereum/go-ethereum/core/types"
	"golang.org/x/sync/singleflight"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/upstream"
)

// What an entry of the caches takes, in bytes, with its keys and links: measured on 64-bit machines
// and rounded up.
const (
	accountBytes = 512
	slotBytes    = 320
)

// account is an account as a node told it.
type account struct {
	// state is nil if there is none.
	state *types.StateAccount
	// bare: it has no storage, and no slot needs to be asked for.
	bare bool
}

// slotKey names a slot of an account.
type slotKey struct {
	address common.Address
	slot    common.Hash
}

// memory is what is known of the state after one block. It stays true for ever: what follows
// another block is another memory.
type memory struct {
	accounts *lru.Cache[common.Address, account]
	slots    *lru.Cache[slotKey, common.Hash]
	// asking are questions under way.
	asking singleflight.Group
}

// memories are those of the blocks that were asked for last.
type memories struct {
	mu       sync.Mutex // guards all below
	blocks   lru.BasicLRU[common.Hash, *memory]
	perBlock int // bytes
}

// newMemories keeps a number of blocks, whose state takes at most so many bytes together.
func newMemories(blocks, bytes int) *memories {
	return &memories{blocks: lru.NewBasicLRU[common.Hash, *memory](blocks), perBlock: bytes / blocks}
}

// of returns the memory of a block, empty if it is new or was forgotten. An account takes as much
// of its bytes as its slots do.
func (m *memories) of(block common.Hash) *memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	if known, ok := m.blocks.Get(block); ok {
		return known
	}
	fresh := &memory{
		accounts: lru.NewCache[common.Address, account](max(m.perBlock/2/accountBytes, 16)),
		slots:    lru.NewCache[slotKey, common.Hash](max(m.perBlock/2/slotBytes, 16)),
	}
	m.blocks.Add(block, fresh)
	return fresh
}

// shared asks once for all who ask the same at the same time. The question does not end with who
// asked it first, since others wait for its answer; but nobody waits past the end of his own
// context, and the question itself has an end.
func shared[T any](
	ctx context.Context, group *singleflight.Group, patience time.Duration, key string,
	ask func(context.Context) (T, error),
) (T, error) {
	answer := group.DoChan(key, func() (any, error) {
		within, cancel := context.WithTimeoutCause(context.WithoutCancel(ctx), patience,
			fmt.Errorf("%w: %w", exec.ErrNode, upstream.ErrSlow))
		defer cancel()
		return ask(within)
	})
	var none T
	select {
	case <-ctx.Done():
		return none, context.Cause(ctx)
	case got := <-answer:
		if got.Err != nil {
			return none, got.Err
		}
		return got.Val.(T), nil
	}
}
