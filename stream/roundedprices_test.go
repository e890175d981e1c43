package stream

import (
	"math/big"
	"testing"

	"github.com/holiman/uint256"
	"pgregory.net/rapid"
)

// The documented table (docs/spec.md, Rounding), and what happens where 256 bits end.
func TestRoundUp(t *testing.T) {
	for _, c := range []struct {
		n      string
		digits int
		want   string
	}{
		{"123456", 2, "130000"},
		{"111", 2, "120"},
		{"199", 2, "200"},
		{"21000", 2, "21000"},
		{"99999", 2, "100000"},
		{"100000", 2, "100000"},
		{"120000001", 2, "130000000"},
		{"12", 3, "12"},
		{"0", 2, "0"},
		{"999999999", 3, "1000000000"},
		{"1000000000", 3, "1000000000"},
		{"1234567890", 3, "1240000000"},
		{mostWei.Dec(), 3, mostWei.Dec()},
	} {
		if got := roundUp(uint256.MustFromDecimal(c.n), c.digits).Dec(); got != c.want {
			t.Errorf("%s to %d digits: %s, want %s", c.n, c.digits, got, c.want)
		}
	}
}

// Any number: not below, few digits, and less than a unit of the last digit away.
func TestRoundUpAnyNumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := new(uint256.Int).SetBytes(rapid.SliceOfN(rapid.Byte(), 0, 31).Draw(t, "n"))
		digits := rapid.IntRange(1, 5).Draw(t, "digits")
		before := n.Dec()
		got := roundUp(n, digits)
		if n.Dec() != before {
			t.Fatalf("%s was changed to %s", before, n.Dec())
		}
		unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(0, len(before)-digits))), nil)
		away := new(big.Int).Sub(got.ToBig(), n.ToBig())
		if away.Sign() < 0 || away.Cmp(unit) >= 0 || new(big.Int).Mod(got.ToBig(), unit).Sign() != 0 {
			t.Fatalf("%s to %d digits: %s", before, digits, got.Dec())
		}
	})
}
