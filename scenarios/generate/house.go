package generate

import (
	"context"
	"fmt"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/agent/builder"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
	"github.com/gavel-relay/gavel/relay/check"
	"github.com/gavel-relay/gavel/relay/deliver"
	"github.com/gavel-relay/gavel/relay/wire"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// house is a relay.
type house struct {
	index int
	name  string
	skew  time.Duration
	// records say how it treats builders; demoted until when a builder's bids do not count at once.
	records map[phase0.BLSPubKey]relay.Builder
	demoted map[phase0.BLSPubKey]phase0.Slot
	// key signs its headers.
	key       *bls.SecretKey
	deliverer *deliver.Deliverer
	// guarded is the newest slot of which it has let a block pass, the one with the root guardedRoot.
	guarded     phase0.Slot
	guardedRoot phase0.Root
	books       auction.Books
	// entered is when the last bid entered, so that no two enter in the same microsecond.
	entered time.Time
	// counts has the bids of the slot that count, with their rows; before those of the slot before.
	counts, before []*counted
}

// counted is a bid that counts.
type counted struct {
	bid relay.Bid
	row *dataset.Bid
	// verified: its block was executed and found valid.
	verified bool
	contents *relay.Contents
	sent     *sent
}

// collateralWei is up to which value bids count at once: 100 ether.
var collateralWei = new(uint256.Int).Mul(uint256.NewInt(100), uint256.NewInt(1e18))

// demotedFor is for how many slots a demoted builder's bids do not count at once.
const demotedFor = 48

// openHouses opens the relays. At relay-1 bids of builder-1 and builder-2 count at once, at relay-2
// those of builder-2; relay-2 has blocked builder-4.
func (w *world) openHouses() []*house {
	all := []*house{{name: "relay-1"}, {name: "relay-2"}}
	for i, h := range all {
		h.index, h.skew = i, skewOf(w.seed, h.name, 8*time.Millisecond)
		h.key, h.deliverer = network.RelayKey(w.seed, i), w.openDeliverer(h)
		h.records, h.demoted = map[phase0.BLSPubKey]relay.Builder{}, map[phase0.BLSPubKey]phase0.Slot{}
	}
	return all
}

// list lists the builders at the relays.
func (w *world) list() {
	trusted := func(i int) relay.Builder {
		return relay.Builder{Name: builderName(i + 1), Pubkeys: []phase0.BLSPubKey{w.builders[i].key}, Optimistic: true,
			CollateralWei: collateralWei}
	}
	first, second := w.relays[0].records, w.relays[1].records
	first[w.builders[0].key], first[w.builders[1].key] = trusted(0), trusted(1)
	second[w.builders[1].key] = trusted(1)
	second[w.builders[3].key] = relay.Builder{Name: builderName(4), Pubkeys: []phase0.BLSPubKey{w.builders[3].key},
		Blocked: true}
}

func (h *house) clock(at time.Time) time.Time { return at.Add(h.skew) }

// record is how the relay treats a builder in a slot.
func (h *house) record(key phase0.BLSPubKey, slot phase0.Slot) relay.Builder {
	r := h.records[key]
	r.Optimistic = r.Optimistic && h.demoted[key] < slot
	return r
}

// sent is a bid on its way to relays.
type sent struct {
	auction                *slotAuction
	body                   []byte
	cancellable, takesBack bool
	sequence               uint64
	valueWei, worthWei     *uint256.Int
	// verified is the result of verifying its signature, which the first relay does that gets it.
	verified *check.Verified
	// answers counts the answers of relays; settled: the builder has got one that it goes on with.
	answers int
	settled bool
}

func newSent(b *bidder, a *slotAuction, offer *builder.Offer, d builder.Decision) (*sent, error) {
	body, err := offer.Request.Fulu.MarshalSSZ()
	if err != nil {
		return nil, err
	}
	return &sent{
		auction: a, body: body, cancellable: d.Cancellable, takesBack: d.TakeBack, sequence: offer.Sequence,
		valueWei: offer.Built.PaidWei, worthWei: offer.Built.CoinbaseGainWei,
	}, nil
}

// work is how long the stages of a relay's work take.
type work struct {
	row   dataset.Stage
	rows  *Rows
	total time.Duration
}

// stage adds a stage that takes a time.
func (k *work) stage(name string, took time.Duration) {
	row := k.row
	row.Stage, row.TookUs = dataset.Text(name), intOf(took.Microseconds())
	k.rows.Stages = append(k.rows.Stages, &row)
	k.total += took
}

// receive judges a submission at the moment at which its body was read.
func (w *world) receive(ctx context.Context, h *house, b *bidder, s *sent) error {
	submission, err := wire.DecodeSubmission(s.auction.fork, wire.SSZ, s.body)
	if err != nil {
		return fmt.Errorf("decode a submission of %s: %w", b.Name, err)
	}
	if s.verified == nil {
		if s.verified, err = w.verify(submission); err != nil {
			return fmt.Errorf("verify a submission of %s: %w", b.Name, err)
		}
	}
	submission.ReceivedAt, submission.Cancellable, submission.Sequence = h.clock(w.now), s.cancellable, s.sequence
	row := bidRow(h, submission, s)
	row.SlotStart = timeOf(w.spec.SlotStart(phase0.Slot(submission.Trace.Slot)))
	w.rows.Bids = append(w.rows.Bids, row)
	draws := w.of(h.name)
	receives := micros(draws, receiving.from, receiving.to)
	k := &work{rows: w.rows, row: dataset.Stage{
		Slot: row.Slot, SlotStart: row.SlotStart, BeganAt: timeOf(submission.ReceivedAt.Add(-receives)), Source: Source,
		Relay: row.Relay, Request: "submission", BlockHash: row.BlockHash, Builder: row.Builder,
	}}
	k.stage(observe.Receive, receives)
	k.total = 0 // what follows is after the receipt
	k.stage(observe.Decode, micros(draws, decoding.from, decoding.to))
	k.stage(observe.Check, micros(draws, checking.from, checking.to))
	return w.judge(ctx, h, b, s, submission, row, k)
}

// verify verifies the signature of a submission.
func (w *world) verify(s *relay.Submission) (*check.Verified, error) {
	root, err := s.Trace.HashTreeRoot()
	if err != nil {
		return nil, err
	}
	v := &check.Verified{
		Builder: s.Trace.BuilderPubkey, Root: eth.SigningRoot(root, w.spec.BuilderDomain()), Signature: s.Signature,
	}
	v.Err = bls.Verify(v.Builder, v.Root, v.Signature)
	return v, nil
}

// judge does with a submission what the relay's steps do (relay/submit).
func (w *world) judge(ctx context.Context, h *house, b *bidder, s *sent, submission *relay.Submission,
	row *dataset.Bid, k *work) error {
	a, key := s.auction, submission.Key()
	book := h.books.Of(key)
	rules := &check.Case{
		Spec: w.spec, Submission: submission, HeadSlot: w.head.slot, NowSlot: w.spec.SlotAt(h.clock(w.now)),
		Builder: h.record(submission.Trace.BuilderPubkey, key.Slot), Delivered: h.guarded >= key.Slot,
		Duty: w.dutyOf(key.Slot), Attributes: w.announced(key), Verified: s.verified,
	}
	switch refused := check.Run(rules); {
	case refused != nil:
		w.refuse(ctx, b, s, row, k, refused)
		return nil
	case len(submission.Payload.Transactions) == 0 || submission.Trace.Value.IsZero():
		w.answer(ctx, b, s, k.total, true)
		return nil
	case book.AtFloor(submission.Trace.Value):
		row.Optimistic = boolOf(false)
		if s.cancellable || s.sequence > 0 {
			outcome := book.SubmitUnverified(submission.Bid())
			if outcome.Result == auction.Outdated {
				w.refuse(ctx, b, s, row, k, relay.SubmissionStale.Plain())
				return nil
			}
			w.show(h, a, outcome)
		}
		w.answer(ctx, b, s, k.total, true)
		return nil
	}
	draws := w.of(h.name)
	one := &counted{bid: submission.Bid(), row: row, contents: submission.Contents(), sent: s}
	if rules.Builder.Trusts(submission.Trace.Value) {
		row.Optimistic = boolOf(true)
		k.stage(observe.Eligible, micros(draws, enteringA.from, enteringA.to))
		w.after(k.total, func() error { return w.enterBook(ctx, h, b, one) })
		return nil
	}
	row.Optimistic = boolOf(false)
	verdict := w.execute(ctx, submission.Contents(), rules)
	k.stage(observe.Simulate, micros(draws, executing.from, executing.to)+
		time.Duration(submission.Payload.GasUsed/100)*time.Microsecond)
	switch verdict.Class {
	case exec.Valid:
		one.verified = true
	case exec.Invalid:
		w.refuse(ctx, b, s, row, k, relay.SubmissionInvalid.With("%s: %s", verdict.Rule, verdict.Detail))
		return nil
	case exec.Infrastructure:
		return fmt.Errorf("execute a block of %s: %s: %s", b.Name, verdict.Rule, verdict.Detail)
	}
	k.stage(observe.Eligible, micros(draws, enteringA.from, enteringA.to))
	w.after(k.total, func() error { return w.enterBook(ctx, h, b, one) })
	return nil
}

// refuse answers a submission with a refusal.
func (w *world) refuse(ctx context.Context, b *bidder, s *sent, row *dataset.Bid, k *work, refused *relay.Refused) {
	row.Refusal = dataset.Text(refused.ID)
	w.answer(ctx, b, s, k.total, false)
}

// answer answers a builder after a time.
func (w *world) answer(ctx context.Context, b *bidder, s *sent, d time.Duration, accepted bool) {
	w.after(d, func() error {
		w.answered(ctx, b, s, accepted)
		return nil
	})
}

// enterBook puts a bid into the auction.
func (w *world) enterBook(ctx context.Context, h *house, b *bidder, one *counted) error {
	slot := one.sent.auction.attributes.Slot
	if h.guarded >= slot {
		one.row.Refusal = dataset.Text(relay.SubmissionDelivered.Plain().ID)
		w.answered(ctx, b, one.sent, false)
		return nil
	}
	at := w.now
	if !at.After(h.entered) {
		at = h.entered.Add(time.Microsecond)
	}
	h.entered = at
	outcome := h.books.Of(one.sent.auction.key).Submit(one.bid)
	if outcome.Result == auction.Outdated {
		one.row.Refusal = dataset.Text(relay.SubmissionStale.Plain().ID)
		w.answered(ctx, b, one.sent, false)
		return nil
	}
	one.row.EligibleAt = timeOf(h.clock(at))
	one.row.ObservedAt = timeOf(at.Add(micros(w.of("collector"), seen.from, seen.to)))
	if one.verified {
		one.row.Verified = boolOf(true)
	} else {
		w.executeLater(ctx, h, one)
	}
	h.counts = append(h.counts, one)
	w.show(h, one.sent.auction, outcome)
	w.answered(ctx, b, one.sent, true)
	return nil
}

// show tells builders of a new leading bid.
func (w *world) show(h *house, a *slotAuction, outcome auction.Outcome) {
	if !outcome.Changed {
		return
	}
	var top *topHeard
	if outcome.Top != nil {
		top = &topHeard{outcome.Top.Builder, outcome.Top.ValueWei}
	}
	w.hear(h, a, top)
}

// executeLater executes the block of a bid that counts already, when its slot's payload is out.
func (w *world) executeLater(ctx context.Context, h *house, one *counted) {
	a := one.sent.auction
	at := w.spec.SlotStart(a.attributes.Slot).Add(executesLate + w.draw(h.name, executing)*4)
	w.add(at, func() error {
		rules := &check.Case{Duty: a.duty, Attributes: a.relayAttributes()}
		verdict := w.execute(ctx, one.contents, rules)
		switch verdict.Class {
		case exec.Valid:
			one.verified, one.row.Verified = true, boolOf(true)
		case exec.Invalid:
			one.row.Verified = boolOf(false)
			w.demote(h, one)
		case exec.Infrastructure:
			return fmt.Errorf("execute a block that counts: %s: %s", verdict.Rule, verdict.Detail)
		}
		return nil
	})
}

// demote takes a builder's bids that are not verified out of all auctions.
func (w *world) demote(h *house, one *counted) {
	key := one.bid.Builder
	h.demoted[key] = one.sent.auction.attributes.Slot + demotedFor
	if w.auction == nil {
		return
	}
	verified := map[string]bool{}
	for _, c := range h.counts {
		verified[nameOf(&c.bid)] = verified[nameOf(&c.bid)] || c.verified
	}
	outcome := h.books.Of(w.auction.key).Withdraw(key, func(bid relay.Bid) bool { return !verified[nameOf(&bid)] })
	w.show(h, w.auction, outcome)
}

// nameOf names a bid of one auction.
func nameOf(bid *relay.Bid) string {
	return fmt.Sprintf("%x %x %s", bid.Builder, bid.BlockHash, bid.ValueWei.Dec())
}

// verdictKey is what the result of an execution depends on, within a slot.
type verdictKey struct {
	hash      phase0.Hash32
	recipient relay.FeeRecipient
	value     uint256.Int
	limit     uint64
}

// execute executes a block. Both relays ask the same execution node, which remembers what it has
// executed.
func (w *world) execute(ctx context.Context, c *relay.Contents, rules *check.Case) exec.Verdict {
	limit := rules.Duty.Registration.Message.GasLimit
	key := verdictKey{c.Payload.BlockHash, c.Trace.ProposerFeeRecipient, *c.Trace.Value, limit}
	if known, ok := w.verdicts[key]; ok {
		return known
	}
	verdict := w.validator.Validate(ctx, &exec.Block{
		Fork: c.Fork, Payload: c.Payload, Blobs: c.Blobs, Requests: c.Requests,
		ParentBeaconRoot: rules.Attributes.ParentRoot, RegisteredGasLimit: limit,
		FeeRecipient: c.Trace.ProposerFeeRecipient, ValueWei: c.Trace.Value, Trace: c.Trace,
	})
	w.verdicts[key] = verdict
	return verdict
}

// bidRow is the row of a submission as it comes.
func bidRow(h *house, submission *relay.Submission, s *sent) *dataset.Bid {
	t := submission.FlatTrace()
	row := &dataset.Bid{
		Source: Source, Kind: dataset.Submission, Relay: dataset.Text(h.name), Slot: intOf(t.Slot),
		ReceivedAt: timeOf(submission.ReceivedAt), ReceivedUnitUs: intOf(1), ValueWei: weiOf(t.ValueWei),
		BlockHash: hashOf(t.BlockHash), ParentHash: hashOf(t.ParentHash), Builder: keyOf(t.Builder),
		Proposer: keyOf(t.Proposer), FeeRecipient: addressOf(t.FeeRecipient),
		BlockFeeRecipient: addressOf(submission.Payload.FeeRecipient), BlockNumber: intOf(t.BlockNumber),
		GasLimit: intOf(t.GasLimit), GasUsed: intOf(t.GasUsed), NumTx: intOf(t.NumTx), NumBlobs: intOf(t.NumBlobs),
		Cancellable: boolOf(s.cancellable), WorthWei: weiOf(s.worthWei),
	}
	if s.sequence > 0 {
		row.Sequence = intOf(s.sequence)
	}
	return row
}
