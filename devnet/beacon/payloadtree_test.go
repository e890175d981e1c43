package beacon

import (
	"sync"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/devnet/beacon/epbs"
	"github.com/gavel-relay/gavel/internal/eth"
)

// The head is read by many at once, while nobody changes the fork choice: requests for blocks, and
// the slot that goes on. The race detector watches.
func TestManyReadTheHead(t *testing.T) {
	spec := &eth.Spec{SlotDuration: time.Second, SlotsPerEpoch: 8, Forks: []eth.ForkPoint{{Fork: eth.Gloas}}}
	genesis := &Block{Root: [32]byte{1}}
	tree := newPayloadTree(schedule{validators: 16}, spec, genesis)
	var readers sync.WaitGroup
	for range 8 {
		readers.Go(func() {
			if head := tree.head(); head.Root != genesis.Root || head.Status != epbs.Full {
				t.Errorf("the head is %+v", head)
			}
		})
	}
	readers.Wait()
}
