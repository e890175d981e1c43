package app

import (
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/devnet"
)

// BenchmarkHonestSlotsOfGloas runs 64 slots of gloas in which nobody does anything wrong, and eight
// over its boundary: how many payloads are on the chain (full), how many sold ones are not (lost),
// and how many slots have no block of a builder (missed). Slots take 1.2 s.
func BenchmarkHonestSlotsOfGloas(b *testing.B) {
	for _, row := range []struct {
		name, forks string
		slots       int
	}{{"64", "gloas@0", 64}, {"boundary", "fulu@0,gloas@2", 8}} {
		b.Run(row.name, func(b *testing.B) {
			forks, err := devnet.ParseForks(row.forks)
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				out := new(watched)
				sum, err := Run(b.Context(), devnet.Config{
					Slots: row.slots, SlotDuration: 12 * time.Second, Speed: 10, Validators: 8, Builders: 2, TxsPerSlot: 10,
					SlotsPerEpoch: 2, BlobEvery: 4, Forks: forks,
				}, nil, out)
				if err != nil {
					b.Fatal(err)
				}
				full, bought := 0, 0
				for _, slot := range out.slots {
					if strings.HasPrefix(slot.Winner, "builder-") {
						bought++
					}
					if slot.Payload == nil || slot.Payload.Full {
						full++ // a block before the fork has its payload in it
					}
				}
				if full < row.slots-1 || sum.Delivered > sum.Landed || bought < row.slots {
					b.Errorf("of %d slots %d are FULL, %d were sold, and %d of %d deliveries landed", row.slots, full, bought,
						sum.Landed, sum.Delivered)
				}
				b.ReportMetric(float64(full), "full")
				b.ReportMetric(float64(sum.Delivered-sum.Landed), "lost")
				b.ReportMetric(float64(row.slots-bought), "missed")
			}
		})
	}
}
