package simulate_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// doorbell tells when the first answer has come.
type doorbell struct {
	http.RoundTripper
	rung chan struct{}
}

func (d *doorbell) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := d.RoundTripper.RoundTrip(r)
	select {
	case d.rung <- struct{}{}:
	default:
	}
	return answer, err
}

// follower is a Follow in the background.
type follower struct {
	testing.TB
	blocks chan *types.Block
	done   chan error
	end    context.CancelFunc
}

func (f *follower) handle(block *types.Block) error {
	f.blocks <- block
	return nil
}

// follow follows a world over HTTP from its newest block on.
func follow(t testing.TB, w *world) *follower {
	t.Helper()
	bell := &doorbell{http.DefaultTransport, make(chan struct{}, 1)}
	states := w.states(bell, func(o *simulate.RemoteOptions) { o.PollEvery = time.Millisecond })
	f := begin(t, states, common.Hash{})
	<-bell.rung
	return f
}

func begin(t testing.TB, states *simulate.RemoteStates, after common.Hash) *follower {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	f := &follower{TB: t, blocks: make(chan *types.Block, 16), done: make(chan error, 1), end: end}
	go func() { f.done <- states.Follow(ctx, after, f.handle) }()
	return f
}

// expect waits for blocks, which must be these, whole and in this order.
func (f *follower) expect(blocks ...*types.Block) {
	f.Helper()
	for _, want := range blocks {
		select {
		case got := <-f.blocks:
			if got.Hash() != want.Hash() || len(got.Transactions()) != len(want.Transactions()) ||
				len(got.Withdrawals()) != len(want.Withdrawals()) {
				f.Fatalf("block %d %s with %d transactions, %d withdrawals; want %d %s with %d, %d", got.Number(), got.Hash(),
					len(got.Transactions()),
					len(got.Withdrawals()), want.Number(), want.Hash(), len(want.Transactions()), len(want.Withdrawals()))
			}
		case err := <-f.done:
			f.Fatalf("it ended: %v", err)
		}
	}
}

// stop ends it, without an error and with nothing left to hand over.
func (f *follower) stop() {
	f.Helper()
	f.end()
	must(f, <-f.done)
	if len(f.blocks) > 0 {
		f.Errorf("block %d came unexpected", (<-f.blocks).Number())
	}
}

// Every new block comes, and the ones before it that were missed; after a reorganisation those of
// the new branch.
func TestFollow(t *testing.T) {
	inEveryWorld(t, func(t *testing.T, w *world) {
		w.mine()
		root := w.mine()
		f := follow(t, w)
		w.send(alice, &nobody, 1, 21_000, nil)
		a1 := w.mine()
		f.expect(a1)
		f.expect(w.mine(), w.mine())

		b1 := w.fork(root.Hash())
		var branch []*types.Block
		for range 3 {
			branch = append(branch, w.mine())
		}
		b2 := branch[0]
		if b1.Hash() == a1.Hash() || b2.ParentHash() != b1.Hash() {
			t.Fatal("no reorganisation")
		}
		// How much of the new branch comes at once depends on when the node calls it its own; whatever
		// that is, it comes in order and whole.
		f.expectEnd(branch[len(branch)-1], root)
		f.stop()
	})
}

// expectEnd waits for a block. Those that come until then must be parents first, and join the chain
// at the root.
func (f *follower) expectEnd(end, root *types.Block) {
	f.Helper()
	last := root.Hash()
	for {
		select {
		case got := <-f.blocks:
			if got.ParentHash() != last {
				f.Fatalf("block %d %s does not follow %s", got.Number(), got.Hash(), last)
			}
			if last = got.Hash(); last == end.Hash() {
				return
			}
		case err := <-f.done:
			f.Fatalf("it ended: %v", err)
		}
	}
}

// A reorganisation may take away the block that was the newest when following began.
func TestFollowBeyondItsBeginning(t *testing.T) {
	w := newDevnet(t, eth.Fulu)
	root := w.mine()
	w.mine()
	f := follow(t, w)
	other := w.fork(root.Hash())
	f.expect(other)
	f.expect(w.mine())
	f.stop()
}

// Who was away goes on after the last block that he had: with what came since, or, if that block
// was reorganised away meanwhile, however deep, with the new branch from where it parts.
func TestFollowAfter(t *testing.T) {
	inEveryWorld(t, func(t *testing.T, w *world) {
		root := w.mine()
		old := []*types.Block{w.mine(), w.mine(), w.mine()}
		states := w.states(nil, func(o *simulate.RemoteOptions) { o.PollEvery = time.Millisecond })
		f := begin(t, states, old[0].Hash())
		f.expect(old[1:]...)
		f.stop()

		branch := []*types.Block{w.fork(root.Hash())}
		for range 3 {
			branch = append(branch, w.mine())
		}
		f = begin(t, states, old[2].Hash())
		f.expect(branch...)
		f.stop()

		if err := states.Follow(t.Context(), common.Hash{1}, f.handle); !errors.Is(err, exec.ErrUnknownBlock) {
			t.Errorf("after a block that nobody knows: %v", err)
		}
	})
}

// Over a socket new blocks are told.
func TestFollowSubscribed(t *testing.T) {
	inEveryWorld(t, func(t *testing.T, w *world) {
		states := w.states(nil, func(o *simulate.RemoteOptions) { o.URLs, o.PollEvery = []string{w.ws}, time.Hour })
		f := begin(t, states, common.Hash{})
		// Only a subscription can tell it within the hour. Blocks are made until it has begun to listen.
		for {
			made := w.mine()
			select {
			case got := <-f.blocks:
				for got.Hash() != made.Hash() {
					got = <-f.blocks
				}
				f.expect(w.mine())
				f.stop()
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
}

// Whoever handles blocks can end it; so can the context, also while no node answers.
func TestFollowEnds(t *testing.T) {
	w := newDevnet(t, eth.Fulu)
	bell := &doorbell{http.DefaultTransport, make(chan struct{}, 1)}
	states := w.states(bell, func(o *simulate.RemoteOptions) { o.PollEvery = time.Millisecond })
	enough := errors.New("enough")
	done := make(chan error, 1)
	go func() { done <- states.Follow(t.Context(), common.Hash{}, func(*types.Block) error { return enough }) }()
	<-bell.rung
	w.mine()
	if err := <-done; !errors.Is(err, enough) {
		t.Errorf("ended with %v", err)
	}

	bell = &doorbell{broken{}, make(chan struct{}, 1)}
	f := begin(t, open(t, simulate.RemoteOptions{URLs: []string{"http://node"}, HTTP: &http.Client{Transport: bell},
		PollEvery: time.Millisecond}), common.Hash{})
	for range 3 { // it goes on asking
		<-bell.rung
	}
	f.stop()
}

// broken is a node that is not there.
type broken struct{}

func (broken) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("connection refused")
}

// Blocks come whole by hash, whether the chain kept them or not; and by number.
func TestBlocks(t *testing.T) {
	inEveryWorld(t, func(t *testing.T, w *world) {
		root := w.mine()
		w.send(alice, &nobody, 1, 21_000, nil)
		lost := w.mine()
		w.fork(root.Hash())
		w.mine()
		states := w.states(nil)
		got, err := states.Block(t.Context(), lost.Hash())
		must(t, err)
		if got.Hash() != lost.Hash() || len(got.Transactions()) != 1 {
			t.Errorf("got block %s with %d transactions", got.Hash(), len(got.Transactions()))
		}
		got, err = states.BlockByNumber(t.Context(), root.NumberU64())
		must(t, err)
		if got.Hash() != root.Hash() {
			t.Errorf("block %d is %s, want %s", root.Number(), got.Hash(), root.Hash())
		}
		if _, err := states.Block(t.Context(), common.Hash{1}); !errors.Is(err, exec.ErrUnknownBlock) {
			t.Errorf("unknown hash: %v", err)
		}
		if _, err := states.BlockByNumber(t.Context(), 1_000_000); !errors.Is(err, exec.ErrUnknownBlock) {
			t.Errorf("unknown number: %v", err)
		}
		for name, env := range map[string]exec.Environment{"hash": {ParentHash: common.Hash{1}},
			"number": {ParentNumber: 1_000_000}} {
			if _, err := states.At(t.Context(), env); !errors.Is(err, exec.ErrUnknownBlock) {
				t.Errorf("state of an unknown %s: %v", name, err)
			}
		}
	})
}
