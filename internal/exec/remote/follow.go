package remote

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"
)

// Head implements exec.Chain.
func (n *Node) Head(ctx context.Context) (*types.Header, error) {
	return n.header(ctx, func(ctx context.Context, client *ethclient.Client) (*types.Header, error) {
		return client.HeaderByNumber(ctx, nil)
	})
}

// Block implements exec.Chain.
func (n *Node) Block(ctx context.Context, hash common.Hash) (block *types.Block, err error) {
	return block, n.ask(ctx, func(ctx context.Context, client *rpc.Client) (err error) {
		block, err = ethclient.NewClient(client).BlockByHash(ctx, hash)
		return missing(err)
	})
}

// missing is an error that says, if it is so, that the node does not have what was asked for.
func missing(err error) error {
	if errors.Is(err, ethereum.NotFound) {
		return errors.Join(errNotThere, err)
	}
	return err
}

// maxBehind is how many blocks are read after a pause; what is older is skipped.
const maxBehind = 1024

// handedKept is how deep a reorganisation is recognised without reading more than the new branch.
const handedKept = 64

// Follow implements exec.Chain. While no node answers it asks again.
func (n *Node) Follow(ctx context.Context, handle func(*types.Block) error) error {
	tick := time.NewTicker(n.cfg.PollEvery)
	defer tick.Stop()
	var handed []common.Hash // the newest blocks that were handed over, oldest first
	for {
		head, err := n.Head(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			n.cfg.Log.Warn("the newest block could not be read", "error", err)
		case handed == nil:
			handed = []common.Hash{head.Hash()} // from now on
		case handed[len(handed)-1] != head.Hash():
			blocks, err := n.since(ctx, handed, head)
			if err != nil {
				n.cfg.Log.Warn("new blocks could not be read", "error", err)
				break
			}
			for _, block := range blocks {
				if err := handle(block); err != nil || ctx.Err() != nil {
					return err
				}
				handed = append(handed, block.Hash())
			}
			handed = slices.Clone(handed[max(0, len(handed)-handedKept):])
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// since are the blocks from the newest known one to the head, parents first.
func (n *Node) since(ctx context.Context, known []common.Hash, head *types.Header) ([]*types.Block, error) {
	var blocks []*types.Block
	for hash := head.Hash(); len(blocks) < maxBehind && !slices.Contains(known, hash); {
		block, err := n.Block(ctx, hash)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, block)
		if block.NumberU64() == 0 {
			break
		}
		hash = block.ParentHash()
	}
	slices.Reverse(blocks)
	return blocks, nil
}
