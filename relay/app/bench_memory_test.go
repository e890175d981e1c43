package app

import (
	"context"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// BenchmarkMemory is the greatest memory of a relay with 100,000 registrations during a slot in
// which four trusted builders send 1,000 blocks of 1.2 MB as fast as they are taken: what the
// runtime has from the operating system and has not given back. The builders' own memory is in it,
// since they are in this process. Meanwhile the blocks are read back and executed, by a validator
// that finds all of them valid.
func BenchmarkMemory(b *testing.B) {
	cfg := lived(b)
	for b.Loop() {
		debug.FreeOSMemory() // what the earlier life has left
		a, err := New(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		stopSampling := samplePeak()
		busySlot(b, a)
		b.ReportMetric(float64(stopSampling())/(1<<20), "peak-MiB")
		if err := a.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// busySlot has the four builders send their blocks.
func busySlot(b *testing.B, a *App) {
	b.Helper()
	a.registry.SetDuties(0, phase0.Root{},
		[]relay.Duty{{Slot: benchSlot, Index: emulatedValidators, Proposer: madeKey(0)}})
	a.registry.SetAttributes(relay.Attributes{Slot: benchSlot, ParentHash: phase0.Hash32{1}, ParentNumber: 6,
		Withdrawals: []*capella.Withdrawal{}})
	ctx, stop := context.WithCancel(b.Context())
	defer stop()
	behind := make(chan error, 1)
	go func() {
		behind <- run.Together(ctx, a.submit.Run, func(ctx context.Context) error {
			return a.archive.Follow(ctx, a.journal)
		})
	}()

	// Cancellable: whatever the order in which they come, none is below the floor, and all are taken.
	h := &benchWay{spec: a.spec, handler: a.handler, board: new(noticeBoard), query: "?cancellations=1"}
	var group sync.WaitGroup
	for i, key := range benchBuilders {
		block := benchBlock(b, a.spec, i, 200, 1000, 7)
		block.Trace.ProposerPubkey = madeKey(0)
		group.Go(func() {
			for n := range 250 {
				h.submit(b, i, true, wire.SSZ, offer(b, h, block, key, wire.SSZ, uint64(1+n*len(benchBuilders)+i)))
			}
		})
	}
	group.Wait()
	stop()
	if err := <-behind; err != nil {
		b.Fatal(err)
	}
}

// samplePeak watches the memory until the returned function is called, which tells the peak in
// bytes.
func samplePeak() func() uint64 {
	var peaks []uint64
	done := make(chan struct{})
	var group sync.WaitGroup
	group.Go(func() {
		ticker := time.NewTicker(2 * time.Millisecond)
		defer ticker.Stop()
		samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
		for {
			metrics.Read(samples)
			peaks = append(peaks, samples[0].Value.Uint64()-samples[1].Value.Uint64())
			select {
			case <-done:
				return
			case <-ticker.C:
			}
		}
	})
	return func() uint64 {
		close(done)
		group.Wait()
		return slices.Max(peaks)
	}
}
