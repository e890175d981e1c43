package submit

import (
	"errors"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
)

const (
	// lateGrace is how long after the instance that took a header the others look whether its payload
	// has come (chain time): that instance may have died.
	lateGrace = time.Second
	// executeGrace is how long the instance that took a bid has to execute its block before others do
	// (wall time): it may have died.
	executeGrace = 6 * time.Second
)

// Hear applies a message of the auction log. Calls come one after the other, in the log's order.
func (p *Pipeline) Hear(number uint64, slot phase0.Slot, data []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	entry, applied, err := p.shared.boards.Apply(number, slot, data)
	heard := appliedEntry{Applied: applied}
	own := p.shared.waiting[entry.Number]
	if entry.Instance != p.Instance {
		own = nil
	}
	if err == nil && !applied.Repeated {
		err = p.hear(slot, entry, own, &heard)
		if err != nil {
			p.shared.boards.Spoil(slot, err)
		}
	}
	p.hideFaults()
	p.noteOpened(slot)
	if err != nil {
		return
	}
	for _, top := range applied.Tops {
		p.show(top, entry.Instance == p.Instance)
	}
	if own != nil {
		p.answerWaiting(own, heard)
	}
}

// HearOther notes a message of the stream that is of no auction of this relay.
func (p *Pipeline) HearOther(number uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.shared.boards.Pass(number)
	p.hideFaults()
}

func (p *Pipeline) answerWaiting(own *waitingEntry, heard appliedEntry) {
	select {
	case own.done <- heard:
	default: // it is answered already
	}
}

// noteOpened wakes those who wait until a slot's log begins. The caller holds mu.
func (p *Pipeline) noteOpened(slot phase0.Slot) {
	if opened := p.shared.opening[slot]; opened != nil {
		close(opened)
		delete(p.shared.opening, slot)
	}
}

// hideFaults ends the serving of slots whose log cannot be read any more, and answers those who
// wait for it. The caller holds mu.
func (p *Pipeline) hideFaults() {
	for slot := range p.shared.boards.Slots() {
		fault := p.shared.boards.Fault(slot)
		if fault == nil || p.shared.hidden[slot] {
			continue
		}
		p.shared.hidden[slot] = true
		for key := range p.shared.shown[slot] {
			p.TopBids.Show(key, nil)
		}
		for _, waiting := range p.shared.waiting {
			if waiting.slot == slot {
				p.answerWaiting(waiting, appliedEntry{fault: fault})
			}
		}
		p.reportFailure("read the auction log as a whole: nothing of the slot is served", fault)
	}
}

// show announces the top of an auction, as a fact if an entry of this instance has changed it. The
// caller holds mu.
func (p *Pipeline) show(top auction.TopOf, own bool) {
	keys := p.shared.shown[top.Key.Slot]
	if keys == nil {
		keys = map[relay.Key]bool{}
		p.shared.shown[top.Key.Slot] = keys
	}
	keys[top.Key] = true
	p.announceAs(top.Key, top.Outcome, own)
}

// hear does what an entry that was applied asks for besides the books. own is the entry of this
// instance that it is; nil if it is another's, or nobody waits for it. The caller holds mu.
func (p *Pipeline) hear(slot phase0.Slot, entry auction.Entry, own *waitingEntry, heard *appliedEntry) error {
	switch id := (relay.PayloadID{Slot: slot, BlockHash: entry.BlockHash, Builder: entry.Builder}); entry.Kind {
	case auction.BidEntered:
		if entry.Uncounted {
			return nil
		}
		return p.hearBid(id, entry, own, heard.Entered)
	case auction.BidVerified:
		p.Slots.NotePaid(&relay.BidTrace{
			Slot: uint64(slot), BlockHash: entry.BlockHash, BuilderPubkey: entry.Builder, Value: entry.ValueWei,
			ProposerFeeRecipient: entry.FeeRecipient,
		}, nil)
		if known := p.prepared[bidOfEntry(entry)]; known != nil {
			known.verified = true
		}
	case auction.PayloadArrived:
		return p.hearPayload(id, entry)
	case auction.PayloadLate:
		if late := p.awaited[bidOfEntry(entry)]; late != nil {
			p.endWaitOf(late)
			heard.late = late
		}
	case auction.BlockDropped:
		if heard.Dropped {
			p.forgetBlock(id)
		}
	}
	return nil
}

// bidOfEntry identifies the bid that an entry is about.
func bidOfEntry(entry auction.Entry) bidID {
	return bidID{entry.Builder, entry.BlockHash, entry.ValueWei.Bytes32(), entry.FeeRecipient}
}

// hearBid keeps what serves a bid. For another instance's bid it notes that the payload is in the
// escrow, or awaits it, too. The caller holds mu.
func (p *Pipeline) hearBid(id relay.PayloadID, entry auction.Entry, own *waitingEntry, entered bool) error {
	if own != nil {
		if entered {
			p.prepareEntered(own.bid, entry)
		}
		return nil
	}
	s, bid, err := decodeOffer(entry.Offer)
	if err != nil {
		return err
	}
	if bidOfEntry(entry) != idOfTrace(s.Trace) {
		return errors.New("an entry of the auction log offers another bid than it names")
	}
	bid.askedGas, bid.verified = entry.AskedGas, entry.Verified
	if entered {
		p.prepareEntered(bid, entry)
	}
	s.ReceivedAt, s.Cancellable, s.Sequence = entry.ReceivedAt, entry.Cancellable, entry.Sequence
	job := jobOf(s, p.caseOf(s), p.Clock.Now())
	job.rules.SignatureLater = s.Identified
	job.backup = true
	switch {
	case entry.Awaited:
		if entered && !p.escrowed[id].isKept() {
			p.awaitElsewhere(job, bid)
		}
		return nil
	case entry.Verified:
		p.Slots.NotePaid(s.Trace, nil)
	case entered:
		job.notBefore = time.Now().Add(executeGrace)
		p.queueJob(job)
	}
	p.noteEscrowed(id, bid)
	p.joinElsewhere(id, bid)
	return nil
}

// prepareEntered keeps a bid that is in the book. A bid that is known to be valid stays so. The
// caller holds mu.
func (p *Pipeline) prepareEntered(bid *preparedBid, entry auction.Entry) {
	id := bidOfEntry(entry)
	if before := p.prepared[id]; before == nil || !before.verified {
		p.prepared[id] = bid
	}
}

// noteEscrowed notes that a payload is in the escrow. The caller holds mu.
func (p *Pipeline) noteEscrowed(id relay.PayloadID, bid *preparedBid) {
	if p.escrowed[id] == nil { // otherwise this instance has it, or is about to put it
		kept := &escrowedPayload{done: make(chan struct{}), of: bid}
		close(kept.done)
		p.escrowed[id] = kept
	}
}

// awaitElsewhere awaits the payload of a header that another instance has taken. The caller holds
// mu.
func (p *Pipeline) awaitElsewhere(job *optimisticJob, bid *preparedBid) {
	job.since = job.rules.Submission.ReceivedAt
	late := job.since.Add(p.PayloadTimeout + lateGrace)
	if p.awaited[job.id()] != nil || late.Before(p.Clock.Now()) {
		return // known, or long decided: this instance reads an old log
	}
	a := &awaitedPayload{job: job, bid: bid, expected: p.Slots.Expect(bid.trace.BlockHash)}
	p.awaited[job.id()] = a
	go p.watchElsewhere(a, late)
}

// joinElsewhere ends the wait of headers of this instance whose payload another one has put into
// the escrow before it knew of the headers. The caller holds mu.
func (p *Pipeline) joinElsewhere(id relay.PayloadID, bid *preparedBid) {
	for _, a := range p.awaitedBlock(id) {
		if a.job.backup {
			continue // for the instance that took it
		}
		p.endWaitOf(a)
		if differs(a.bid, bid) != "" {
			go p.demoteMismatch(a, differs(a.bid, bid))
			continue
		}
		a.bid.trace.NumTx, a.bid.trace.NumBlobs = bid.trace.NumTx, bid.trace.NumBlobs
		p.queueJob(a.job)
	}
}

// hearPayload ends the wait for a payload that another instance has joined with its headers. The
// caller holds mu.
func (p *Pipeline) hearPayload(id relay.PayloadID, entry auction.Entry) error {
	for _, a := range p.awaitedBlock(id) {
		p.endWaitOf(a)
	}
	if entry.Offer == nil {
		return nil // it was not the payload of any of them
	}
	_, bid, err := decodeOffer(entry.Offer)
	if err != nil {
		return err
	}
	p.noteEscrowed(id, bid)
	for of, known := range p.prepared {
		if of.block == id.BlockHash && of.builder == id.Builder {
			known.trace.NumTx, known.trace.NumBlobs = bid.trace.NumTx, bid.trace.NumBlobs
		}
	}
	return nil
}

func idOfTrace(t *relay.BidTrace) bidID {
	return bidID{t.BuilderPubkey, t.BlockHash, t.Value.Bytes32(), t.ProposerFeeRecipient}
}
