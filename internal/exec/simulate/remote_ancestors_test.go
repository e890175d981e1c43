package simulate_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
)

// BLOCKHASH sees the parent and 255 blocks before it, whatever order it is asked in; beyond there
// is nothing.
func TestAncestors(t *testing.T) {
	inEveryWorld(t, func(t *testing.T, w *world) {
		hashes := []common.Hash{w.chain.Genesis().Hash()}
		for range 270 {
			hashes = append(hashes, w.mine().Hash())
		}
		last := uint64(len(hashes) - 1)
		for _, numbers := range [][]uint64{{last, last - 1, last - 2, last - 255}, {last - 255, last - 7, last}} {
			st, err := w.states(nil).At(t.Context(), exec.Environment{Latest: true})
			must(t, err)
			for _, number := range numbers {
				if got := st.Hash(number); got != hashes[number] {
					t.Errorf("block %d of %d is %s, want %s", number, last, got, hashes[number])
				}
			}
			for _, number := range []uint64{0, last - 257, last + 1, 1 << 63} {
				if got := st.Hash(number); got != (common.Hash{}) {
					t.Errorf("block %d of %d is %s, want nothing", number, last, got)
				}
			}
			must(t, st.DB.Error())
		}
	})
}

// fuse is a connection that can be cut.
type fuse struct{ blown bool }

// RoundTrip implements http.RoundTripper.
func (f *fuse) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.blown {
		return dead(r)
	}
	return http.DefaultTransport.RoundTrip(r)
}

// A hash that cannot be found out spoils the state, because BLOCKHASH has no other way to say so;
// and so does any other read that fails.
func TestWhatCannotBeReadSpoilsTheState(t *testing.T) {
	inEveryWorld(t, func(t *testing.T, w *world) {
		contract := w.deploy(countingContract)[0]
		w.send(alice, &contract, 0, 100_000, nil)
		for range 9 {
			w.mine()
		}
		for name, read := range map[string]func(*simulate.State){
			"hash":    func(st *simulate.State) { st.Hash(3) },
			"account": func(st *simulate.State) { st.DB.GetNonce(addressOf(alice)) },
			"slot":    func(st *simulate.State) { st.DB.GetState(contract, common.Hash{}) },
		} {
			wire := &fuse{}
			st, err := w.states(wire).At(t.Context(), exec.Environment{Latest: true})
			must(t, err)
			st.DB.GetBalance(contract) // is there, with its code
			must(t, st.DB.Error())
			wire.blown = true
			read(st)
			if err := st.DB.Error(); !errors.Is(err, exec.ErrNode) {
				t.Errorf("%s: the state says %v", name, err)
			}
		}
	})
}

// A state that was pruned is no trouble with the node.
func TestPrunedStateIsUnknown(t *testing.T) {
	w := newGeth(t)
	old := w.mine()
	for range 140 { // go-ethereum keeps 128 states
		w.mine()
	}
	st, err := w.states(nil).At(t.Context(), exec.Environment{ParentHash: old.Hash()})
	must(t, err)
	st.DB.GetBalance(addressOf(alice))
	if err := st.DB.Error(); !errors.Is(err, exec.ErrUnknownBlock) || errors.Is(err, exec.ErrNode) {
		t.Errorf("the state says %v", err)
	}
}
