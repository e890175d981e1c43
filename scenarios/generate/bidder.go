package generate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/agent/builder"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay/client"
)

// part is what a builder of the lineup does.
type part struct {
	// strategy returns the one of a slot.
	strategy func(seed uint64, r *rand.Rand) builder.Strategy
	numbered bool
	// hasty does not wait for an answer before it sends its next bid.
	hasty bool
	// away is how much longer its way to relays is.
	away time.Duration
	// takesOrders: the bundle RPC knows it.
	takesOrders bool
	// cheats says which rules its next bid breaks, of which it has made some in this slot.
	cheats func(r *rand.Rand, bids int) []builder.Cheat
}

// lineup are the builders, builder-1 first.
var lineup = []part{
	{strategy: rising(45, 88, 98), takesOrders: true},
	{strategy: usual, takesOrders: true, cheats: notPaying},
	{strategy: adaptive, takesOrders: true},
	{strategy: lastMinute, takesOrders: true},
	{strategy: takingBack, takesOrders: true},
	{strategy: stealth, takesOrders: true, numbered: true, hasty: true, away: 60 * time.Millisecond},
	{strategy: bluff, takesOrders: true},
	{strategy: rising(50, 96, 100), cheats: breaking},
}

// rising makes five bids, up to a percentage of what the block earns that is drawn for each slot.
func rising(from, least, most int) func(uint64, *rand.Rand) builder.Strategy {
	return func(_ uint64, r *rand.Rand) builder.Strategy {
		return builder.Rising{Bids: 5, From: float64(from), To: float64(least + r.IntN(most-least))}
	}
}

func usual(seed uint64, _ *rand.Rand) builder.Strategy { return builder.Usual{Seed: seed} }

func adaptive(_ uint64, r *rand.Rand) builder.Strategy {
	return patient{builder.Adaptive{StepWei: uint256.NewInt(300_000_000_000_000)}, 4 + r.Uint64N(14)}
}

// patient bids as another strategy does, but once in patience at most, and keeps a percentage of
// what its block earns.
type patient struct {
	builder.Strategy
	keeps uint64
}

const patience = 900 * time.Millisecond

// Decide implements builder.Strategy.
func (p patient) Decide(at builder.Situation) builder.Decision {
	d := p.Strategy.Decide(at)
	if d.Do != builder.Bid {
		return d
	}
	if due := at.Began + time.Duration(at.Bids)*patience; at.Now < due {
		return builder.Decision{Do: builder.Wait, Until: due}
	}
	wanted := d.ValueWei
	d.AboveWei, d.ValueWei = at.LastWei, func(gainWei *uint256.Int) *uint256.Int {
		most := new(uint256.Int).Mul(gainWei, uint256.NewInt(100-p.keeps))
		if most.Div(most, uint256.NewInt(100)); wanted(gainWei).Lt(most) {
			return wanted(gainWei)
		}
		return most
	}
	return d
}

func lastMinute(_ uint64, r *rand.Rand) builder.Strategy {
	return builder.LastMinute{When: micros(r, -400*time.Millisecond, 700*time.Millisecond)}
}

func takingBack(_ uint64, r *rand.Rand) builder.Strategy {
	at := micros(r, -1500*time.Millisecond, 300*time.Millisecond)
	s := builder.TakingBack{Strategy: builder.Rising{Bids: 5, From: 60, To: 96}}
	if happens(r, 300) {
		s.At = &at
	} else {
		s.WhenOutbid = happens(r, 200)
	}
	return s
}

func stealth(_ uint64, r *rand.Rand) builder.Strategy {
	return builder.Stealth{Until: micros(r, -800*time.Millisecond, 200*time.Millisecond)}
}

// bluff bids up to 0.05 ether.
func bluff(_ uint64, r *rand.Rand) builder.Strategy {
	return builder.Bluff{
		ValueWei: uint256.NewInt(r.Uint64N(50_000_000_000_000_000) + 2_000_000_000_000_000),
		Until:    micros(r, -1500*time.Millisecond, -100*time.Millisecond),
	}
}

// notPaying does not pay the proposer, now and then, with its last bid.
func notPaying(r *rand.Rand, bids int) []builder.Cheat {
	if bids == 2 && happens(r, 60) {
		return []builder.Cheat{builder.CheatPayment}
	}
	return nil
}

// broken are the rules that builder-8 breaks.
var broken = []builder.Cheat{
	builder.CheatValue, builder.CheatPayment, builder.CheatBlockHash, builder.CheatParentHash, builder.CheatGasLimit,
	builder.CheatGasUsed, builder.CheatTimestamp, builder.CheatPrevRandao, builder.CheatWithdrawals,
	builder.CheatFeeRecipient, builder.CheatProposer, builder.CheatSlot, builder.CheatSignature, builder.CheatStateRoot,
	builder.CheatEmptyPayload,
}

func breaking(r *rand.Rand, _ int) []builder.Cheat {
	if happens(r, 600) {
		return []builder.Cheat{broken[r.IntN(len(broken))]}
	}
	return nil
}

// bidder is a builder: what it is, and what it does in the slot that runs.
type bidder struct {
	part
	*builder.Builder
	key phase0.BLSPubKey
	// ways are the fixed parts of its ways to the relays.
	ways []time.Duration

	plan      builder.Strategy
	situation builder.Situation
	tops      []*topHeard // of each relay
}

// topHeard is a leading bid that a builder has heard of.
type topHeard struct {
	builder  phase0.BLSPubKey
	valueWei *uint256.Int
}

func builderName(i int) string { return fmt.Sprintf("builder-%d", i) }

func (w *world) openBidders() (all []*bidder) {
	for i, part := range lineup {
		name := builderName(i + 1)
		key := bls.Derive(fmt.Sprintf("generated builder %d", w.seed), uint64(i))
		b := &bidder{part: part, key: key.PublicKey(), Builder: builder.New(builder.Config{
			Name: name, Key: key, Wallet: network.Wallet(w.seed, "builder", i), Node: w.mempool, Signer: w.mempool.signer,
			Spec: w.spec, Seed: w.seed + uint64(i)<<32, Numbered: part.numbered,
		})}
		ways := drawsOf(w.seed, 0, "ways of "+name)
		for range w.relays {
			b.ways = append(b.ways, part.away+micros(ways, 3*time.Millisecond, 30*time.Millisecond))
		}
		all = append(all, b)
	}
	return all
}

// enter begins a builder's work on an auction.
func (w *world) enter(ctx context.Context, b *bidder, a *slotAuction) {
	b.plan = b.strategy(b.Seed, w.of(b.Name))
	b.situation = builder.Situation{
		Slot: uint64(a.attributes.Slot), Length: w.spec.SlotDuration, Began: w.now.Sub(w.spec.SlotStart(a.attributes.Slot)),
	}
	w.add(w.now, func() error { return w.look(ctx, b, a) })
}

// look does what a builder's strategy decides now.
func (w *world) look(ctx context.Context, b *bidder, a *slotAuction) error {
	if w.auction != a { // a newer block is announced
		return nil
	}
	start := w.spec.SlotStart(a.attributes.Slot)
	b.situation.Now = w.now.Sub(start)
	b.situation.TopWei, b.situation.Leading = b.leading()
	switch d := b.plan.Decide(b.situation); d.Do {
	case builder.Wait:
		// A strategy may name the present moment; a moment later is the earliest that can follow it.
		until := start.Add(max(d.Until, b.situation.Now+time.Millisecond)).Truncate(time.Microsecond)
		w.add(until, func() error { return w.look(ctx, b, a) })
	case builder.Bid:
		return w.bid(ctx, b, a, d)
	case builder.Rest, builder.Stop:
	}
	return nil
}

// leading returns the highest leading bid of all relays that a builder knows of.
func (b *bidder) leading() (valueWei *uint256.Int, ours bool) {
	for _, top := range b.tops {
		if top != nil && (valueWei == nil || top.valueWei.Gt(valueWei)) {
			valueWei, ours = top.valueWei, top.builder == b.key
		}
	}
	return valueWei, ours
}

// bid builds a block and sends it to all relays.
func (w *world) bid(ctx context.Context, b *bidder, a *slotAuction, d builder.Decision) error {
	b.Conduct = builder.Conduct{}
	if b.cheats != nil {
		b.Conduct.Cheats = b.cheats(w.of(b.Name), b.situation.Bids)
	}
	duty := client.Duty{Slot: a.attributes.Slot, Index: a.duty.Index, Registration: a.duty.Registration}
	offer, err := b.Offer(ctx, a.attributes, duty, d)
	built := w.draw(b.Name, building)
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// A strategy never bids so that it cannot be built, but for what the block earns.
		w.noteFailed(b, errors.Is(err, builder.ErrNotBetter))
		w.after(built, func() error { return w.look(ctx, b, a) })
		return nil
	}
	sent, err := newSent(b, a, offer, d)
	if err != nil {
		return fmt.Errorf("encode a bid of %s: %w", b.Name, err)
	}
	w.after(built, func() error {
		w.send(ctx, b, sent)
		if b.hasty {
			w.noteAccepted(b, sent)
			return w.look(ctx, b, a)
		}
		return nil
	})
	return nil
}

// send sends a bid to all relays, and sometimes a second time.
func (w *world) send(ctx context.Context, b *bidder, s *sent) {
	draws := w.of(b.Name)
	again := happens(draws, 40)
	for i, h := range w.relays {
		way := b.ways[i] + tail(draws, 4*time.Millisecond)
		w.after(way, func() error { return w.receive(ctx, h, b, s) })
		if again {
			w.after(way+micros(draws, 20*time.Millisecond, 400*time.Millisecond), func() error {
				return w.receive(ctx, h, b, s)
			})
		}
	}
}

// answered notes a relay's answer to a bid. A builder goes on when one relay has accepted the bid,
// or all have refused it.
func (w *world) answered(ctx context.Context, b *bidder, s *sent, accepted bool) {
	s.answers++
	if s.settled || !accepted && s.answers < len(w.relays) || b.hasty {
		return
	}
	s.settled = true
	w.after(b.ways[0], func() error {
		if accepted {
			w.noteAccepted(b, s)
		} else {
			w.noteFailed(b, false)
		}
		return w.look(ctx, b, s.auction)
	})
}

func (w *world) noteAccepted(b *bidder, s *sent) {
	b.situation.Bids++
	b.situation.LastWei, b.situation.Failed = s.valueWei, 0
	b.situation.TookBack = b.situation.TookBack || s.takesBack
}

func (w *world) noteFailed(b *bidder, notBetter bool) {
	if notBetter {
		b.situation.Bids++
		b.situation.Failed = 0
		return
	}
	b.situation.Failed++
	b.situation.FailedAt = w.now.Sub(w.spec.SlotStart(phase0.Slot(b.situation.Slot)))
}

// hear tells all builders of a relay's new leading bid. valueWei is nil if none leads any more.
func (w *world) hear(h *house, a *slotAuction, top *topHeard) {
	for _, b := range w.builders {
		w.after(b.ways[h.index]+tail(w.of(b.Name+" hears"), 3*time.Millisecond), func() error {
			if w.auction == a {
				b.tops[h.index] = top
			}
			return nil
		})
	}
}
