package receive

import (
	"maps"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
)

// belowFloor says whether a bid is at or below the floor and thus not worth executing. A
// cancellable one takes back its builder's earlier bid all the same.
func (d *Desk) belowFloor(s *relay.Submission) (bool, *relay.Refused) {
	d.mu.Lock()
	defer d.mu.Unlock()
	book := d.books.Of(s.Key())
	if floor := book.Floor(); floor.IsZero() || s.Trace.Value.Gt(floor) {
		return false, nil
	}
	if s.Cancellable || s.Sequence > 0 {
		outcome := book.SubmitUnverified(s.Bid())
		if outcome.Result == auction.Outdated {
			return true, relay.SubmissionStale.Plain()
		}
		return true, d.show(s.Key(), outcome)
	}
	return true, nil
}

// leads says whether a bid is the top, or would be if it counted.
func (d *Desk) leads(s *relay.Submission) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	top := d.books.Of(s.Key()).Top()
	if top == nil || s.Trace.Value.Gt(top.ValueWei) {
		return true
	}
	offered := s.Bid()
	return idOf(top) == idOf(&offered)
}

// enter puts a bid into the book and shows the new top, if there is one. What it needs to be served
// is there: its payload is in the escrow, or awaited.
func (d *Desk) enter(s *relay.Submission, facts *caseFacts, bid *preparedBid) *relay.Refused {
	bid.askedGas = facts.Duty.Registration.Message.GasLimit
	d.mu.Lock()
	defer d.mu.Unlock()
	if refused := d.askedFor(s, bid); refused != nil { // the proposer has registered anew while this one was executed
		return refused
	}
	if d.Deliveries.Delivered(phase0.Slot(s.Trace.Slot)) { // revealed while this one was executed
		return relay.SubmissionDelivered.Plain()
	}
	offered := s.Bid()
	id := idOf(&offered)
	if d.awaited[id] == nil && !d.escrowed[payloadOf(s.Trace)].isKept() { // has made room for others meanwhile
		return relay.SubmissionEscrowCrowded.Plain()
	}
	if before := d.prepared[id]; before == nil || !before.verified { // what is known to be valid stays known
		d.prepared[id] = bid
	}
	outcome := d.books.Of(s.Key()).Submit(offered)
	if outcome.Result == auction.Outdated {
		return relay.SubmissionStale.Plain()
	}
	return d.show(s.Key(), outcome)
}

// show publishes the top if it changed. The caller holds the mutex.
func (d *Desk) show(key relay.Key, outcome auction.Outcome) *relay.Refused {
	if !outcome.Changed {
		return nil
	}
	if outcome.Top == nil {
		d.Board.Show(key, nil)
		d.Facts.Record(relay.TopChanged{At: d.Clock.Now(), Trace: relay.Trace{
			Slot: key.Slot, ParentHash: key.ParentHash, Proposer: key.Proposer, ValueWei: new(uint256.Int),
		}})
		return nil
	}
	bid := d.prepared[idOf(outcome.Top)]
	d.Board.Show(key, bid.sign(key, d.Key, d.Spec.BuilderDomain(), d.notSigned))
	d.Facts.Record(relay.TopChanged{At: d.Clock.Now(), Trace: bid.trace})
	return nil
}

// notSigned tells of a bid that leads but cannot be served.
func (d *Desk) notSigned(err error) { d.trouble("sign bid", err) }

// takeBack withdraws all bids of a builder that no execution has found valid, from all auctions,
// and shows what leads then.
func (d *Desk) takeBack(pubkeys []phase0.BLSPubKey) {
	d.mu.Lock()
	defer d.mu.Unlock()
	unverified := func(bid relay.Bid) bool {
		known := d.prepared[idOf(&bid)]
		return known == nil || !known.verified
	}
	for key, book := range d.books.All() {
		for _, pubkey := range pubkeys {
			if refused := d.show(key, book.Withdraw(pubkey, unverified)); refused != nil {
				d.trouble("show the top after a withdrawal", refused)
			}
		}
	}
}

// Close forgets the auctions of all slots before the given one, and what of theirs was still to be
// executed; a delivered block still is.
func (d *Desk) Close(before phase0.Slot) {
	d.mu.Lock()
	d.books.Close(before)
	for id, bid := range d.prepared {
		if bid.trace.Slot < before {
			delete(d.prepared, id)
		}
	}
	d.room.close(before)
	maps.DeleteFunc(d.payments, func(id relay.PayloadID, _ payment) bool { return id.Slot < before })
	maps.DeleteFunc(d.escrowed, func(id relay.PayloadID, _ *escrowedPayload) bool { return id.Slot < before })
	d.mu.Unlock()
	d.standings.close(before)
	d.shares.close(before)
	for _, job := range d.later.close(before) {
		d.executed(job, "infrastructure", "", "the slot was over before the block could be executed", nil)
	}
}
