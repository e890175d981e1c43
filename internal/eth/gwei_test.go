package eth

import (
	"math"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"
)

// Every amount in Gwei is one in wei, and up to a Gwei more is rounded down to it again.
func TestGweiAndBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		gwei := phase0.Gwei(rapid.Uint64().Draw(t, "gwei"))
		wei := WeiOf(gwei)
		wei.AddUint64(wei, rapid.Uint64Range(0, 999_999_999).Draw(t, "more"))
		if got, fits := WholeGwei(wei); got != gwei || !fits {
			t.Fatalf("%s wei are %d Gwei, %v", wei.Dec(), got, fits)
		}
	})
	more := WeiOf(math.MaxUint64)
	if _, fits := WholeGwei(more.Add(more, weiInGwei)); fits {
		t.Error("2^64 Gwei fit into 64 bits")
	}
	if got, fits := WholeGwei(new(uint256.Int)); got != 0 || !fits {
		t.Errorf("nothing is %d Gwei, %v", got, fits)
	}
}
