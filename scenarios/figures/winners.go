package figures

import (
	"cmp"
	"math/big"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/scenarios/backtest"
)

// winners has the moments at which winning bids were received.
type winners struct {
	// deliveredUs are those of bids whose block was delivered, servedUs those of bids that led
	// when the proposer asked.
	deliveredUs, servedUs []int64
}

func (w *winners) add(c *backtest.Course) {
	if d := c.Delivered; d != nil {
		for _, b := range c.Bids {
			if d.BlockHash.Known && b.Block == d.BlockHash.V && amountOf(b.ValueWei) == (amount{d.ValueWei.Lo, d.ValueWei.Hi}) {
				w.deliveredUs = append(w.deliveredUs, b.ReceivedUs)
				break
			}
		}
	}
	lead := leading(c)
	if lead == nil {
		return
	}
	for _, b := range c.Bids {
		if b.Block == lead.Block && b.Builder == lead.Builder && b.ValueWei.Eq(lead.ValueWei) {
			w.servedUs = append(w.servedUs, b.ReceivedUs)
			break
		}
	}
}

// leading is the lead at the moment at which the proposer asks, nil if nobody leads.
func leading(c *backtest.Course) *backtest.CourseLead {
	var found *backtest.CourseLead
	for i := range c.Leads {
		if c.Leads[i].AtUs <= c.AskedUs {
			found = &c.Leads[i]
		}
	}
	if found == nil || found.ValueWei == nil {
		return nil
	}
	return found
}

func (w *winners) figure() Figure {
	f := Figure{
		ID: "arrival-of-winners", Title: "When winning bids arrive",
		Doc: "The share of auctions whose winning bid had been received by each moment: of bids that the archive says were " +
			"delivered, and of those that lead in the replay when the proposer asks.",
		X: "ms since the slot began", Y: "share of auctions", Header: []string{"series", "ms", "auctions", "of"},
	}
	for _, one := range []struct {
		name string
		us   []int64
	}{{"delivered", w.deliveredUs}, {"served in the replay", w.servedUs}} {
		if len(one.us) == 0 {
			continue
		}
		us := slices.Sorted(slices.Values(one.us))
		s := Series{Name: one.name, Form: Step}
		for i, at := range us {
			if i+1 < len(us) && us[i+1] == at {
				continue
			}
			s.Points = append(s.Points, Point{X: float64(at) / 1000, Y: share(int64(i+1), int64(len(us)))})
			f.Rows = append(f.Rows, []string{one.name, msText(at), decimal(int64(i + 1)), decimal(int64(len(us)))})
		}
		f.Series = append(f.Series, s)
	}
	if len(f.Series) == 0 {
		f.Missing = "No auction has a winning bid."
	}
	return f
}

// builder is what one builder did.
type builder struct {
	bids, auctions, wins, gaps int64
	firstUs, lastUs            int64 // sums over its auctions
	ledUs                      int64
	gapWei, winsWei            *big.Int
}

// builders counts what each builder did.
type builders struct {
	by map[[48]byte]*builder
	// ledUs is how long anybody led.
	ledUs int64
}

func newBuilders() *builders { return &builders{by: map[[48]byte]*builder{}} }

func (b *builders) of(key [48]byte) *builder {
	one := b.by[key]
	if one == nil {
		one = &builder{gapWei: new(big.Int), winsWei: new(big.Int)}
		b.by[key] = one
	}
	return one
}

func (b *builders) add(c *backtest.Course) {
	type span struct{ firstUs, lastUs int64 }
	spans := map[[48]byte]span{}
	for _, bid := range c.Bids {
		b.of(bid.Builder).bids++
		s, known := spans[bid.Builder]
		if !known {
			s = span{bid.ReceivedUs, bid.ReceivedUs}
		}
		spans[bid.Builder] = span{min(s.firstUs, bid.ReceivedUs), max(s.lastUs, bid.ReceivedUs)}
	}
	for key, s := range spans {
		one := b.of(key)
		one.auctions++
		one.firstUs += s.firstUs
		one.lastUs += s.lastUs
	}
	for i, lead := range c.Leads {
		until := c.AskedUs
		if i+1 < len(c.Leads) {
			until = min(until, c.Leads[i+1].AtUs)
		}
		if lead.ValueWei != nil && until > lead.AtUs {
			b.of(lead.Builder).ledUs += until - lead.AtUs
			b.ledUs += until - lead.AtUs
		}
	}
}

// countWin counts the auction's result as archived.
func (b *builders) countWin(r *backtest.Result) {
	if !r.ServedBuilder.Known {
		return
	}
	one := b.of(r.ServedBuilder.V)
	one.wins++
	one.winsWei.Add(one.winsWei, weiOf(r.ServedWei))
	if r.SecondWei.Known {
		one.gaps++
		one.gapWei.Add(one.gapWei, new(big.Int).Sub(weiOf(r.ServedWei), weiOf(r.SecondWei)))
	}
}

func (b *builders) merge(other *builders) {
	b.ledUs += other.ledUs
	for key, from := range other.by {
		one := b.of(key)
		one.bids += from.bids
		one.auctions += from.auctions
		one.wins += from.wins
		one.gaps += from.gaps
		one.firstUs += from.firstUs
		one.lastUs += from.lastUs
		one.ledUs += from.ledUs
		one.gapWei.Add(one.gapWei, from.gapWei)
		one.winsWei.Add(one.winsWei, from.winsWei)
	}
}

// ordered are the builders, the most successful first.
func (b *builders) ordered() (keys [][48]byte) {
	for key := range b.by {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(x, y [48]byte) int {
		return cmp.Or(cmp.Compare(b.by[y].wins, b.by[x].wins), cmp.Compare(b.by[y].bids, b.by[x].bids),
			strings.Compare(string(x[:]), string(y[:])))
	})
	return keys
}

// drawnBuilders is how many builders the figure shows; its table has all.
const drawnBuilders = 12

func (b *builders) figure(of *shading) Figure {
	f := Figure{
		ID: "builders", Title: "Builders",
		Doc: "What each builder did: bids, auctions, the mean of its first and its last bid in ms of the slot, its share " +
			"of the time in which anybody led before the proposer asked, auctions that it won in the replay, " +
			"by how much it won over the best other builder, in the mean of auctions that had one, and what part of its " +
			"blocks' worth it did not bid, if it tells. Drawn is the share of the time on top.",
		X: "builder", Y: "share of the time on top", Named: true,
		Header: []string{"builder_pubkey", "bids", "auctions", "mean_first_ms", "mean_last_ms", "share_of_time_on_top",
			"wins", "won_wei", "mean_gap_to_second_wei", "mean_shading", "median_shading"},
	}
	s := Series{Name: "share of the time on top", Form: Marker}
	for i, key := range b.ordered() {
		one := b.by[key]
		gap := ""
		if one.gaps > 0 {
			gap = mean(one.gapWei, one.gaps).String()
		}
		f.Rows = append(f.Rows, []string{
			keyText(key), decimal(one.bids), decimal(one.auctions), meanMs(one.firstUs, one.auctions),
			meanMs(one.lastUs, one.auctions), ratio(one.ledUs, b.ledUs), decimal(one.wins), one.winsWei.String(), gap,
			of.builders[key].mean(), of.builders[key].median(),
		})
		if i < drawnBuilders {
			s.Points = append(s.Points, Point{X: float64(i), Y: share(one.ledUs, b.ledUs), Label: shortKey(key)})
		}
	}
	if f.Series = []Series{s}; len(s.Points) == 0 {
		f.Missing, f.Series = noAuctions, nil
	}
	return f
}

func meanMs(us, n int64) string {
	if n == 0 {
		return ""
	}
	return msText(us / n)
}
