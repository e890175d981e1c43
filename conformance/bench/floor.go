package bench

import (
	"cmp"
	"slices"
	"time"
)

// floors answers which bid a header must not be below.
type floors struct {
	// done are the answers to bids that nothing can end, in order, and best is the highest of each
	// answer and those before it.
	done []time.Duration
	best []*Bid
	// passing are the answered bids that may end.
	passing []standing
}

func newFloors(bids []standing) *floors {
	f := new(floors)
	bids = slices.DeleteFunc(slices.Clone(bids), func(s standing) bool { return s.Done == 0 })
	slices.SortStableFunc(bids, func(x, y standing) int { return cmp.Compare(x.Done, y.Done) })
	var best *Bid
	for _, s := range bids {
		if s.until != never {
			f.passing = append(f.passing, s)
			continue
		}
		if best == nil || best.Value.Lt(&s.Value) {
			best = s.Bid
		}
		f.done, f.best = append(f.done, s.Done), append(f.best, best)
	}
	return f
}

// at returns the highest bid that certainly counted while the header was asked for; nil if there is
// none.
func (f *floors) at(h *Served) (best *Bid) {
	if n, _ := slices.BinarySearchFunc(f.done, h.Sent, func(done, sent time.Duration) int {
		if done < sent {
			return -1
		}
		return 1
	}); n > 0 {
		best = f.best[n-1]
	}
	for _, s := range f.passing {
		if s.Done < h.Sent && h.Done < s.until && (best == nil || best.Value.Lt(&s.Value)) {
			best = s.Bid
		}
	}
	return best
}
