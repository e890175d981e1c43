package generate

import (
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// collector sees the public transactions, as collectors of mempools do, and learns from the chain
// in which block each of them is.
type collector struct {
	seen []*dataset.Transaction // in no block yet, in the order in which they were sent
}

// sees notes a transaction.
func (c *collector) sees(tx *types.Transaction, at time.Time) error {
	row, err := dataset.NewTransaction(tx, timeOf(at), Source)
	if err != nil {
		return err
	}
	row.Sources = "pool"
	c.seen = append(c.seen, row)
	return nil
}

// lands returns the rows of a block's transactions that were seen before.
func (c *collector) lands(block *types.Block) (rows []*dataset.Transaction) {
	has := map[common.Hash]bool{}
	for _, tx := range block.Transactions() {
		has[tx.Hash()] = true
	}
	kept := c.seen[:0]
	for _, row := range c.seen {
		if !has[row.Hash.V] {
			kept = append(kept, row)
			continue
		}
		included := time.Unix(int64(block.Time()), 0)
		row.IncludedBlock, row.IncludedAt = intOf(block.NumberU64()), timeOf(included)
		row.InclusionDelayMs = dataset.Signed{V: (row.IncludedAt.Micros - row.ObservedAt.Micros) / 1000, Known: true}
		rows = append(rows, row)
	}
	clear(c.seen[len(kept):])
	c.seen = kept
	return rows
}

// rest returns the rows of transactions that are in no block at the end.
func (c *collector) rest() []*dataset.Transaction {
	rows := c.seen
	c.seen = nil
	return rows
}
