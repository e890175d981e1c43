package orderflow_test

import (
	"testing"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/orderflow"
)

// Published vectors: a transaction, and a bundle of it and another one.
func TestMatchingHash(t *testing.T) {
	for order, want := range map[string]string{
		"0xec5dd7d793a20885a822169df4030d92fbc8d3ac5bd9eaa190b82196ea2858da": "0xbd23068a4aada3bc666eeedac89c74d206f3f0633" +
			"c095c29db8f90870d0b4f6d",
		"0xaea81b2ade05a68bc49abc821be36061fff982a311e1648a84df591a7c43740d": "0x070b0edc316ed5289235e7141c7220e65a6043399" +
			"f86191b7d4fa951c812157c",
	} {
		if got := orderflow.MatchingHash(common.HexToHash(order)); got.Hex() != want {
			t.Errorf("%s: %s, want %s", order, got, want)
		}
	}
}
