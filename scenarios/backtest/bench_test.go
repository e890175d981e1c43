package backtest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// BenchmarkReplay is what a replay does with the rows of slots once they are read: inference, the
// auction, and the comparison with the delivered payload.
func BenchmarkReplay(b *testing.B) {
	for _, size := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			slot := drawnSlot(size)
			how, err := Infer(nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if results, _ := Replay(slot, how, nil, nil); results[0].Reason != dataset.Text(Same) {
					b.Fatalf("%s: %s", results[0].Reason, results[0].Detail)
				}
			}
			b.ReportMetric(float64(b.N)*float64(size)/b.Elapsed().Seconds(), "bids/s")
		})
	}
}

// drawnSlot has bids of 100 builders, which rise and sometimes fall, and the delivery of the best.
func drawnSlot(size int) Slot {
	draw := rand.New(rand.NewPCG(7, 7))
	var slot Slot
	var best *dataset.Bid
	for i := range size {
		row := &dataset.Bid{
			Slot: dataset.Int{V: 7, Known: true}, SlotStart: dataset.Time{Micros: scriptStart, Known: true}, Relay: "r",
			Kind: dataset.Submission, Source: "script", Builder: dataset.Key{V: [48]byte{1, byte(draw.IntN(100))}, Known: true},
			ReceivedAt: dataset.Time{Micros: scriptStart - 8_000_000 + int64(i)*9_000_000/int64(size), Known: true},
			ValueWei:   dataset.Wei{Lo: uint64(i)*1_000_000 + draw.Uint64N(100_000_000), Known: true},
			BlockHash:  dataset.Hash{V: [32]byte{byte(i), byte(i >> 8), byte(i >> 16)}, Known: true},
			ParentHash: dataset.Hash{V: [32]byte{1}, Known: true},
		}
		slot.Bids = append(slot.Bids, row)
		if best == nil || row.ValueWei.Lo > best.ValueWei.Lo {
			best = row
		}
	}
	slot.Deliveries = []*dataset.Delivery{{
		Slot: best.Slot, SlotStart: best.SlotStart, Relay: "r", ValueWei: best.ValueWei, BlockHash: best.BlockHash,
	}}
	return slot
}
