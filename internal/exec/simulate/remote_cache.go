package simulate

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

// What an entry of the caches takes in bytes, with its keys and links, measured on a 64-bit machine
// and rounded up.
const (
	accountBytes = 512
	slotBytes    = 320
)

// account is an account as a node reports it.
type account struct {
	// state is nil if the account does not exist.
	state *types.StateAccount
	// bare: the account has no storage, so its slots need not be asked for.
	bare bool
}

// slotKey names a slot of an account.
type slotKey struct {
	address common.Address
	slot    common.Hash
}

// memory is what is known of the state after one block. It never becomes wrong, because each block
// has its own memory.
type memory struct {
	accounts *lru.Cache[common.Address, account]
	slots    *lru.Cache[slotKey, common.Hash]
	// asking has the requests under way, so that each is sent once.
	asking singleflight.Group
}

// memories holds those of the blocks that were used last.
type memories struct {
	mu       sync.Mutex // guards all below
	blocks   lru.BasicLRU[common.Hash, *memory]
	perBlock int // bytes
}

// newMemories keeps so many blocks, whose states take about so many bytes together.
func newMemories(blocks, bytes int) *memories {
	return &memories{blocks: lru.NewBasicLRU[common.Hash, *memory](blocks), perBlock: bytes / blocks}
}

// of returns the memory of a block; it is empty if the block is new or was forgotten. Half of a
// block's bytes are for accounts, half for slots.
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

// shared sends one request for all callers that ask the same at the same time. The request goes on
// when the first caller's context ends, because others wait for its answer. Each caller waits until
// its own context ends at the latest, and patience bounds the request itself.
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
