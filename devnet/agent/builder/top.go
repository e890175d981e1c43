package builder

import (
	"context"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/relay/client"
)

// top has the leading bids, as the relays' streams report them. It is safe for concurrent use; the
// zero value has none.
type top struct {
	mu    sync.Mutex // guards byKey
	byKey map[topKey]client.TopBid
}

type topKey struct {
	relay  string
	slot   phase0.Slot
	parent phase0.Hash32
}

// of returns the highest leading bid of all relays, and whether it is ours.
func (t *top) of(a Attributes, ours phase0.BLSPubKey) (valueWei *uint256.Int, leading bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, one := range t.byKey {
		if key.slot == a.Slot && key.parent == a.ParentHash && one.BlockHash != (phase0.Hash32{}) &&
			(valueWei == nil || one.ValueWei.Gt(valueWei)) {
			valueWei, leading = one.ValueWei, one.Builder == ours
		}
	}
	return valueWei, leading
}

func (t *top) set(relay string, one client.TopBid) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.byKey == nil {
		t.byKey = map[topKey]client.TopBid{}
	}
	t.byKey[topKey{relay, one.Slot, one.ParentHash}] = one
	for key := range t.byKey {
		if key.slot+4 < one.Slot {
			delete(t.byKey, key)
		}
	}
}

// reopen is the wait before a stream that ended is opened again, in wall time.
const reopen = 50 * time.Millisecond

// followTop reads a relay's leading bids until the context ends. After the first one it stalls, if
// the conduct says so.
func (b *Builder) followTop(ctx context.Context, relay Relay) {
	stall := b.Conduct.Stall
	for ctx.Err() == nil {
		heard := false
		for one, err := range relay.TopBids.TopBids(ctx, client.TopBidOptions{}) {
			if err != nil {
				if ctx.Err() == nil && heard {
					b.Tell(devnet.Event{Actor: b.Name, At: relay.Name, Subject: devnet.ListenerLeft})
				}
				break
			}
			heard = true
			b.top.set(relay.Name, one)
			b.Tell(devnet.Event{Actor: b.Name, At: relay.Name, Subject: devnet.TopHeard, Slot: int(one.Slot)})
			if stall > 0 {
				_ = b.Clock.Until(ctx, b.Clock.Now().Add(stall)) // the context's end also ends the stream
				stall = 0
			}
		}
		_ = run.Pause(ctx, reopen) // the context's end also ends the loop
	}
}
