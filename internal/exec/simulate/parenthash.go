package simulate

import (
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// parentHash remembers the hash of the header that was asked for last: most simulations are on the
// newest block, whose header is one and the same in memory, and to hash it takes as long as a
// fortieth of three swaps. It is safe for concurrent use.
type parentHash struct{ last atomic.Pointer[hashed] }

// hashed keeps the header, so that no other one can have its place in memory.
type hashed struct {
	header *types.Header
	hash   common.Hash
}

// of is a header's hash. Nobody changes the header.
func (p *parentHash) of(header *types.Header) common.Hash {
	last := p.last.Load()
	if last == nil || last.header != header {
		last = &hashed{header, header.Hash()}
		p.last.Store(last)
	}
	return last.hash
}
