package submit

import (
	"context"
	"sync"

	"github.com/gavel-relay/gavel/relay"
)

// escrowPayload does all that a bid needs before it may be served: its header is made, is begun to
// be signed if the bid would lead now, and its payload is in the escrow. Waking another goroutine
// takes 0.1 ms and more. So this one finishes what is nearly done, and starts another one only for
// what nobody has begun.
func (p *Pipeline) escrowPayload(ctx context.Context, a *attempt) *relay.Refused {
	prepared := sync.OnceValues(func() (*preparedBid, error) { return p.prepareAndSign(a) })
	switch signing := a.ahead.Signing(); {
	case signing == nil:
		go func() { _, _ = prepared() }()
	case signing.IsDone():
		_, _ = prepared()
	default: // the bid is being signed on another goroutine
	}
	refused := p.keep(ctx, a.submission, prepared)
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

// provePayment keeps what the simulated block pays. It comes after the escrow: only then it is this
// very payload that the escrow has.
func (p *Pipeline) provePayment(_ context.Context, a *attempt) *relay.Refused {
	p.Slots.NotePaid(a.submission.Trace, a.paidWei)
	a.bid.verified = true
	return nil
}

// escrowedPayload is a payload that is in the escrow, or on its way to it.
type escrowedPayload struct {
	done chan struct{} // closed when it is kept, or is not
	// of is the bid that the payload makes: whoever offers the same block once more must offer the
	// same payload. It is nil if it was not kept.
	of *preparedBid
}

// keep puts a payload into the escrow, unless the builder's payload of this hash is there already:
// then it must be the same one. What a hash names is shown by the execution, which reads the
// escrow: another payload under it would be served unseen. bid is made while the payload is
// written.
func (p *Pipeline) keep(ctx context.Context, s *relay.Submission, bid func() (*preparedBid, error)) *relay.Refused {
	contents := s.Contents()
	id := contents.ID()
	for {
		there, first := p.reserve(id)
		if first {
			return p.put(ctx, s, contents, there, bid)
		}
		select {
		case <-ctx.Done():
			return relay.SubmissionEscrowDown.Plain()
		case <-there.done:
		}
		if there.of == nil { // was not kept: we try
			continue
		}
		same, err := bid()
		if err != nil {
			return relay.Malformed.With("%v", err)
		}
		if difference := differs(same, there.of); difference != "" {
			return relay.SubmissionOtherPayload.With("%s", difference)
		}
		return nil
	}
}

// reserve is the payload of an id; true for the one who has to put it.
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
	ctx context.Context, s *relay.Submission, contents *relay.Contents, reserved *escrowedPayload,
	bid func() (*preparedBid, error),
) (refused *relay.Refused) {
	id := contents.ID()
	defer close(reserved.done)
	defer func() {
		if refused != nil {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.escrowed, id)
			p.room.remove(id)
		}
	}()
	if refused := p.makeRoom(ctx, s, id, int64(contents.Size())); refused != nil {
		return refused
	}
	if err := p.Escrow.Put(ctx, contents); err != nil {
		p.trouble("put payload into the escrow", err)
		return relay.SubmissionEscrowDown.Plain()
	}
	made, err := bid()
	if err != nil {
		return relay.Malformed.With("%v", err)
	}
	reserved.of = made // read after done alone
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
