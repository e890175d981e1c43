package generate

import (
	"bytes"
	"context"
	"math/big"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/devnet/chain"
)

// mempool has the public pool's transactions. go-ethereum's own pool works in the background and
// orders by when a transaction came by the wall clock, so two runs of it would differ.
type mempool struct {
	node   *chain.Node
	signer types.Signer
	// senders are in the order in which they first came; queues have the transactions that are not
	// in the chain, by nonce.
	senders []common.Address
	queues  map[common.Address][]*types.Transaction
}

// Draft implements builder.Node.
func (m *mempool) Draft(ctx context.Context, args chain.BuildArgs) (*chain.Draft, error) {
	return m.node.Draft(ctx, args)
}

func (m *mempool) add(tx *types.Transaction) error {
	from, err := types.Sender(m.signer, tx)
	if err != nil {
		return err
	}
	if m.queues[from] == nil {
		m.senders = append(m.senders, from)
	}
	m.queues[from] = append(m.queues[from], tx)
	return nil
}

// Pending implements builder.Node: the best tip first, but a sender's in the order of their nonces.
func (m *mempool) Pending() []*types.Transaction {
	at := make([]int, len(m.senders))
	var list []*types.Transaction
	for {
		best := -1
		for i, sender := range m.senders {
			if queue := m.queues[sender]; at[i] < len(queue) &&
				(best < 0 || precedes(queue[at[i]], m.queues[m.senders[best]][at[best]])) {
				best = i
			}
		}
		if best < 0 {
			return list
		}
		list = append(list, m.queues[m.senders[best]][at[best]])
		at[best]++
	}
}

// precedes compares tips. All transactions here offer more than any base fee, so their tips are
// what they pay.
func precedes(a, b *types.Transaction) bool {
	if order := a.GasTipCap().Cmp(b.GasTipCap()); order != 0 {
		return order > 0
	}
	x, y := a.Hash(), b.Hash()
	return bytes.Compare(x[:], y[:]) < 0
}

// remove takes out what a block has.
func (m *mempool) remove(block *types.Block) {
	has := map[common.Hash]bool{}
	for _, tx := range block.Transactions() {
		has[tx.Hash()] = true
	}
	for sender, queue := range m.queues {
		m.queues[sender] = slices.DeleteFunc(queue, func(tx *types.Transaction) bool { return has[tx.Hash()] })
	}
}

func signerOf(chainID uint64) types.Signer {
	return types.LatestSignerForChainID(new(big.Int).SetUint64(chainID))
}
