package generate

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/check"
	"github.com/gavel-relay/gavel/relay/wire"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// habit is when a proposer asks for headers.
type habit int

const (
	prompt  habit = iota
	playing       // it waits for higher bids
	greedy        // it waits so long that it may be too late
	absent        // it is offline in every other slot
)

// asks are when in their slots proposers ask.
var asks = map[habit]span{
	prompt:  {50 * time.Millisecond, 900 * time.Millisecond},
	playing: {1100 * time.Millisecond, 2700 * time.Millisecond},
	greedy:  {3300 * time.Millisecond, 4050 * time.Millisecond},
	absent:  {50 * time.Millisecond, 900 * time.Millisecond},
}

// proposer is a validator.
type proposer struct {
	index phase0.ValidatorIndex
	key   phase0.BLSPubKey
	// secret signs its blocks.
	secret *bls.SecretKey
	payee  bellatrix.ExecutionAddress
	name   string
	skew   time.Duration
	habit  habit
	// registers: relays know it. gasLimit is the one that it has registered, at the time registered.
	registers  bool
	gasLimit   uint64
	registered time.Time
}

func proposersOf(seed uint64) []*proposer {
	habits := []habit{playing, playing, playing, playing, playing, playing, playing, playing, playing, playing, playing,
		greedy, greedy, greedy, greedy, greedy, absent, absent, absent, absent}
	all := make([]*proposer, validators)
	places := drawsOf(seed, 0, "habits").Perm(validators)
	for i := range all {
		name := fmt.Sprintf("validator-%d", i)
		secret := bls.Derive(fmt.Sprintf("generated validator %d", seed), uint64(i))
		all[i] = &proposer{
			index: phase0.ValidatorIndex(i), key: secret.PublicKey(), secret: secret,
			payee: payeeOf(seed, i), name: name, skew: skewOf(seed, name, 40*time.Millisecond), gasLimit: network.GasLimit,
			registers: true, registered: time.Unix(genesisTime, 0).UTC(),
		}
	}
	for i, habit := range habits {
		all[places[i]].habit = habit
	}
	for _, place := range places[len(places)-3:] {
		all[place].registers = false
	}
	return all
}

// proposerOf is who proposes in a slot: in each epoch the validators take turns in another order.
func (w *world) proposerOf(slot phase0.Slot) *proposer {
	order := drawsOf(w.seed, uint64(w.spec.EpochOf(slot)), "proposers").Perm(validators)
	return w.proposers[order[slot%slotsPerEpoch]]
}

// mixAfter is RANDAO after the block of a slot.
func (w *world) mixAfter(slot phase0.Slot) [32]byte {
	text := append([]byte("randao "), w.head.mix[:]...)
	return sha256.Sum256(binary.BigEndian.AppendUint64(text, uint64(slot)))
}

// plan decides what a proposer will do in its slot.
func (w *world) plan(ctx context.Context, a *slotAuction) {
	p, draws, start := a.proposer, w.of("proposer"), w.spec.SlotStart(a.attributes.Slot)
	window := asks[p.habit]
	at := start.Add(micros(draws, window.from, window.to))
	offline := p.habit == absent && happens(draws, 500)
	w.add(at, func() error {
		switch {
		case offline:
			w.miss(ctx, a, "the proposer is offline")
			return nil
		case a.duty == nil:
			return w.buildLocally(ctx, a)
		}
		return w.ask(ctx, a)
	})
}

// answerOf is a relay's answer to a request for a header.
type answerOf struct {
	relay *house
	// one is the bid that leads, nil without one. header is its signed header.
	one    *counted
	header []byte
}

// ask asks all relays for headers, and goes on when all have answered.
func (w *world) ask(ctx context.Context, a *slotAuction) error {
	p, draws := a.proposer, w.of("proposer")
	var answers []answerOf
	left := len(w.relays)
	for _, h := range w.relays {
		row := &dataset.Request{
			Slot: a.row.Slot, SlotStart: a.row.SlotStart, SentAt: timeOf(w.now.Add(p.skew)), Source: Source,
			Kind: dataset.HeaderRequest, Relay: dataset.Text(h.name), Proposer: keyOf(p.key), Outcome: dataset.Failed,
			Times: intOf(1),
		}
		w.rows.Requests = append(w.rows.Requests, row)
		there, back := micros(draws, toProposer.from, toProposer.to), micros(draws, toProposer.from, toProposer.to)
		if happens(draws, 10) { // there is no answer: the proposer waits for it for a second
			left--
			continue
		}
		w.after(there, func() error {
			answer, err := w.serve(a, h, row)
			if err != nil {
				return err
			}
			w.after(back, func() error {
				answers = append(answers, answer)
				if left--; left == 0 {
					return w.choose(ctx, a, answers)
				}
				return nil
			})
			return nil
		})
	}
	if left == 0 {
		w.after(time.Second, func() error { return w.buildLocally(ctx, a) })
	}
	return nil
}

// serve answers a request for a header.
func (w *world) serve(a *slotAuction, h *house, row *dataset.Request) (answer answerOf, err error) {
	row.ReceivedAt, row.Outcome = timeOf(h.clock(w.now)), dataset.NoBid
	answer.relay = h
	top := h.books.Of(a.key).Top()
	if top == nil {
		return answer, nil
	}
	row.Outcome, row.BlockHash, row.Builder = dataset.Served, hashOf(top.BlockHash), keyOf(top.Builder)
	row.ValueWei = weiOf(top.ValueWei)
	w.rows.Bids = append(w.rows.Bids, &dataset.Bid{
		Slot: row.Slot, SlotStart: row.SlotStart, ObservedAt: row.ReceivedAt, Source: Source, Kind: dataset.HeaderPoll,
		Relay: row.Relay, ValueWei: row.ValueWei, BlockHash: row.BlockHash, ParentHash: hashOf(a.key.ParentHash),
		Builder: row.Builder, Proposer: row.Proposer, FeeRecipient: addressOf(top.FeeRecipient),
	})
	at := slices.IndexFunc(h.counts, func(c *counted) bool { return nameOf(&c.bid) == nameOf(top) })
	if at < 0 {
		return answer, fmt.Errorf("%s has no payload for the bid that leads", h.name)
	}
	answer.one = h.counts[at]
	answer.header, err = h.header(w.spec, answer.one)
	return answer, err
}

// choose takes the most valuable header, of equal ones the first that came, signs it, and hands the
// signed block to all relays that have served that header.
func (w *world) choose(ctx context.Context, a *slotAuction, answers []answerOf) error {
	var best *answerOf
	for i := range answers {
		if one := answers[i].one; one != nil && (best == nil || one.bid.ValueWei.Gt(best.one.bid.ValueWei)) {
			best = &answers[i]
		}
	}
	if best == nil {
		return w.buildLocally(ctx, a)
	}
	body, err := a.proposer.sign(w.spec, a, best.relay.key.PublicKey(), best.header)
	if err != nil {
		return err
	}
	sentAt := w.now.Add(w.draw("proposer", signing))
	for _, answer := range answers {
		if answer.one == nil || answer.one.bid.BlockHash != best.one.bid.BlockHash {
			continue
		}
		a.asked++
		w.add(sentAt.Add(w.draw("proposer", toProposer)), func() error {
			return w.deliver(ctx, a, answer, body, sentAt)
		})
	}
	return nil
}

// deliver hands a signed block to a relay, which publishes it, or refuses.
func (w *world) deliver(ctx context.Context, a *slotAuction, to answerOf, body []byte, sentAt time.Time) error {
	h, one, p := to.relay, to.one, a.proposer
	row := &dataset.Request{
		Slot: a.row.Slot, SlotStart: a.row.SlotStart, SentAt: timeOf(sentAt.Add(p.skew)), ReceivedAt: timeOf(h.clock(w.now)),
		Source: Source, Kind: dataset.PayloadRequest, Relay: dataset.Text(h.name), Proposer: keyOf(p.key),
		Outcome: dataset.Served, BlockHash: hashOf(one.bid.BlockHash), Builder: keyOf(one.bid.Builder),
		ValueWei: weiOf(one.bid.ValueWei), Times: intOf(1),
	}
	w.rows.Requests = append(w.rows.Requests, row)
	blinded, err := wire.DecodeBlinded(a.fork, wire.SSZ, body)
	if err != nil {
		return fmt.Errorf("decode a blinded block: %w", err)
	}
	contents, err := h.deliverer.Deliver(ctx, h.clock(w.now), blinded, false)
	draws := w.of(h.name)
	k := &work{rows: w.rows, row: dataset.Stage{
		Slot: row.Slot, SlotStart: row.SlotStart, BeganAt: row.ReceivedAt, Source: Source, Relay: row.Relay,
		Request: "payload", BlockHash: row.BlockHash, Builder: row.Builder,
	}}
	k.stage(observe.Signature, micros(draws, verifying.from, verifying.to))
	k.stage(observe.Escrow, micros(draws, finding.from, finding.to))
	var no *relay.Refused
	switch {
	case errors.As(err, &no):
		row.Outcome, row.Refusal = dataset.Refused, dataset.Text(no.ID)
		if a.asked--; a.asked == 0 {
			w.miss(ctx, a, "the relays refused: "+row.Refusal)
		}
		return nil
	case err != nil:
		return err
	}
	k.stage(observe.Guard, micros(draws, guarding.from, guarding.to))
	k.stage(observe.Publish, micros(draws, publishes.from, publishes.to))
	w.after(k.total, func() error {
		paidWei, err := w.paidBy(ctx, a, contents)
		if err != nil {
			return err
		}
		w.rows.Deliveries = append(w.rows.Deliveries, w.deliveryRow(a, h, one, weiOf(paidWei)))
		if a.over { // another relay was faster
			return nil
		}
		return w.land(ctx, a, block{contents: contents, sold: &one.bid, relay: h})
	})
	return nil
}

func (w *world) deliveryRow(a *slotAuction, h *house, one *counted, paidWei dataset.Wei) *dataset.Delivery {
	b := one.row
	return &dataset.Delivery{
		Slot: a.row.Slot, SlotStart: a.row.SlotStart, DeliveredAt: timeOf(h.clock(w.now)),
		ObservedAt: timeOf(w.now.Add(micros(w.of("collector"), seen.from, seen.to))), Source: Source, Relay: b.Relay,
		ValueWei: b.ValueWei, PaidWei: paidWei, BlockHash: b.BlockHash, ParentHash: b.ParentHash, Builder: b.Builder,
		Proposer: b.Proposer, FeeRecipient: b.FeeRecipient, BlockNumber: b.BlockNumber, GasLimit: b.GasLimit,
		GasUsed: b.GasUsed, NumTx: b.NumTx, NumBlobs: b.NumBlobs,
	}
}

// buildLocally lands a block of the proposer's own node, with what is in the public pool.
func (w *world) buildLocally(ctx context.Context, a *slotAuction) error {
	p := a.proposer
	built, err := w.node.Build(ctx, chain.BuildArgs{
		Parent: a.attributes.ParentHash, Slot: a.attributes.Slot, PrevRandao: a.attributes.PrevRandao,
		Withdrawals: a.attributes.Withdrawals, ParentBeaconRoot: a.attributes.ParentRoot, Coinbase: [20]byte(p.payee),
		GasLimitTarget: p.gasLimit, ExtraData: []byte(p.name), Transactions: w.mempool.Pending(),
	})
	if err != nil {
		return err
	}
	w.after(w.draw("proposer", localBuild), func() error {
		return w.land(ctx, a, block{contents: &relay.Contents{
			Fork: built.Fork, Payload: built.Payload, Blobs: built.Blobs, Requests: built.Requests,
		}})
	})
	return nil
}

// caseOf has what an execution needs of an auction.
func caseOf(a *slotAuction) *check.Case {
	return &check.Case{Duty: a.duty, Attributes: a.relayAttributes()}
}

// register has validators register anew at the beginning of an epoch: all in the first one, then
// one in 16, with another gas limit.
func (w *world) register(slot phase0.Slot) {
	draws := w.of("registrations")
	for _, p := range w.proposers {
		if !p.registers || slot > 1 && !happens(draws, 60) {
			continue
		}
		at := w.spec.SlotStart(slot).Add(micros(draws, 0, 8*time.Second))
		if slot > 1 {
			p.gasLimit, p.registered = limitOf(draws), at.Truncate(time.Second)
		}
		for _, h := range w.relays {
			w.rows.Registrations = append(w.rows.Registrations, &dataset.Registration{
				Slot: intOf(slot), SlotStart: timeOf(w.spec.SlotStart(slot)), SignedAt: timeOf(p.registered),
				ObservedAt: timeOf(at.Add(micros(draws, seen.from, seen.to))), Source: Source, Relay: dataset.Text(h.name),
				ValidatorIndex: intOf(p.index), GasLimit: intOf(p.gasLimit), FeeRecipient: addressOf(p.payee),
			})
		}
	}
}

func limitOf(draws *rand.Rand) uint64 {
	return []uint64{45_000_000, 60_000_000, 75_000_000}[draws.IntN(3)]
}
