package backtest

import (
	"fmt"
	"io"
	"math/big"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// Summary is what all auctions of one variant come to.
type Summary struct {
	Variant  string `json:"variant"`
	Auctions int    `json:"auctions"`
	Served   int    `json:"served"`
	Bids     int64  `json:"bids"`
	LeftOut  int64  `json:"left_out"`
	Entered  int64  `json:"entered"`
	Leads    int64  `json:"leads"`
	Falls    int64  `json:"falls"`
	// PaidWei is what proposers get. Of the auctions whose relay delivered a payload, of which there
	// are Delivered, DeliveredWei is what the archive says they got, and GainWei what they get more.
	PaidWei      *big.Int       `json:"paid_wei"`
	Delivered    int            `json:"delivered"`
	DeliveredWei *big.Int       `json:"delivered_wei"`
	GainWei      *big.Int       `json:"gain_wei"`
	Reasons      map[Reason]int `json:"reasons"`
}

// Summaries collects results by variant, in the order in which variants come.
type Summaries struct{ All []*Summary }

// Add counts a result.
func (s *Summaries) Add(r *Result) {
	at := slices.IndexFunc(s.All, func(one *Summary) bool { return one.Variant == string(r.Variant) })
	if at < 0 {
		at = len(s.All)
		s.All = append(s.All, &Summary{
			Variant: string(r.Variant), PaidWei: new(big.Int), DeliveredWei: new(big.Int), GainWei: new(big.Int),
			Reasons: map[Reason]int{},
		})
	}
	sum := s.All[at]
	sum.Auctions++
	sum.Bids, sum.LeftOut, sum.Entered = sum.Bids+r.Bids.V, sum.LeftOut+r.LeftOut.V, sum.Entered+r.Entered.V
	sum.Leads, sum.Falls = sum.Leads+r.Leads.V, sum.Falls+r.Falls.V
	sum.Reasons[Reason(r.Reason)]++
	paid := bigWei(r.PaidWei)
	sum.PaidWei.Add(sum.PaidWei, paid)
	if r.ServedBlock.Known {
		sum.Served++
	}
	if r.DeliveredWei.Known {
		sum.Delivered++
		delivered := bigWei(r.DeliveredWei)
		sum.DeliveredWei.Add(sum.DeliveredWei, delivered)
		sum.GainWei.Add(sum.GainWei, paid.Sub(paid, delivered))
	}
}

func bigWei(w dataset.Wei) *big.Int {
	v := new(big.Int).SetUint64(w.Hi)
	return v.Or(v.Lsh(v, 64), new(big.Int).SetUint64(w.Lo))
}

// WriteText writes the summaries for a person: a line for each variant, and the reasons.
func (s *Summaries) WriteText(out io.Writer) error {
	var text strings.Builder
	width := len("variant")
	for _, one := range s.All {
		width = max(width, len(one.Variant))
	}
	fmt.Fprintf(&text, "%-*s %9s %9s %10s %10s %8s %14s %14s\n", width, "variant", "auctions", "served", "bids", "entered",
		"falls", "paid", "over delivered")
	for _, one := range s.All {
		gain := "-"
		if one.Delivered > 0 {
			gain = ether(one.GainWei)
		}
		fmt.Fprintf(&text, "%-*s %9d %9d %10d %10d %8d %14s %14s\n", width, one.Variant, one.Auctions, one.Served, one.Bids,
			one.Entered, one.Falls, ether(one.PaidWei), gain)
	}
	text.WriteString("\n")
	for _, r := range Reasons {
		var counts []string
		any := false
		for _, one := range s.All {
			counts = append(counts, fmt.Sprintf("%9d", one.Reasons[r.Reason]))
			any = any || one.Reasons[r.Reason] > 0
		}
		if any {
			fmt.Fprintf(&text, "%-14s %s  %s\n", r.Reason, strings.Join(counts, " "), r.Doc)
		}
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

// ether writes an amount with six decimals, rounded towards nothing.
func ether(wei *big.Int) string {
	micro := new(big.Int).Quo(wei, big.NewInt(1e12))
	whole, rest := new(big.Int).QuoRem(new(big.Int).Abs(micro), big.NewInt(1e6), new(big.Int))
	sign := ""
	if micro.Sign() < 0 {
		sign = "-"
	}
	return fmt.Sprintf("%s%d.%06d ETH", sign, whole, rest)
}
