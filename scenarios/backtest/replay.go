package backtest

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holiman/uint256"
)

// asArchived is the house of a replay in which nothing is changed.
var asArchived = House{Floor: true}

// Replay plays the auctions of a slot as they went, and then each variant. It returns a result for
// each relay, variant and moment at which the proposer asks, and how the auctions went as archived.
// It counts in inferred for how many bids each rule of inference decided; it may be nil.
func Replay(s Slot, how Inference, variants []Variant, inferred map[string]int64) ([]Result, []Course) {
	var results []Result
	var courses []Course
	for _, l := range lots(s, how) {
		p, by := l.archived(how)
		courses = append(courses, l.course(&p))
		results = append(results, l.result(AsArchived, l.offers, &p, p.asks[0], by))
		for _, v := range variants {
			results = append(results, v.play(l, p.asks[0].atUs, by)...)
		}
		if inferred != nil {
			for rule, n := range l.inferred {
				inferred[rule] += n
			}
		}
	}
	return results, courses
}

// archived plays an auction as it went, with the moment at which the proposer asked, and how that
// moment was found.
func (l *lot) archived(how Inference) (p played, by string) {
	if how.fixed {
		return play(l.offers, asArchived, []int64{how.askedUs}), "fixed"
	}
	p = play(l.offers, asArchived, []int64{how.otherwiseUs})
	if l.delivered == nil {
		return p, "otherwise"
	}
	spans := p.spans(l.delivered.BlockHash.V, &uint256.Int{l.delivered.ValueWei.Lo, l.delivered.ValueWei.Hi})
	if len(spans) == 0 {
		return p, "otherwise"
	}
	if at := nearest(spans, how.otherwiseUs); at != how.otherwiseUs {
		p = play(l.offers, asArchived, []int64{at})
	}
	return p, "delivered"
}

// Inferred says for how many bids each rule decided, in words.
func Inferred(counts map[string]int64) []string {
	var all []string
	for _, rule := range slices.Sorted(maps.Keys(counts)) {
		all = append(all, fmt.Sprintf("%s: %d", rule, counts[rule]))
	}
	return all
}
