package pool

import (
	"cmp"
	"slices"
	"testing"

	"github.com/holiman/uint256"
	"pgregory.net/rapid"
)

// TestRankFollowsValue: a greater value never has the smaller rank, and one that differs in its
// first 36 bits has a greater one.
func TestRankFollowsValue(t *testing.T) {
	values := rapid.Custom(func(t *rapid.T) *uint256.Int {
		value := uint256.NewInt(rapid.Uint64().Draw(t, "digits"))
		return value.Lsh(value, uint(rapid.IntRange(0, 192).Draw(t, "zeros")))
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := values.Draw(t, "a"), values.Draw(t, "b")
		switch ranks := cmp.Compare(rankOf(a), rankOf(b)); {
		case ranks != 0 && ranks != a.Cmp(b):
			t.Fatalf("%s has rank %d, %s %d", a, rankOf(a), b, rankOf(b))
		case a.BitLen() <= 36 && b.BitLen() <= 36 && ranks != a.Cmp(b):
			t.Fatalf("%s and %s have the same rank", a, b)
		case rankOf(a)>>44 != 0:
			t.Fatalf("%s has rank %x, which is more than is sorted by", a, rankOf(a))
		}
	})
}

// TestSortByRank: it is a stable sort.
func TestSortByRank(t *testing.T) {
	ranks := rapid.OneOf(rapid.Uint64Range(0, 3), rapid.Uint64Range(0, 1<<44-1))
	rapid.Check(t, func(t *rapid.T) {
		var chosen []choice
		for i, rank := range rapid.SliceOf(ranks).Draw(t, "ranks") {
			chosen = append(chosen, choice{rank: rank, cell: uint32(i)})
		}
		want := slices.Clone(chosen)
		slices.SortStableFunc(want, func(a, b choice) int { return cmp.Compare(b.rank, a.rank) })
		if got, _ := sortByRank(chosen, nil); !slices.Equal(got, want) {
			t.Fatalf("sorted as %v", got)
		}
	})
}
