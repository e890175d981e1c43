package dataset

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// A difference of amounts is the one of whole numbers, and orders as they do.
func TestChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) (Wei, *big.Int) {
			w := Wei{rapid.Uint64Range(0, maxWeiHi-1).Draw(t, name), rapid.Uint64().Draw(t, name), true}
			n, _ := new(big.Int).SetString(w.String(), 10)
			return w, n
		}
		a, x := draw("a")
		b, y := draw("b")
		forth, back := Less(a, b), Less(b, a)
		if want := new(big.Int).Sub(x, y); forth.String() != want.String() {
			t.Fatalf("%s less %s is %s, want %s", a, b, forth, want)
		}
		if compareCells(&forth, &back) != x.Cmp(y) {
			t.Fatalf("%s and %s are in the wrong order", forth, back)
		}
	})
}
