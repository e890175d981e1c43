package submit

// A HydrationCache makes whole submissions from dehydrated ones (wire.Dehydrate). They exist
// because builders send block after block in a slot, and nine tenths of each are transactions and
// blobs that they have sent a moment before.
//
//	builder ─▶ whole block ─▶ wire.DecodeSubmission ─────────────▶ submit  ─▶ accepted ─▶ Remember
//	                                                                                        │
//	                                                                        HydrationCache, by builder and hash
//	                                                                                        │
//	builder ─▶ dehydrated  ─▶ wire.DecodeSubmission ─▶ Fill ◀───────────────────────────────┘
//	           + X-Blobs-Sent                           │ ╲
//	                                                    ▼  ▶ *MissingItem: send the whole block
//	                                              whole block, as if it had come so
//
// Each builder has a cache of its own: in a shared one, a builder could find out whether another
// one has a transaction. The API key says which builder it is. A public key in the message would be
// only a claim, since it is not verified yet when Fill is called.
//
// What comes from the cache is trusted no more than what comes from the network: a filled
// submission must pass all checks.

import (
	"container/list"
	"sync"
	"sync/atomic"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"
)

// Defaults of a HydrationCache.
const (
	DefaultBuilderBytes = 64 << 20
	DefaultBlockBytes   = 16 << 20
)

// HydrationCache keeps what builders have sent. The zero value is ready; it is safe for concurrent
// use. It holds items by each builder's name that it is asked for, so names must come from the
// operator's list of API keys and not from a request.
type HydrationCache struct {
	// BuilderBytes bounds what is kept of one builder, DefaultBuilderBytes if 0. The least recently
	// used item is dropped first.
	BuilderBytes int
	// BlockBytes bounds the transactions and blobs of a filled submission, DefaultBlockBytes if 0:
	// without it a small submission could name a large transaction many times. It should be the limit
	// of whole submissions.
	BlockBytes int

	found, missing atomic.Uint64 // items that were looked for

	mu     sync.Mutex
	caches map[string]*builderCache // guarded by mu; each guards itself
}

// Counts returns how many transactions and blobs of dehydrated submissions were found, and how many
// were not, since the start.
func (c *HydrationCache) Counts() (found, missing uint64) { return c.found.Load(), c.missing.Load() }

func (c *HydrationCache) cacheOf(builder string) *builderCache {
	c.mu.Lock()
	defer c.mu.Unlock()
	if found := c.caches[builder]; found != nil {
		return found
	}
	if c.caches == nil {
		c.caches = map[string]*builderCache{}
	}
	made := &builderCache{limitBytes: orDefault(c.BuilderBytes, DefaultBuilderBytes), items: map[key]*list.Element{}}
	c.caches[builder] = made
	return made
}

func orDefault(value, standard int) int {
	if value <= 0 {
		return standard
	}
	return value
}

// key names an item: a transaction's hash, or a blob's commitment, which is longer.
type key struct {
	isBlob bool
	id     [deneb.KZGCommitmentLength]byte
}

func txKey(hash [32]byte) (k key) {
	copy(k.id[:], hash[:])
	return k
}

func blobKey(commitment deneb.KZGCommitment) key { return key{isBlob: true, id: commitment} }

// item is a transaction, or a blob with its proofs. It never changes once it is kept.
type item struct {
	key    key
	tx     bellatrix.Transaction
	blob   *deneb.Blob
	proofs []deneb.KZGProof
}

// itemBytes is about how much memory an item takes besides its contents: the struct, and its
// entries in the list and in the map.
const itemBytes = 256

func (i *item) bytes() int {
	size := itemBytes + len(i.tx) + len(i.proofs)*deneb.KZGCommitmentLength
	if i.blob != nil {
		size += deneb.BlobLength
	}
	return size
}

// builderCache holds the items of one builder.
type builderCache struct {
	limitBytes int

	mu    sync.Mutex
	bytes int                   // guarded by mu, as all below
	items map[key]*list.Element // of *item
	order list.List             // last used first
}

// find returns the item of a key and marks it as used; nil if there is none. The caller holds mu.
func (s *builderCache) find(k key) *item {
	element := s.items[k]
	if element == nil {
		return nil
	}
	s.order.MoveToFront(element)
	return element.Value.(*item)
}

// put keeps an item, in place of another one of the same key, and drops the least recently used
// ones above the limit. The caller holds mu.
func (s *builderCache) put(i *item) {
	if element := s.items[i.key]; element != nil {
		s.remove(element)
	}
	s.bytes += i.bytes()
	s.items[i.key] = s.order.PushFront(i)
	for s.bytes > s.limitBytes {
		s.remove(s.order.Back())
	}
}

func (s *builderCache) remove(element *list.Element) {
	gone := s.order.Remove(element).(*item)
	s.bytes -= gone.bytes()
	delete(s.items, gone.key)
}
