package auction

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
)

// A bid that was replaced or withdrawn takes no place in the ranking, so that a builder cannot fill
// the memory with replacements.
func TestReplacedBidsLeaveTheRanking(t *testing.T) {
	var book Book
	for i := range 1000 {
		book.Submit(relay.Bid{
			Builder: phase0.BLSPubKey{byte(i % 3)}, ValueWei: uint256.NewInt(uint64(1000 - i)), Cancellable: true,
			ReceivedAt: time.Unix(int64(i), 0),
		})
	}
	if len(book.ranked) != 3 {
		t.Errorf("the ranking of three builders' bids has %d entries", len(book.ranked))
	}
	book.Withdraw(phase0.BLSPubKey{1}, nil)
	if len(book.ranked) != 2 {
		t.Errorf("the ranking of two builders' bids has %d entries", len(book.ranked))
	}
}

// BenchmarkBook is a slot in which 100 builders bid, each a little more than before or, with
// cancellations, up and down.
func BenchmarkBook(b *testing.B) {
	for _, kind := range []string{"final", "cancellable"} {
		for _, size := range []int{1000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d", kind, size), func(b *testing.B) {
				bids := drawSlot(size, 100, kind == "cancellable")
				b.ReportAllocs()
				for b.Loop() {
					for group := range slices.Chunk(bids, size) {
						var book Book
						for i := range group {
							book.Submit(group[i])
						}
					}
				}
				b.ReportMetric(float64(b.N)*float64(len(bids))/b.Elapsed().Seconds(), "bids/s")
			})
		}
	}
}

// drawSlot returns 100,000 bids or more: one slot, or several of the same size.
func drawSlot(size, builders int, cancellable bool) []relay.Bid {
	draw := rand.New(rand.NewPCG(1, 1))
	bids := make([]relay.Bid, 100_000/size*size)
	for i := range bids {
		value := uint64(i%size)*1000 + draw.Uint64N(100_000)
		bids[i] = relay.Bid{
			Builder: phase0.BLSPubKey{byte(draw.IntN(builders))}, BlockHash: phase0.Hash32{byte(i), byte(i >> 8), byte(i >> 16)},
			ValueWei: uint256.NewInt(value), ReceivedAt: time.UnixMilli(int64(i)), Cancellable: cancellable,
		}
	}
	return bids
}
