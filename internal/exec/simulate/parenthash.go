package simulate

import (
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

// parentHash remembers the hash of the header that was asked for last. Most simulations are on the
// newest block, whose header is the same object in memory, and hashing it takes a fortieth of the
// time of a simulation of three swaps. It is safe for concurrent use.
type parentHash struct{ last atomic.Pointer[hashed] }

// hashed keeps the header alive, so that no other header can get the same address.
type hashed struct {
	header *types.Header
	hash   common.Hash
}

// of is a header's hash. The header must never change.
func (p *parentHash) of(header *types.Header) common.Hash {
	last := p.last.Load()
	if last == nil || last.header != header {
		last = &hashed{header, header.Hash()}
		p.last.Store(last)
	}
	return last.hash
}
