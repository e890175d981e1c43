package figures

import (
	"math/big"
	"strings"

	"github.com/gavel-relay/gavel/scenarios/backtest"
)

// whatIfs compares variants with what happens as archived, auction by auction.
type whatIfs struct {
	names []string
	by    map[string]*variant
}

// variant is what proposers get in a variant more than as archived.
type variant struct {
	slots    []slotSum
	totalWei *big.Int
	auctions int64
	others   int64 // auctions in which another block is served
}

func newWhatIfs() *whatIfs { return &whatIfs{by: map[string]*variant{}} }

func (w *whatIfs) of(name string) *variant {
	v := w.by[name]
	if v == nil {
		v = &variant{totalWei: new(big.Int)}
		w.by[name], w.names = v, append(w.names, name)
	}
	return v
}

// add looks at the results of one slot. Those of an auction begin with the one as archived.
func (w *whatIfs) add(results []backtest.Result) {
	sums, gains := map[string]*slotSum{}, map[string]*big.Int{}
	var actual *backtest.Result
	for i := range results {
		r := &results[i]
		name := string(r.Variant)
		if name == backtest.AsArchived {
			actual = r
			continue
		}
		v := w.of(name)
		if sums[name] == nil {
			sums[name], gains[name] = &slotSum{}, new(big.Int)
		}
		gains[name].Add(gains[name], new(big.Int).Sub(weiOf(r.PaidWei), weiOf(actual.PaidWei)))
		sums[name].auctions++
		v.auctions++
		if r.ServedBlock != actual.ServedBlock {
			v.others++
		}
	}
	for name, gain := range gains {
		v := w.by[name]
		v.totalWei.Add(v.totalWei, gain)
		sums[name].sum = ether(gain)
		v.slots = append(v.slots, *sums[name])
	}
}

func (w *whatIfs) merge(other *whatIfs) {
	for _, name := range other.names {
		from, v := other.by[name], w.of(name)
		v.slots = append(v.slots, from.slots...)
		v.totalWei.Add(v.totalWei, from.totalWei)
		v.auctions += from.auctions
		v.others += from.others
	}
}

func (w *whatIfs) figure(models map[string][]string) Figure {
	f := Figure{
		ID: "what-if", Title: "What if: counterfactual against actual",
		Doc: "What proposers get more than in the replay as archived, if the auction is held under other rules: the " +
			"mean of all auctions, with bounds of 95 % " + byBootstrap + " Bids are those of the archive in " +
			"all variants: builders do " +
			"not answer other rules with other bids. Names with * have a model in them, and are no replay.",
		X: "variant", Y: "ETH more per auction", Named: true,
		Header: []string{"variant", "auctions", "mean_gain_wei", "low_eth", "high_eth", "other_winners", "is_a_model"},
	}
	if len(w.names) == 0 {
		f.Missing = "No what-if was given (`--what-if FILE`)."
		return f
	}
	s := Series{Name: "gain", Form: Marker}
	for i, name := range w.names {
		v := w.by[name]
		middle := mean(v.totalWei, v.auctions)
		low, high := bootstrap(v.slots)
		label, modelled := name, "no"
		if isModel(models, name) {
			label, modelled = name+" *", "yes"
		}
		s.Points = append(s.Points, Point{X: float64(i), Y: ether(middle), Low: low, High: high, Bounded: true, Label: label})
		f.Rows = append(f.Rows, []string{
			name, decimal(v.auctions), middle.String(), bound(low), bound(high), decimal(v.others), modelled,
		})
	}
	f.Series = []Series{s}
	return f
}

// isModel says whether a variant is a model. The name of one of several moments of asking begins
// with that of its variant.
func isModel(models map[string][]string, name string) bool {
	plain, _, _ := strings.Cut(name, ",ask=")
	return len(models[name])+len(models[plain]) > 0
}
