package simulate

import (
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"
)

// Whatever was asked for before, a header's hash is its own.
func TestParentHash(t *testing.T) {
	var known parentHash
	a, b := &types.Header{Number: big.NewInt(1)}, &types.Header{Number: big.NewInt(2)}
	for i, header := range []*types.Header{a, a, b, a, types.CopyHeader(b), b} {
		if got, want := known.of(header), header.Hash(); got != want {
			t.Errorf("question %d: %s, want %s", i, got, want)
		}
	}
}
