package remote

import (
	"container/list"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/lru"
	"github.com/ethereum/go-ethereum/core/types"
	"golang.org/x/sync/singleflight"
)

// maxEntries bounds what is kept of one block: accounts and slots, some 100 bytes each.
const maxEntries = 500_000

// blockCache is what was read of one block's state. What is there never changes.
type blockCache struct {
	asking singleflight.Group // so that simulations which want the same ask once

	mu       sync.RWMutex                           // guards the maps
	accounts map[common.Address]*types.StateAccount // nil for one that does not exist
	slots    map[slotKey]common.Hash
	hashes   map[uint64]common.Hash // of ancestors
}

type slotKey struct {
	account common.Address
	slot    common.Hash
}

func newBlockCache() *blockCache {
	return &blockCache{
		accounts: map[common.Address]*types.StateAccount{}, slots: map[slotKey]common.Hash{}, hashes: map[uint64]common.Hash{},
	}
}

// cached is a value of a map, or what fetch finds, which is kept if there is room.
func cached[K comparable, V any](c *blockCache, kept map[K]V, key K, name string, fetch func() (V, error)) (V, error) {
	c.mu.RLock()
	value, known := kept[key]
	c.mu.RUnlock()
	if known {
		return value, nil
	}
	found, err, _ := c.asking.Do(name, func() (any, error) {
		value, err := fetch()
		if err != nil {
			return nil, err
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		if len(kept) < maxEntries {
			kept[key] = value
		}
		return value, nil
	})
	if err != nil {
		return value, err
	}
	return found.(V), nil
}

// caches are those of the newest blocks that were asked for.
type caches struct {
	mu     sync.Mutex // guards what follows
	limit  int
	blocks map[common.Hash]*list.Element // of *namedCache
	recent list.List                     // the last one used first
}

type namedCache struct {
	block common.Hash
	cache *blockCache
}

func newCaches(limit int) *caches {
	return &caches{limit: limit, blocks: map[common.Hash]*list.Element{}}
}

// of is a block's cache.
func (c *caches) of(block common.Hash) *blockCache {
	c.mu.Lock()
	defer c.mu.Unlock()
	if element, known := c.blocks[block]; known {
		c.recent.MoveToFront(element)
		return element.Value.(*namedCache).cache
	}
	if len(c.blocks) >= c.limit {
		delete(c.blocks, c.recent.Remove(c.recent.Back()).(*namedCache).block)
	}
	fresh := &namedCache{block, newBlockCache()}
	c.blocks[block] = c.recent.PushFront(fresh)
	return fresh.cache
}

// codes are contracts' code by hash, which is the same in every block.
type codes = lru.SizeConstrainedCache[common.Hash, []byte]

// codeBytes is the room for code.
const codeBytes = 64 << 20

func newCodes() *codes { return lru.NewSizeConstrainedCache[common.Hash, []byte](codeBytes) }
