package load

import (
	"context"
	"fmt"
	"math/big"
	"sync"

	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth"
)

const (
	// gasLimit is the gas limit that validators register, and that of the world's genesis.
	gasLimit = 60_000_000
	// firstWei is what the first block of a slot pays, and stepWei how much more each next one does.
	firstWei = 1_000_000_000_000_000
	stepWei  = 1_000_000_000_000
	// blocksAhead is how many blocks are built before they are needed, and buildersAtOnce how many at
	// the same time.
	blocksAhead    = 12
	buildersAtOnce = 4
)

// block is a block of an auction that any builder can submit: what it pays does not depend on who
// does.
type block struct {
	*builderfulu.SubmitBlockRequest

	fork eth.Fork

	mu        sync.Mutex // guards templates
	templates map[Format]*template
}

// bodyOf returns the block's submission by a builder.
func (b *block) bodyOf(builder *probe.BLSKey, format Format, domain phase0.Domain) ([]byte, error) {
	b.mu.Lock()
	t, err := b.templates[format], error(nil)
	if t == nil {
		if t, err = newTemplate(b.fork, b.SubmitBlockRequest, format); err == nil {
			b.templates[format] = t
		}
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	message := *b.Message
	message.BuilderPubkey = builder.Public
	root, err := message.HashTreeRoot()
	if err != nil {
		return nil, fmt.Errorf("hash a message: %w", err)
	}
	return t.body(builder.Public, builder.Sign(probe.SigningRoot(root, domain))), nil
}

// blocks builds the blocks of an auction one after another, each of which pays more than the one
// before, a few ahead of those who want them.
type blocks struct {
	world    *world.Client
	slot     *world.Slot
	proposer phase0.BLSPubKey
	sizes    []int // bytes of transactions; each block has the next size
	blobs    int

	mu      sync.Mutex // guards what follows
	changed *sync.Cond
	built   map[int]*block
	begun   int // how many blocks are built or being built
	wanted  int // the highest number that somebody has asked for
	waited  int // how often somebody had to wait for a block
	failure error
}

func newBlocks(w *world.Client, slot *world.Slot, proposer phase0.BLSPubKey, setting Setting) *blocks {
	b := &blocks{world: w, slot: slot, proposer: proposer, blobs: setting.Blobs, built: map[int]*block{}}
	for _, kB := range setting.BlockKB {
		b.sizes = append(b.sizes, kB*1000)
	}
	b.changed = sync.NewCond(&b.mu)
	return b
}

// run builds blocks until the context ends, several at a time.
func (b *blocks) run(ctx context.Context) {
	defer context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.changed.Broadcast()
	})()
	var group sync.WaitGroup
	for range buildersAtOnce {
		group.Go(func() {
			for b.buildNext(ctx) {
			}
		})
	}
	group.Wait()
}

// buildNext builds the next block when somebody will want it soon. It returns false when no more
// blocks will be built.
func (b *blocks) buildNext(ctx context.Context) bool {
	b.mu.Lock()
	for ctx.Err() == nil && b.failure == nil && b.begun > b.wanted+blocksAhead {
		b.changed.Wait()
	}
	n := b.begun
	b.begun++
	b.mu.Unlock()
	made, err := b.build(ctx, n)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.changed.Broadcast()
	if err != nil {
		b.failure = err
		return false
	}
	b.built[n] = made
	return b.failure == nil
}

// at returns a block by its number. It waits until the block is built; the error is why it never
// will be.
func (b *blocks) at(n int) (*block, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.wanted {
		b.wanted = n
		b.changed.Broadcast()
	}
	if b.built[n] == nil {
		b.waited++
	}
	for b.built[n] == nil && b.failure == nil {
		b.changed.Wait()
	}
	if made := b.built[n]; made != nil {
		return made, nil
	}
	return nil, b.failure
}

// waitedFor returns how often somebody had to wait for a block, without those who waited for the
// first one.
func (b *blocks) waitedFor() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(b.waited-1, 0)
}

func (b *blocks) build(ctx context.Context, n int) (*block, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("build no more blocks: %w", err)
	}
	fork, _ := b.world.Facts.ForkAt(b.slot.Slot)
	payee := world.FeeRecipient(int(b.slot.ValidatorIndex))
	value := new(big.Int).SetUint64(firstWei + uint64(n)*stepWei)
	order := world.Order{
		Slot: *b.slot, FeeRecipient: fmt.Sprintf("%#x", payee[:]), PaysWei: value, GasLimit: gasLimit,
		Bytes: b.sizes[n%len(b.sizes)], Blobs: b.blobs, Extra: fmt.Sprintf("bench %d/%d", b.slot.Slot, n),
	}
	raw, err := b.world.Block(ctx, order)
	if err != nil {
		return nil, err
	}
	s, err := probe.ReadSubmission(fork, raw)
	if err != nil {
		return nil, err
	}
	p := s.ExecutionPayload
	s.Message = &builderv1.BidTrace{
		Slot: uint64(b.slot.Slot), ParentHash: b.slot.ParentHash, BlockHash: p.BlockHash, ProposerPubkey: b.proposer,
		ProposerFeeRecipient: bellatrix.ExecutionAddress(payee), GasLimit: p.GasLimit, GasUsed: p.GasUsed,
		Value: uint256.MustFromBig(value),
	}
	return &block{SubmitBlockRequest: s, fork: fork, templates: map[Format]*template{}}, nil
}
