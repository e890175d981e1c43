package chain_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/devnet/chain"
)

// watched is a context that tells when somebody waits for its end for the first time: Follow does
// when it has begun to listen.
type watched struct {
	context.Context
	once    sync.Once
	listens chan struct{}
}

func (w *watched) Done() <-chan struct{} {
	w.once.Do(func() { close(w.listens) })
	return w.Context.Done()
}

// following is a follower of a chain; what it is handed waits in blocks until the test takes it.
type following struct {
	blocks chan *types.Block
	ended  chan error
	end    context.CancelFunc
}

func follow(t testing.TB, n *branch) *following {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	f := &following{make(chan *types.Block), make(chan error, 1), cancel}
	w := &watched{Context: ctx, listens: make(chan struct{})}
	go func() {
		f.ended <- chain.NewStates(n.Chain()).Follow(w, common.Hash{}, func(block *types.Block) error {
			select {
			case f.blocks <- block:
			case <-ctx.Done():
			}
			return nil
		})
	}()
	<-w.listens
	return f
}

// want takes the next blocks.
func (f *following) want(t testing.TB, hashes ...common.Hash) {
	t.Helper()
	for i, want := range hashes {
		select {
		case block := <-f.blocks:
			if block.Hash() != want {
				t.Fatalf("block %d of %d is %d (%s), want %s", i, len(hashes), block.NumberU64(), block.Extra(), want)
			}
			if len(block.Transactions()) != 1 {
				t.Errorf("block %d came with %d transactions", block.NumberU64(), len(block.Transactions()))
			}
		case err := <-f.ended:
			t.Fatalf("it ended before block %d: %v", i, err)
		}
	}
}

// Every block comes once, parents first: those that became head at once with their child, and those
// of another branch from where it begins.
func TestFollow(t *testing.T) {
	n := grown(t)
	one := n.on(t, n.Genesis().Hash(), "before", true)
	f := follow(t, n)
	two := n.on(t, one, "two", true)
	f.want(t, two)

	three := n.on(t, two, "three", false)
	four := n.on(t, three, "four", false)
	five := n.on(t, four, "five", true)
	f.want(t, three, four, five)

	other := n.on(t, two, "three of another branch", false)
	another := n.on(t, other, "four of another branch", true) // lower than the head before
	f.want(t, other, another)

	n.lead(t, five)
	f.want(t, three, four, five)

	// the branch begins before the first block that was handed over
	deeper := n.on(t, n.Genesis().Hash(), "one of a third branch", true)
	f.want(t, deeper)
	f.end()
	if err := <-f.ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// A handler that takes its time does not hold up the chain, and misses nothing.
func TestSlowFollower(t *testing.T) {
	n := grown(t)
	f := follow(t, n)
	parent := n.Genesis().Hash()
	var all []common.Hash
	for i := range 40 { // more than any buffer between them; nobody takes a block meanwhile
		parent = n.on(t, parent, fmt.Sprint(i), true)
		all = append(all, parent)
	}
	f.want(t, all...)
	f.end()
	if err := <-f.ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}

// The handler's error ends it.
func TestFollowerThatFails(t *testing.T) {
	n := grown(t)
	broken := errors.New("disk full")
	w := &watched{Context: t.Context(), listens: make(chan struct{})}
	ended := make(chan error, 1)
	go func() {
		ended <- chain.NewStates(n.Chain()).Follow(w, common.Hash{}, func(*types.Block) error { return broken })
	}()
	<-w.listens
	n.on(t, n.Genesis().Hash(), "one", true)
	if err := <-ended; !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
}

// Head is the newest block of the chain, not the newest that was imported.
func TestHead(t *testing.T) {
	n := grown(t)
	one := n.on(t, n.Genesis().Hash(), "one", true)
	n.on(t, one, "two", false)
	head, err := chain.NewStates(n.Chain()).Head(t.Context())
	if err != nil || head.Hash() != one {
		t.Errorf("%v, %v", head, err)
	}
}
