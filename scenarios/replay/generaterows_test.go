package replay

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/scenarios/dataset"
	"github.com/gavel-relay/gavel/scenarios/generate"
)

// generated are the rows of a generated data set, as its files have them.
type generated struct {
	bids       []*dataset.Bid // submissions only
	deliveries []*dataset.Delivery
	requests   []*dataset.Request
	slots      []*dataset.Slot
	stages     []*dataset.Stage
	orders     []*dataset.Order
}

func readGenerated(t *testing.T, into string, network dataset.Network) generated {
	t.Helper()
	hours := func(table string) []string {
		files, err := filesOf(into, table)
		if err != nil || len(files) == 0 {
			t.Fatalf("%d files of %s, %v", len(files), table, err)
		}
		return files
	}
	g := generated{
		bids:       readRows(t, dataset.Bids, network, hours("bids")...),
		deliveries: readRows(t, dataset.Deliveries, network, hours("deliveries")...),
		requests:   readRows(t, dataset.Requests, network, hours("requests")...),
		slots:      readRows(t, dataset.Slots, network, hours("slots")...),
		stages:     readRows(t, dataset.Stages, network, hours("stages")...),
		orders:     readRows(t, dataset.Orders, network, hours("orders")...),
	}
	g.bids = slices.DeleteFunc(g.bids, func(b *dataset.Bid) bool { return b.Kind != dataset.Submission })
	return g
}

// What the rows of a generated data set say of each other holds. The checks read rows alone, and
// know nothing of how they were made.
func TestGeneratedRows(t *testing.T) {
	const seed = 11
	into, network := filepath.Join(t.TempDir(), "set"), generate.NetworkOf(seed)
	generateInto(t, into, seed, 30)
	g := readGenerated(t, into, network)
	t.Run("deliveries", g.checkDeliveries)
	t.Run("headers", g.checkHeaders)
	t.Run("chain", g.checkChain)
	t.Run("refusals", g.checkRefusals)
	t.Run("stages", g.checkStages)
	t.Run("orders", g.checkOrders)
	t.Run("replay", func(t *testing.T) { checkReplay(t, into, network) })
	t.Run("import", func(t *testing.T) { checkImport(t, into, network) })
}

// Each delivered payload is a bid of that relay that counted, its header was served by that relay
// before, and was worth no less than the other relay's; it pays what it promised unless an
// execution found later that it does not; and the chain has it.
func (g generated) checkDeliveries(t *testing.T) {
	for _, d := range g.deliveries {
		name := fmt.Sprintf("slot %d at %s", d.Slot.V, d.Relay)
		bid := slices.IndexFunc(g.bids, func(b *dataset.Bid) bool {
			return b.Slot == d.Slot && b.Relay == d.Relay && b.BlockHash == d.BlockHash && b.ValueWei == d.ValueWei &&
				b.Builder == d.Builder && b.Refusal == "" && b.EligibleAt.Known
		})
		if bid < 0 {
			t.Errorf("%s: the delivered payload is no bid that counted", name)
			continue
		}
		if honest := g.bids[bid].Verified.V; honest != (d.PaidWei == d.ValueWei) {
			t.Errorf("%s: promised %s, paid %s, and its block was found valid: %v", name, d.ValueWei, d.PaidWei, honest)
		}
		served := 0
		for _, r := range g.requests {
			switch {
			case r.Slot != d.Slot || r.Outcome != dataset.Served:
			case r.Relay == d.Relay && r.BlockHash == d.BlockHash && r.ValueWei == d.ValueWei:
				served++ // as a header, and as a payload
			case weiLess(d.ValueWei, r.ValueWei):
				t.Errorf("%s: a header of %s wei was served, and that of %s wei was taken", name, r.ValueWei, d.ValueWei)
			}
		}
		if served != 2 {
			t.Errorf("%s: header and payload were served %d times", name, served)
		}
		if !slices.ContainsFunc(g.slots, func(s *dataset.Slot) bool {
			return s.Slot == d.Slot && s.Outcome == dataset.Landed && s.BlockHash == d.BlockHash && s.Relay != "" &&
				s.ValueWei == d.ValueWei && s.PaidWei == d.PaidWei && s.NumTx == d.NumTx && s.GasUsed == d.GasUsed
		}) {
			t.Errorf("%s: the chain does not have the delivered payload", name)
		}
	}
}

// Each header that was served is the best bid that counted then, by a look at all bids.
func (g generated) checkHeaders(t *testing.T) {
	for _, r := range g.requests {
		if r.Kind != dataset.HeaderRequest || !r.ReceivedAt.Known {
			continue
		}
		best := g.best(r)
		switch {
		case best == nil && r.Outcome != dataset.NoBid:
			t.Errorf("slot %d at %s: %s, and no bid counts", r.Slot.V, r.Relay, r.Outcome)
		case best != nil && (r.Outcome != dataset.Served || r.BlockHash != best.BlockHash || r.ValueWei != best.ValueWei):
			t.Errorf("slot %d at %s: %s with %s wei, and the best bid is of %s wei", r.Slot.V, r.Relay, r.Outcome, r.ValueWei,
				best.ValueWei)
		}
	}
}

// best is the best bid of an auction when a request was received. Of a builder's bids that may be
// replaced, only the last counts, even if it is too low to count itself.
func (g generated) best(r *dataset.Request) (best *dataset.Bid) {
	var stand []*dataset.Bid
	last := map[dataset.Key]*dataset.Bid{}
	for _, b := range g.bids {
		at := enteredAt(b)
		if b.Slot != r.Slot || b.Relay != r.Relay || b.Refusal != "" || !b.Optimistic.Known || at > r.ReceivedAt.Micros {
			continue
		}
		switch {
		case !b.Cancellable.V && !b.Sequence.Known:
			stand = append(stand, b)
		case last[b.Builder] == nil || enteredAt(last[b.Builder]) < at:
			last[b.Builder] = b
		}
	}
	for _, b := range last {
		stand = append(stand, b)
	}
	stand = slices.DeleteFunc(stand, func(b *dataset.Bid) bool { return !b.EligibleAt.Known })
	slices.SortFunc(stand, func(a, b *dataset.Bid) int {
		return cmp.Or(cmp.Compare(b.ValueWei.Hi, a.ValueWei.Hi), cmp.Compare(b.ValueWei.Lo, a.ValueWei.Lo),
			cmp.Compare(enteredAt(a), enteredAt(b)))
	})
	if len(stand) == 0 {
		return nil
	}
	return stand[0]
}

// enteredAt is when a bid took effect.
func enteredAt(b *dataset.Bid) int64 {
	if b.EligibleAt.Known {
		return b.EligibleAt.Micros
	}
	return b.ReceivedAt.Micros
}

func weiLess(a, b dataset.Wei) bool { return a.Hi < b.Hi || a.Hi == b.Hi && a.Lo < b.Lo }

// Each slot has a row; blocks follow each other, and a missed slot has none.
func (g generated) checkChain(t *testing.T) {
	var before *dataset.Slot
	for i, s := range g.slots {
		if s.Slot.V != int64(i)+1 {
			t.Fatalf("row %d is of slot %d", i, s.Slot.V)
		}
		if s.Outcome == dataset.Missed {
			if s.BlockHash.Known || s.Because == "" {
				t.Errorf("slot %d is missed with a block, or for no reason", s.Slot.V)
			}
			continue
		}
		if before != nil && (s.ParentHash != before.BlockHash || s.BlockNumber.V != before.BlockNumber.V+1) {
			t.Errorf("block %d of slot %d does not follow block %d", s.BlockNumber.V, s.Slot.V, before.BlockNumber.V)
		}
		if landed := slices.ContainsFunc(g.deliveries, func(d *dataset.Delivery) bool { return d.Slot == s.Slot }); landed !=
			(s.Outcome == dataset.Landed) {
			t.Errorf("slot %d is %s, and delivered: %v", s.Slot.V, s.Outcome, landed)
		}
		before = s
	}
}

// Each refusal has a name of the relay's catalogue, and a bid that was refused never counted.
func (g generated) checkRefusals(t *testing.T) {
	names := map[dataset.Text]int{}
	for _, b := range g.bids {
		if b.Refusal != "" {
			names[b.Refusal]++
		}
		if b.Refusal != "" && b.EligibleAt.Known {
			t.Errorf("a bid of slot %d counts and is refused: %s", b.Slot.V, b.Refusal)
		}
	}
	for _, r := range g.requests {
		if r.Refusal != "" {
			names[r.Refusal]++
		}
	}
	for name := range names {
		if !slices.ContainsFunc(relay.Refusals, func(r relay.Refusal) bool { return r.ID == string(name) }) {
			t.Errorf("%s is no refusal", name)
		}
	}
	if len(names) < 8 {
		t.Errorf("only %d kinds of refusals: %v", len(names), names)
	}
}

// From its receipt until it counts, a bid takes as long as its stages.
func (g generated) checkStages(t *testing.T) {
	type key struct {
		relay dataset.Text
		block dataset.Hash
		began int64
	}
	took, receipt := map[key]int64{}, map[key]int64{}
	for _, s := range g.stages {
		k := key{s.Relay, s.BlockHash, s.BeganAt.Micros}
		if s.Stage == "receive" {
			receipt[k] = s.TookUs.V
		}
		took[k] += s.TookUs.V
	}
	ends := map[key]int64{} // when the stages of what was received at a time are over
	for k, receives := range receipt {
		ends[key{k.relay, k.block, k.began + receives}] = k.began + took[k]
	}
	for _, b := range g.bids {
		end, found := ends[key{b.Relay, b.BlockHash, b.ReceivedAt.Micros}]
		// Two bids that enter in the same microsecond enter one after the other.
		if !found || b.EligibleAt.Known && (b.EligibleAt.Micros < end || b.EligibleAt.Micros > end+2) {
			t.Errorf("a bid of slot %d at %s counts %d µs after its stages, which are there: %v", b.Slot.V, b.Relay,
				b.EligibleAt.Micros-end, found)
		}
	}
}

// What an order went through has its order in time, and where it landed is a block of the chain.
func (g generated) checkOrders(t *testing.T) {
	states := map[dataset.Text]int{}
	for _, o := range g.orders {
		states[o.State]++
		last := o.ReceivedAt.Micros
		for _, step := range []dataset.Time{o.SimulatedAt, o.SharedAt, o.MatchedAt} {
			if step.Known && step.Micros < last {
				t.Errorf("order %x of slot %d goes back in time", o.Hash.V, o.Slot.V)
			}
			if step.Known {
				last = step.Micros
			}
		}
		if o.EndedAt.Known == (o.State == "alive") || o.BlockHash.Known != (o.State == "landed") {
			t.Errorf("order %x is %s, with an end: %v, and a block: %v", o.Hash.V, o.State, o.EndedAt.Known, o.BlockHash.Known)
		}
		if o.State == "landed" && !slices.ContainsFunc(g.slots, func(s *dataset.Slot) bool {
			return s.BlockHash == o.BlockHash && s.BlockNumber == o.BlockNumber
		}) {
			t.Errorf("order %x landed in a block that is not in the chain", o.Hash.V)
		}
	}
	if states["landed"] == 0 || states["failed"] == 0 || states["cancelled"] == 0 {
		t.Errorf("orders ended: %v", states)
	}
}
