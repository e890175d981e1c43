package rpc

import (
	"fmt"

	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/conformance/suite"
)

// placed sends transactions as one bundle for a block.
func placed(t *suite.T, block uint64, changes object, txs ...*types.Transaction) {
	params := with(object{"txs": raws(t, txs...), "blockNumber": hexNumber(block)}, changes)
	if answer := call(t, key(t), "eth_sendBundle", params); answer.Refused() {
		t.Inconclusive("the bundle is refused: %s", answer)
	}
}

// whole: bundles are in the chain whole and in order.
func whole(s *suite.Set) {
	s.It("RPC-BUN-18", "is in its block whole and in order", func(t *suite.T) {
		watched(t)
		until(t, func() bool {
			// from three wallets, so that each transaction would be valid alone
			txs := []*types.Transaction{money(t).send(3), money(t).send(1), money(t).send(2)}
			block := head(t) + 2
			placed(t, block, nil, txs...)
			include(t, txs...)
			reached(t, block)
			first, found := receiptOf(t, txs[0]), 0
			for i, tx := range txs {
				if r := receiptOf(t, tx); r != nil {
					found++
					t.Check(uint64(r.Block) == block, fmt.Sprintf("transaction %d in block %d", i, block), r.Block)
					t.Check(first != nil && uint64(r.Place) == uint64(first.Place)+uint64(i),
						fmt.Sprintf("transaction %d of the bundle right behind the one before it", i), r.Place)
				}
			}
			t.Check(found == 0 || found == len(txs), "all transactions of the bundle, or none",
				fmt.Sprintf("%d of %d", found, len(txs)))
			return found > 0
		})
	})
	s.It("RPC-BUN-18", "is not there in part", func(t *suite.T) {
		watched(t)
		until(t, func() bool {
			txs, witness := []*types.Transaction{money(t).send(1), money(t).create(0, codeRevert)}, money(t).send(1)
			block := head(t) + 2
			placed(t, block, nil, txs...)
			placed(t, block, nil, witness)
			include(t, append(txs, witness)...)
			reached(t, block)
			for i, tx := range txs {
				t.Check(receiptOf(t, tx) == nil,
					fmt.Sprintf("no transaction of a bundle whose second one reverts; transaction %d is not there", i),
					"it is in a block")
			}
			return receiptOf(t, witness) != nil
		})
	})
}
