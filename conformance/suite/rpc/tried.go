package rpc

import (
	"fmt"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/conformance/suite"
)

const (
	// blocksTried is for how many blocks the RPC offers a private transaction to builders.
	blocksTried = 25
	// blocksLost is how many of them may be missing, because two blocks may come so close together
	// that nothing can be sent between them.
	blocksLost = 3
)

// quiet are preferences without hints. Slow specs use them, because they run beside specs that
// listen to the stream.
var quiet = object{"fast": false, "privacy": object{"hints": []string{}}}

// offered returns for which blocks builders were sent a transaction: how many, the first and the
// last.
func offered(t *suite.T, tx *types.Transaction) (count int, first, last uint64) {
	blocks := map[uint64]bool{}
	for _, s := range sentTo(t, tx) {
		from, to := s.FirstBlock, s.LastBlock
		if from == 0 {
			from = s.Head + 1
		}
		if to == 0 { // a private transaction without a last block: the builder tries it for blocksTried blocks
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

// tried: for how many blocks a private transaction is offered.
func tried(s *suite.Set) {
	s.Slow("RPC-PRI-15", "offers it for 25 blocks and no longer", func(t *suite.T) {
		watched(t)
		tx := money(t).send(1)
		before := head(t)
		sent(t, call(t, key(t), "eth_sendPrivateTransaction", object{"tx": raw(t, tx), "preferences": quiet}), tx)
		after := head(t)
		least, most := before+blocksTried-1, after+blocksTried+1 // the target's head may differ by a block
		var count int
		var first, last uint64
		// The loop ends when the last possible block is there, when an offer goes too far, or when
		// no new offer has come for some blocks.
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
