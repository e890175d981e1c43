package app

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// The payload that leads is synced, the last of those that led while the disk was busy; a disk that
// fails is tried again with the next.
//
//gavel:fault power-cut
func TestLeadingPayloadIsSynced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var synced []byte
		s := newTopSync(func(_ context.Context, id relay.PayloadID) error {
			synced = append(synced, id.BlockHash[0])
			return errors.New("the disk fails")
		}, slog.New(slog.DiscardHandler))
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- s.Run(ctx) }()
		lead := func(numbers ...byte) {
			for _, number := range numbers {
				s.Record(relay.TopChanged{Trace: relay.Trace{Slot: 1, BlockHash: phase0.Hash32{number}}})
			}
			synctest.Wait()
		}
		lead(1)
		lead(2, 3, 4)
		s.Record(relay.KillSwitchChanged{})
		<-time.After(3 * syncPause)
		synctest.Wait()
		stop()
		if err := <-ended; err != nil || !slices.Equal(synced, []byte{1, 4}) {
			t.Errorf("synced %v, %v: want the first, and the last of the others", synced, err)
		}
	})
}
