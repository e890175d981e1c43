package reveal

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// hangingNode does not answer the first attempts, and takes a later one.
type hangingNode struct {
	hangs int
	asked []time.Duration // since the first one
	began time.Time
}

func (*hangingNode) Publish(context.Context, eth.Fork, phase0.Root, []byte) error { return nil }

func (n *hangingNode) PublishEnvelope(ctx context.Context, _ []byte) error {
	if len(n.asked) == 0 {
		n.began = time.Now()
	}
	n.asked = append(n.asked, time.Since(n.began))
	if len(n.asked) <= n.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return nil
}

// freeGuard is a guard that nobody else claims.
type freeGuard struct{}

func (freeGuard) Claim(context.Context, phase0.Slot, phase0.Root) (bool, error) { return true, nil }

// A node that does not answer holds up the next attempt for a second, and no attempt begins after
// the payload's deadline.
func TestNodesThatHangAreAskedAgain(t *testing.T) {
	for _, row := range []struct {
		hangs, asked int
		err          error
	}{{0, 1, nil}, {2, 3, nil}, {1000, 5, errPastDue}} {
		synctest.Test(t, func(t *testing.T) {
			node := &hangingNode{hangs: row.hangs}
			r := New(Config{
				Spec:  &eth.Spec{GenesisTime: time.Now().Add(-time.Second), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32},
				Clock: clock.Real{}, Envelopes: freeGuard{}, Publisher: node, Log: slog.New(slog.DiscardHandler),
			})
			err := r.publishUntilDue(&sale{block: &gloas.SignedBeaconBlock{Message: &gloas.BeaconBlock{}}}, nil)
			if !errors.Is(err, row.err) || len(node.asked) != row.asked {
				t.Errorf("%d hang: asked at %v, %v; want %d and %v", row.hangs, node.asked, err, row.asked, row.err)
			}
		})
	}
}
