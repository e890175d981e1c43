package app

import (
	"slices"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/display"
)

// BenchmarkEmptySlot runs slots with one transfer each over real HTTP and reports the median way of
// a slot: from the moment at which its attributes are known to the first bid that counts, and from
// the header to the published and imported block. The sum is to stay below 25 ms.
func BenchmarkEmptySlot(b *testing.B) {
	benchmarkSlots(b, devnet.Config{Slots: max(b.N, 10), SlotDuration: 12 * time.Second, Speed: 60, Validators: 16,
		Builders: 1, TxsPerSlot: 1})
}

// BenchmarkBusySlot is the same with 200 transfers in slots of 200 ms, which two cores must keep up
// with.
func BenchmarkBusySlot(b *testing.B) {
	benchmarkSlots(b, devnet.Config{Slots: max(b.N, 10), SlotDuration: 12 * time.Second, Speed: 60, Validators: 16,
		Builders: 2, TxsPerSlot: 200})
}

func benchmarkSlots(b *testing.B, cfg devnet.Config) {
	out := new(watched)
	sum, err := Run(b.Context(), cfg, nil, out)
	if err != nil {
		b.Fatal(err)
	}
	stages := map[string][]time.Duration{}
	for _, slot := range out.slots {
		for _, stage := range slot.Took {
			stages[stage.Name] = append(stages[stage.Name], stage.Took)
		}
	}
	bid, delivery := median(stages[stageBid]), median(stages[stageDelivery])
	b.ReportMetric(ms(bid), "ms/bid")
	b.ReportMetric(ms(delivery), "ms/delivery")
	b.ReportMetric(ms(bid+delivery), "ms/roundtrip")
	b.ReportMetric(100*float64(sum.Landed)/float64(sum.Slots), "%landed")
}

func median(list []time.Duration) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

var _ display.Output = (*watched)(nil)
