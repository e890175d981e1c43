package proposer

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

func TestGuard(t *testing.T) {
	var g guard
	for _, c := range []struct {
		index phase0.ValidatorIndex
		slot  phase0.Slot
		ok    bool
	}{
		{0, 0, true}, {0, 0, false}, {0, 7, true}, {0, 7, false}, {0, 6, false}, {0, 8, true}, {1, 8, true}, {1, 8, false},
		{2, 3, true},
	} {
		err := g.take(c.index, c.slot)
		if (err == nil) != c.ok || err != nil && !errors.Is(err, errSigned) {
			t.Errorf("validator %d, slot %d: %v, want signed %v", c.index, c.slot, err, c.ok)
		}
	}
}

func TestGuardOfMany(t *testing.T) {
	var g guard
	var taken atomic.Int32
	var group sync.WaitGroup
	for range 50 {
		group.Go(func() {
			if g.take(1, 9) == nil {
				taken.Add(1)
			}
		})
	}
	if group.Wait(); taken.Load() != 1 {
		t.Errorf("%d signatures in one slot", taken.Load())
	}
}
