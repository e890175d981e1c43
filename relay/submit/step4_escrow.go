package submit

import (
	"context"
	"sync"

	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// escrowPayload does all that a bid needs before it may be served: it makes the header, begins to
// sign it if the bid would lead now, and puts the payload into the escrow. Waking another goroutine
// takes 0.1 ms or more. So this goroutine finishes what is nearly done, and starts another one only
// for what has not begun.
func (p *Pipeline) escrowPayload(ctx context.Context, a *attempt) *relay.Refused {
	prepared := sync.OnceValues(func() (*preparedBid, error) { return p.prepareAndSign(a) })
	switch signing := a.ahead.Signing(); {
	case signing == nil:
		go func() { _, _ = prepared() }()
	case signing.IsDone():
		_, _ = prepared()
	default: // the bid is being signed on another goroutine
	}
	refused := p.keep(ctx, a, prepared)
	bid, err := prepared()
	switch {
	case refused != nil:
		return refused
	case err != nil:
		return relay.Malformed.With("%v", err)
	}
	a.bid = bid
	return nil
}

// prepareAndSign makes a bid, and begins to sign it if it would lead now.
func (p *Pipeline) prepareAndSign(a *attempt) (*preparedBid, error) {
	bid, err := prepare(a.submission, a.ahead)
	if err != nil {
		return nil, err
	}
	if p.leads(a.submission) {
		bid.sign(a.submission.Key(), p.Key, p.Spec.BuilderDomain(), p.notSigned)
	}
	return bid, nil
}

// provePayment keeps what the simulated block pays. It runs after escrowPayload, because only that
// shows that the payload in the escrow is the simulated one.
func (p *Pipeline) provePayment(_ context.Context, a *attempt) *relay.Refused {
	p.Slots.NotePaid(a.submission.Trace, a.paidWei)
	a.bid.verified = true
	return nil
}

// escrowedPayload is a payload that is in the escrow, or on its way to it.
type escrowedPayload struct {
	done chan struct{} // closed when the payload is kept, or could not be
	// of is the bid made of the payload. A builder that offers the same block again must send the same
	// payload. It is nil if the payload was not kept.
	of *preparedBid
}

// keep puts a payload into the escrow, unless a payload of the same builder and hash is there
// already. Then both must be the same: the hash is only a claim until an execution has read the
// payload from the escrow, so a different payload under the same hash would be served without
// execution. bid is made while the payload is written.
func (p *Pipeline) keep(ctx context.Context, a *attempt, bid func() (*preparedBid, error)) *relay.Refused {
	contents := a.submission.Contents()
	id := contents.ID()
	for {
		there, first := p.reserve(id)
		if first {
			return p.put(ctx, a, contents, there, bid)
		}
		select {
		case <-ctx.Done():
			return relay.SubmissionEscrowDown.Plain()
		case <-there.done:
		}
		if there.of == nil { // it was not kept, so this one tries
			continue
		}
		same, err := bid()
		if err != nil {
			return relay.Malformed.With("%v", err)
		}
		if difference := differs(same, there.of); difference != "" {
			return relay.SubmissionOtherPayload.With("%s", difference)
		}
		return p.sameAsKept(ctx, contents)
	}
}

// sameAsKept refuses a payload that differs from the one that is kept under its builder and hash in
// what no header shows: blobs with their proofs, and the access list. Otherwise an execution of one
// of them would prove the other one, which is served.
func (p *Pipeline) sameAsKept(ctx context.Context, c *relay.Contents) *relay.Refused {
	kept, err := p.Escrow.Get(ctx, c.ID())
	switch {
	case err != nil:
		p.reportFailure("compare a payload with the one in the escrow", err)
		return relay.SubmissionEscrowDown.Plain()
	case kept == nil:
		return relay.SubmissionEscrowDown.With("the payload that came before is no longer there")
	case !payload.SameBlobs(c.Blobs, kept.Blobs):
		return relay.SubmissionOtherPayload.With("the blobs differ")
	case !payload.SameAccessList(c.Gloas, kept.Gloas):
		return relay.SubmissionOtherPayload.With("the access list differs")
	}
	return nil
}

// reserve returns the payload of an id. It is true for the first caller, which has to put it.
func (p *Pipeline) reserve(id relay.PayloadID) (*escrowedPayload, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if there := p.escrowed[id]; there != nil {
		return there, false
	}
	mine := &escrowedPayload{done: make(chan struct{})}
	p.escrowed[id] = mine
	return mine, true
}

// put writes a payload that was reserved.
func (p *Pipeline) put(
	ctx context.Context, a *attempt, contents *relay.Contents, reserved *escrowedPayload,
	bid func() (*preparedBid, error),
) (refused *relay.Refused) {
	id := contents.ID()
	defer close(reserved.done)
	defer func() {
		if refused != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.escrowed, id)
			p.escrowShares.remove(id)
		}
	}()
	if refused := p.makeRoom(ctx, a.submission, id, int64(contents.Size())); refused != nil {
		return refused
	}
	if err := p.Escrow.Put(ctx, contents); err != nil {
		p.reportFailure("put payload into the escrow", err)
		return relay.SubmissionEscrowDown.Plain()
	}
	a.put = true
	made, err := bid()
	if err != nil {
		return relay.Malformed.With("%v", err)
	}
	reserved.of = made // is read only after done is closed
	return nil
}

// isKept says whether a payload is in the escrow.
func (p *escrowedPayload) isKept() bool {
	if p == nil {
		return false
	}
	select {
	case <-p.done:
		return p.of != nil
	default:
		return false
	}
}
