package submit

import (
	"context"
	"slices"
	"time"

	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/check"
	"github.com/gavel-relay/gavel/relay/slots"
)

// awaitedPayload is a header in the auction whose payload has not come. If a block is offered at
// several values, each of them is a header of its own: the payload has to follow, and is executed
// at that value.
type awaitedPayload struct {
	job      *optimisticJob
	bid      *preparedBid
	expected *slots.Expected // ended when the payload has come, or is too late
}

// requireHeaderTrust refuses a header unless the operator lets its builder send headers first, up
// to its collateral.
func (p *Pipeline) requireHeaderTrust(_ context.Context, a *attempt) *relay.Refused {
	if !a.rules.Builder.HeaderFirst || !p.trusts(a) {
		return relay.HeaderNotTrusted.Plain()
	}
	return nil
}

// expectPayload notes that the payload of a header has to follow. If the payload is here already,
// the header must be the header of it.
func (p *Pipeline) expectPayload(ctx context.Context, a *attempt) (refused *relay.Refused) {
	a.bid = prepareHeader(a.header)
	a.awaited = &awaitedPayload{job: jobOf(a.submission, a.rules, p.Clock.Now()), bid: a.bid}
	if a.payload, refused = p.awaitPayload(a.awaited); refused == nil && a.payload == payloadIsHere {
		refused = p.compareWithEscrow(ctx, a.awaited)
	}
	return refused
}

// compareWithEscrow refuses a header that is not the header of the payload in the escrow. Equal
// hashes do not show this, since the hash in a header is only the builder's claim.
func (p *Pipeline) compareWithEscrow(ctx context.Context, a *awaitedPayload) *relay.Refused {
	contents, err := p.Escrow.Get(ctx, a.job.payload())
	if err != nil || contents == nil {
		p.reportFailure("read the payload of a header", err)
		return relay.SubmissionEscrowDown.Plain()
	}
	kept, err := prepareContents(contents)
	if err != nil {
		return relay.Malformed.With("%v", err)
	}
	if difference := differs(a.bid, kept); difference != "" {
		return relay.HeaderPayloadMismatch.With("%s", difference)
	}
	a.bid.trace.NumTx, a.bid.trace.NumBlobs = kept.trace.NumTx, kept.trace.NumBlobs
	return nil
}

// watchPayload starts a goroutine that waits for the payload of a header in the auction. If the
// payload is here already, the block is queued for simulation at the header's own value.
func (p *Pipeline) watchPayload(ctx context.Context, a *attempt) *relay.Refused {
	a.judged.Optimistic = true
	switch a.payload {
	case payloadFollows:
		go p.watch(context.WithoutCancel(ctx), a.awaited)
	case payloadIsAwaited: // the same bid again: another goroutine waits for its payload
	case payloadIsHere:
		p.queueJob(a.awaited.job)
	}
	return nil
}

// stopExpecting ends the wait for the payload of a header that was refused.
func (p *Pipeline) stopExpecting(a *attempt) {
	if a.awaited != nil {
		p.endWait(a.awaited)
	}
}

// completeHeaders handles a block that is the payload of headers in the auction, and ends its way.
func (p *Pipeline) completeHeaders(ctx context.Context, a *attempt) *relay.Refused {
	headers := p.awaitedOf(a.submission)
	if len(headers) == 0 {
		return nil
	}
	a.judged.Optimistic = true
	a.answer(accepted, "the payload of a header")
	return p.joinHeaders(ctx, a, headers)
}

// completeAfterSlot accepts a block that is refused only because its slot is over, if it is the
// payload of headers. The builder still owes that payload, and has not withheld it if it comes
// late. Other blocks stay refused.
func (p *Pipeline) completeAfterSlot(ctx context.Context, a *attempt, refused *relay.Refused) *relay.Refused {
	if refused.ID != relay.SubmissionDelivered.ID && refused.ID != relay.SubmissionPastSlot.ID {
		return refused
	}
	headers := p.awaitedOf(a.submission)
	if len(headers) == 0 || check.BlockHash(a.rules) != nil || verifySignature(a.rules, a.ahead.Verified()) != nil {
		return refused
	}
	a.authenticated, a.judged.Optimistic = true, true
	a.answer(accepted, "the payload of a header, after its slot")
	return p.joinHeaders(ctx, a, headers)
}

// completeLateHeaders joins a block with headers of it that came while the block was in the
// pipeline: they found no payload then, and await this one. It returns the refusal of the block, or
// else that of the join.
func (p *Pipeline) completeLateHeaders(ctx context.Context, a *attempt, refused *relay.Refused) *relay.Refused {
	if !a.authenticated {
		return refused
	}
	if headers := p.awaitedOf(a.submission); len(headers) > 0 {
		if mismatch := p.joinHeaders(ctx, a, headers); refused == nil {
			return mismatch
		}
	}
	return refused
}

// prepareContents makes the bid of a payload in the escrow.
func prepareContents(c *relay.Contents) (*preparedBid, error) {
	return prepare(&relay.Submission{
		Fork: c.Fork, Trace: c.Trace, Payload: c.Payload, Blobs: c.Blobs, Requests: c.Requests,
	}, nil)
}

// payloadState says where the payload of a header is.
type payloadState uint8

const (
	payloadFollows   payloadState = iota // it is awaited from now on
	payloadIsAwaited                     // it is awaited already, for the same bid
	payloadIsHere
)

// awaitPayload notes that a payload has to follow, unless it is here already or awaited for the
// same bid. Two different headers of one bid are refused.
func (p *Pipeline) awaitPayload(a *awaitedPayload) (payloadState, *relay.Refused) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.escrowed[a.job.payload()].isKept() {
		return payloadIsHere, nil
	}
	id := a.job.id()
	if before := p.awaited[id]; before != nil {
		if difference := differs(a.bid, before.bid); difference != "" {
			return 0, relay.HeaderPayloadMismatch.With("of two headers of one bid %s", difference)
		}
		return payloadIsAwaited, nil
	}
	a.expected = p.Slots.Expect(id.block)
	p.awaited[id] = a
	return payloadFollows, nil
}

// endWait ends the wait for a payload. It returns true for the one call that has ended it.
func (p *Pipeline) endWait(a *awaitedPayload) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.awaited[a.job.id()] != a {
		return false
	}
	p.endWaitOf(a)
	return true
}

// watch demotes the builder if the payload has not come within PayloadTimeout.
func (p *Pipeline) watch(ctx context.Context, a *awaitedPayload) {
	if !p.waitLate(ctx, a, a.job.since.Add(p.PayloadTimeout)) {
		return
	}
	if p.shared != nil {
		p.settleLate(ctx, a)
	} else if p.endWait(a) {
		p.demoteLate(ctx, a)
	}
}

// waitLate waits for a payload until a time. It returns true if the payload has not come.
func (p *Pipeline) waitLate(ctx context.Context, a *awaitedPayload, at time.Time) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		select {
		case <-a.expected.Ended():
		case <-ctx.Done():
		}
	}()
	return p.Clock.Until(ctx, at) == nil
}

func (p *Pipeline) demoteLate(ctx context.Context, a *awaitedPayload) {
	p.demote(ctx, a.job, relay.DemotedWithheld, "no payload within "+p.PayloadTimeout.String(), nil)
}

// awaitedOf returns the headers that await a submission as their payload. Only the builder of a
// header can send its payload.
func (p *Pipeline) awaitedOf(s *relay.Submission) (headers []*awaitedPayload) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.awaitedBlock(slots.PayloadOf(s.Trace))
}

// awaitedBlock returns the headers that await a payload. The caller holds mu.
func (p *Pipeline) awaitedBlock(payload relay.PayloadID) (headers []*awaitedPayload) {
	for id, a := range p.awaited {
		if id.block == payload.BlockHash && id.builder == payload.Builder {
			headers = append(headers, a)
		}
	}
	return headers
}

// endWaitOf ends the wait for a payload. The caller holds mu.
func (p *Pipeline) endWaitOf(a *awaitedPayload) {
	delete(p.awaited, a.job.id())
	a.expected.End()
}

// joinHeaders accepts the payload of headers that are in the auction. Each header is executed at
// its own value, even if the message of the payload has another one. A header that does not fit the
// payload demotes its builder. If another header fits, the payload is kept all the same.
func (p *Pipeline) joinHeaders(ctx context.Context, a *attempt, headers []*awaitedPayload) *relay.Refused {
	s := a.submission
	bid, err := prepare(s, a.ahead)
	if err != nil {
		return relay.Malformed.With("%v", err)
	}
	var refused *relay.Refused
	var right, wrong []*awaitedPayload
	for _, header := range headers {
		if difference := differs(header.bid, bid); difference != "" {
			wrong, refused = append(wrong, header), relay.HeaderPayloadMismatch.With("%s", difference)
		} else {
			right = append(right, header)
		}
	}
	if len(right) > 0 {
		if down := p.keep(ctx, a, func() (*preparedBid, error) { return bid, nil }); down != nil {
			return down
		}
	}
	for _, header := range right {
		p.addCounts(header, bid)
		p.queueJob(takeOver(a, header.job)) // before endWait: after it the payload may be delivered
		p.endWait(header)
	}
	for _, header := range wrong {
		if p.endWait(header) {
			p.demote(ctx, takeOver(a, header.job), relay.DemotedMismatch, refused.Detail, s.Contents())
		}
	}
	if p.shared != nil {
		if len(right) == 0 {
			bid = nil
		}
		if down := p.tellArrived(ctx, s, bid); refused == nil {
			refused = down
		}
	}
	return refused
}

// takeOver returns the job of a header: if another instance has taken the header, one of this
// instance, which has its payload.
func takeOver(a *attempt, job *optimisticJob) *optimisticJob {
	if !job.backup {
		return job
	}
	own := &optimisticJob{rules: *a.rules, since: job.since}
	own.rules.Submission, own.rules.SignatureLater = job.rules.Submission, job.rules.SignatureLater
	return own
}

// addCounts adds to the bid in the book the counts that only its payload shows.
func (p *Pipeline) addCounts(a *awaitedPayload, bid *preparedBid) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a.bid.trace.NumTx, a.bid.trace.NumBlobs = bid.trace.NumTx, bid.trace.NumBlobs
}

// differs names the first difference between two bids for a block of the same hash; empty if there
// is none.
func differs(a, b *preparedBid) string {
	// The widest form has all fields of each fork, and gloas has no form of its own.
	rootA, errA := a.header.HashTreeRoot()
	rootB, errB := b.header.HashTreeRoot()
	switch {
	case errA != nil || errB != nil || rootA != rootB:
		return "the header's root differs"
	case !slices.Equal(a.commitments, b.commitments):
		return "the blob commitments differ"
	case a.fork.HasRequests() && !payload.SameRequests(a.requests, b.requests), a.requestsRoot != b.requestsRoot:
		return "the execution requests differ"
	default:
		return ""
	}
}
