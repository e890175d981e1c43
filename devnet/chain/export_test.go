package chain

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/ethereum/go-ethereum/consensus/beacon"
	"github.com/ethereum/go-ethereum/consensus/ethash"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/core/rawdb"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"github.com/gavel-relay/gavel/internal/exec"
)

// Export writes the canonical blocks from 1 to the head, as RLP one after another: the form that
// go-ethereum's own import reads.
func Export(w io.Writer, n *Node) error {
	bc := n.Chain()
	for number := uint64(1); number <= bc.CurrentBlock().Number.Uint64(); number++ {
		block := bc.GetBlockByNumber(number)
		if block == nil {
			return fmt.Errorf("export: block %d is missing", number)
		}
		if err := rlp.Encode(w, block); err != nil {
			return fmt.Errorf("export block %d: %w", number, err)
		}
	}
	return nil
}

// Replay imports exported blocks into a stock blockchain with its own engine's checks, on a
// database of its own, and returns the head.
func Replay(genesis *core.Genesis, r io.Reader) (*types.Header, error) {
	bc, err := core.NewBlockChain(rawdb.NewMemoryDatabase(), genesis, beacon.New(ethash.NewFaker()), nil)
	if err != nil {
		return nil, fmt.Errorf("replay: %w", err)
	}
	defer bc.Stop()
	stream := rlp.NewStream(r, 0)
	for {
		block := new(types.Block)
		err := stream.Decode(block)
		if errors.Is(err, io.EOF) {
			return bc.CurrentBlock(), nil
		}
		if err != nil {
			return nil, fmt.Errorf("replay: decode block: %w", err)
		}
		if _, err := bc.InsertChain(types.Blocks{block}); err != nil {
			return nil, fmt.Errorf("replay block %d: %w", block.NumberU64(), err)
		}
	}
}

// ForgetTransactions lets the next validation recover all senders, as the first one does.
func (v *Validator) ForgetTransactions() { v.transactions = newKnownTransactions() }

// TakePlace takes the place of a block that is being executed, until release is called.
func (v *Validator) TakePlace() (release func()) {
	v.slots <- struct{}{}
	return func() { <-v.slots }
}

// ValidateNow validates without waiting for a place; nil says that the block is valid.
func (v *Validator) ValidateNow(ctx context.Context, b *exec.Block) *exec.Verdict {
	_, wrong := v.validate(ctx, b)
	return wrong
}
