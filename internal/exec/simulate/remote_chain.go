package simulate

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/ethclient"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/gavel-relay/gavel/internal/exec"
)

// remembered is how many blocks of the chain Follow knows by hash. For a deeper reorganisation it
// asks nodes for older ones.
const remembered = 256

// Head implements exec.Chain.
func (s *RemoteStates) Head(ctx context.Context) (*types.Header, error) {
	return s.headerByNumber(ctx, nil)
}

// Follow implements exec.Chain. A node with subscriptions (ws, wss) announces new blocks. Without
// such a node, or while it is gone, Follow asks for the newest block every Options.PollEvery.
// Trouble with nodes does not end Follow: it tries again, and fetches missed blocks parent by
// parent. If a node's newest block was handed over before, the node lags behind, and there is
// nothing new. The error is ErrUnknownBlock if no node knows the block after which to begin.
func (s *RemoteStates) Follow(ctx context.Context, after common.Hash, handle func(*types.Block) error) error {
	bell := s.listen(ctx)
	defer bell.stop()
	var line chainWindow
	var refusal error // the handler's error, which ends Follow; other errors are tried again
	for {
		err := s.advance(ctx, after, &line, func(block *types.Block) error {
			refusal = handle(block)
			return refusal
		})
		switch {
		case refusal != nil:
			return refusal
		case len(line.hashes) == 0 && errors.Is(err, exec.ErrUnknownBlock):
			return fmt.Errorf("follow chain: %w", err)
		case err != nil && ctx.Err() == nil:
			s.options.Log.Warn("the chain cannot be followed now", "error", err)
		}
		if !bell.wait(ctx) {
			return nil
		}
	}
}

// advance hands over the blocks that are new since the last time. The first time these are the
// blocks after the one after which to begin.
func (s *RemoteStates) advance(ctx context.Context, after common.Hash, line *chainWindow,
	handle func(*types.Block) error) error {
	if err := s.begin(ctx, after, line); err != nil {
		return err
	}
	head, err := s.Head(ctx)
	if err != nil {
		return err
	}
	fresh, err := s.above(ctx, line, head)
	if err != nil {
		return err
	}
	for _, header := range slices.Backward(fresh) {
		block, err := s.Block(ctx, header.Hash())
		if err != nil {
			return err
		}
		if err := handle(block); err != nil {
			return err
		}
		line.add(header)
	}
	return nil
}

// begin makes the line if there is none yet: from a given block on, or from the newest.
func (s *RemoteStates) begin(ctx context.Context, after common.Hash, line *chainWindow) error {
	if len(line.hashes) > 0 {
		return nil
	}
	first, err := s.parent(ctx, exec.Environment{ParentHash: after, Latest: true})
	if err == nil {
		*line = newChainWindow(first)
	}
	return err
}

// above lists the headers that lead from the line to a block, the block's own first. If the
// branches part below the beginning of the line, above extends the line downwards, as far as the
// nodes still know the old branch.
func (s *RemoteStates) above(ctx context.Context, line *chainWindow,
	header *types.Header) (fresh []*types.Header, err error) {
	for line.find(header) < 0 {
		fresh = append(fresh, header)
		number := header.Number.Uint64()
		if number == 0 {
			return nil, impossible("block 0 is %s: this is another chain", header.Hash())
		}
		for line.first >= number {
			oldest, err := s.headerByHash(ctx, line.hashes[0])
			switch {
			case errors.Is(err, exec.ErrUnknownBlock):
				return fresh, nil
			case err != nil:
				return nil, err
			}
			line.first, line.hashes = line.first-1, slices.Insert(line.hashes, 0, oldest.ParentHash)
		}
		parent, err := s.headerByHash(ctx, header.ParentHash)
		if err == nil && parent.Number.Uint64()+1 != number {
			err = impossible("block %d follows block %d", number, parent.Number)
		}
		if err != nil {
			return nil, fmt.Errorf("fill the gap below block %d: %w", number, err)
		}
		header = parent
	}
	return fresh, nil
}

// chainWindow is the chain as it was handed over: the hashes of blocks with consecutive numbers,
// from first on.
type chainWindow struct {
	first  uint64
	hashes []common.Hash
}

// newChainWindow begins with a block and its parent, so that the block itself can be reorganised
// away.
func newChainWindow(head *types.Header) chainWindow {
	if number := head.Number.Uint64(); number > 0 {
		return chainWindow{first: number - 1, hashes: []common.Hash{head.ParentHash, head.Hash()}}
	}
	return chainWindow{hashes: []common.Hash{head.Hash()}}
}

// find is the index of a block in the line, or -1.
func (l *chainWindow) find(header *types.Header) int {
	number := header.Number.Uint64()
	if number < l.first || number-l.first >= uint64(len(l.hashes)) || l.hashes[number-l.first] != header.Hash() {
		return -1
	}
	return int(number - l.first)
}

// add puts a block in its place. It removes what was there and after it, which is of another
// branch.
func (l *chainWindow) add(header *types.Header) {
	number := header.Number.Uint64()
	if number < l.first || number-l.first > uint64(len(l.hashes)) {
		*l = newChainWindow(header)
		return
	}
	l.hashes = append(l.hashes[:number-l.first], header.Hash())
	if over := len(l.hashes) - remembered; over > 0 {
		l.first, l.hashes = l.first+uint64(over), slices.Delete(l.hashes, 0, over)
	}
}

// headListener says when it is time to look for a new block.
type headListener struct {
	states *RemoteStates
	ticker *time.Ticker
	heads  chan *types.Header
	sub    interface {
		Err() <-chan error
		Unsubscribe()
	}
}

func (s *RemoteStates) listen(ctx context.Context) *headListener {
	b := &headListener{states: s, ticker: time.NewTicker(s.options.PollEvery), heads: make(chan *types.Header, 16)}
	b.subscribe(ctx)
	return b
}

// subscribe subscribes to new blocks on the first node that has subscriptions and answers.
func (b *headListener) subscribe(ctx context.Context) {
	nodes := b.states.nodes
	listen := func(ctx context.Context, _ *node, client *rpc.Client) error {
		sub, err := ethclient.NewClient(client).SubscribeNewHead(ctx, b.heads)
		if err == nil {
			b.sub = sub
		}
		return err
	}
	for _, i := range nodes.pool.Rank(time.Now()) {
		n := nodes.list[i]
		if !n.subscribes() {
			continue
		}
		err := nodes.pool.Try(ctx, i, nodes.try(listen))
		if err == nil {
			return
		}
		b.states.options.Log.Warn("execution node does not tell of new blocks", "node", n.Name, "error", err)
	}
}

// wait returns when there may be a new block; false when the context ended.
func (b *headListener) wait(ctx context.Context) bool {
	for {
		var broken <-chan error
		if b.sub != nil {
			broken = b.sub.Err()
		}
		select {
		case <-ctx.Done():
			return false
		case <-b.heads:
			return true
		case err := <-broken: // until the next subscription, Follow asks for new blocks
			b.states.options.Log.Warn("execution node tells no more of new blocks", "error", err)
			b.sub = nil
			return true
		case <-b.ticker.C:
			if b.sub == nil {
				b.subscribe(ctx)
				return true
			}
		}
	}
}

func (b *headListener) stop() {
	b.ticker.Stop()
	if b.sub != nil {
		b.sub.Unsubscribe()
	}
}
