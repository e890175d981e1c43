package rpc

import (
	"fmt"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/conformance/suite"
)

const (
	// blocksTried is for how many blocks a private transaction is tried.
	blocksTried = 25
	// blocksLost is how many of them may be missing where blocks come so close together that nothing
	// can be sent between them.
	blocksLost = 3
)

// quiet are preferences of which nobody hears: slow specs run beside those that listen to the
// stream.
var quiet = object{"fast": false, "privacy": object{"hints": []string{}}}

// offered are the blocks that builders were to include a transaction in: the number of them, the
// first and the last.
func offered(t *suite.T, tx *types.Transaction) (count int, first, last uint64) {
	blocks := map[uint64]bool{}
	for _, s := range sentTo(t, tx) {
		from, to := s.FirstBlock, s.LastBlock
		if from == 0 {
			from = s.Head + 1
		}
		if to == 0 { // a private transaction without an end, which the builder tries by itself for as long
			to = from + blocksTried - 1
		}
		for block := from; block <= min(to, from+100); block++ {
			blocks[block] = true
			if first == 0 || block < first {
				first = block
			}
			last = max(last, block)
		}
	}
	return len(blocks), first, last
}

// tried: for how long a private transaction is tried.
func tried(s *suite.Set) {
	s.Slow("RPC-PRI-15", "offers it for 25 blocks and no longer", func(t *suite.T) {
		watched(t)
		tx := money(t).send(1)
		before := head(t)
		sent(t, call(t, key(t), "eth_sendPrivateTransaction", object{"tx": raw(t, tx), "preferences": quiet}), tx)
		after := head(t)
		least, most := before+blocksTried-1, after+blocksTried+1 // the target may be a block behind, or ahead
		var count int
		var first, last uint64
		// all has been said when the last block is there; too little when nothing more came for some
		// blocks
		for at := head(t); ; at = head(t) {
			if count, first, last = offered(t, tx); at > most || last < least && at > max(last, after)+blocksLost ||
				last > most {
				break
			}
			reached(t, at+1)
		}
		t.Check(last >= least && last <= most, fmt.Sprintf("offers for blocks up to %d, 25 from the newest one",
			after+blocksTried), fmt.Sprintf("for %d to %d", first, last))
		t.Check(count >= blocksTried-blocksLost, "offers for 25 blocks", count)
	})
}
