package submit

import (
	"bytes"
	"context"
	"errors"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	utilbellatrix "github.com/attestantio/go-eth2-client/util/bellatrix"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/check"
)

// awaitedPayload is a header in the auction whose payload has not come. settled is closed when it
// has, or when it is too late. Each value at which a block is offered is a header of its own, with
// a payload to follow and a promise to be executed.
type awaitedPayload struct {
	job   *optimisticJob
	bid   *preparedBid
	ended chan struct{}
}

// noTransactions is the root of an empty list of transactions: clients refuse such a block.
var noTransactions = func() phase0.Root {
	root, err := new(utilbellatrix.ExecutionPayloadTransactions).HashTreeRoot()
	if err != nil {
		panic(err) // an empty list has a root
	}
	return root
}()

// SubmitHeader judges a bid whose payload follows. It counts at once, if the builder is trusted
// with its value. The payload must come as an ordinary submission of the same block within
// PayloadTimeout, or the builder is demoted. A proposer that asks for the payload before it is here
// waits for it: for such bids "served means escrowed" rests on the builder's collateral.
func (p *Pipeline) SubmitHeader(ctx context.Context, h *relay.HeaderSubmission) (relay.Outcome, error) {
	outcome, judged, err := p.submitHeader(ctx, h)
	trace := bareTrace(h.Trace)
	trace.NumBlobs, trace.BlockNumber = len(h.Commitments), h.Header.BlockNumber
	judged.Trace, judged.ReceivedAt = trace, h.ReceivedAt
	judged.Cancellable, judged.Sequence = h.Cancellable, h.Sequence
	if refused := (*relay.Refused)(nil); errors.As(err, &refused) {
		judged.Refusal, judged.Detail = refused.ID, refused.Detail
	}
	p.Facts.Record(judged) // whatever became of it: headers need an API key
	return outcome, err
}

func (p *Pipeline) submitHeader(ctx context.Context,
	h *relay.HeaderSubmission) (relay.Outcome, relay.SubmissionJudged, error) {
	judged := relay.SubmissionJudged{HeaderFirst: true}
	if h.Cancellable && !p.Cancellations {
		return relay.Outcome{}, judged, relay.SubmissionCancellations.Plain()
	}
	s := check.StandIn(h)
	facts := p.caseOf(s)
	facts.Header = h
	if refused := p.check(ctx, facts); refused != nil {
		return relay.Outcome{}, judged, refused
	}
	if !facts.Builder.HeaderFirst || !p.trusts(facts.Builder, h.Trace.Value) {
		return relay.Outcome{}, judged, relay.HeaderNotTrusted.Plain()
	}
	if h.Trace.Value.IsZero() || h.Header.TransactionsRoot == noTransactions {
		judged.Detail = "no value or no transactions: no effect"
		return accepted, judged, nil
	}
	if below, refused := p.belowFloor(s); below || refused != nil {
		judged.Detail = atFloor
		return belowFloor, judged, asError(refused)
	}
	bid := prepareHeader(h)
	awaited := &awaitedPayload{job: jobOf(s, facts, p.Clock.Now()), bid: bid, ended: make(chan struct{})}
	switch where, refused := p.awaitPayload(awaited); {
	case refused != nil:
		return relay.Outcome{}, judged, refused
	case where == payloadIsHere:
		if refused := p.acceptWithPayload(ctx, s, facts, awaited); refused != nil {
			return relay.Outcome{}, judged, refused
		}
	case where == payloadIsAwaited: // the same bid again
		if refused := p.enterAuction(s, facts, bid); refused != nil {
			return relay.Outcome{}, judged, refused
		}
	default:
		if refused := p.enterAuction(s, facts, bid); refused != nil {
			p.endWait(awaited)
			return relay.Outcome{}, judged, refused
		}
		go p.watch(context.WithoutCancel(ctx), awaited)
	}
	judged.Optimistic, judged.EligibleAt = true, p.Clock.Now()
	return accepted, judged, nil
}

// acceptWithPayload takes a header whose payload the builder has brought already. It is served only
// if it is that payload's: the hash in a header is the builder's word. It is executed at its own
// value like any other.
func (p *Pipeline) acceptWithPayload(ctx context.Context, s *relay.Submission, facts *caseFacts,
	a *awaitedPayload) *relay.Refused {
	contents, err := p.Escrow.Get(ctx, a.job.payload())
	if err != nil || contents == nil {
		p.trouble("read the payload of a header", err)
		return relay.SubmissionEscrowDown.Plain()
	}
	kept, err := preparedOf(contents)
	if err != nil {
		return relay.Malformed.With("%v", err)
	}
	if difference := differs(a.bid, kept); difference != "" {
		return relay.HeaderPayloadMismatch.With("%s", difference)
	}
	a.bid.trace.NumTx, a.bid.trace.NumBlobs = kept.trace.NumTx, kept.trace.NumBlobs
	if refused := p.enterAuction(s, facts, a.bid); refused != nil {
		return refused
	}
	p.queueOptimistic(a.job)
	return nil
}

// preparedOf is the bid that the escrow's contents are of.
func preparedOf(c *relay.Contents) (*preparedBid, error) {
	return prepare(&relay.Submission{Fork: c.Fork, Trace: c.Trace, Payload: c.Payload, Blobs: c.Blobs,
		Requests: c.Requests})
}

// payloadState is where the payload of a header is.
type payloadState uint8

const (
	payloadFollows   payloadState = iota // and is awaited from now on
	payloadIsAwaited                     // for the very same bid
	payloadIsHere
)

// awaitPayload notes that a payload has to follow, unless it is here already or awaited for the
// same bid. A bid has one header.
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
	p.awaited[id] = a
	return payloadFollows, nil
}

// endWait ends the wait for a payload; true for the one call that does.
func (p *Pipeline) endWait(a *awaitedPayload) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := a.job.id()
	if p.awaited[id] != a {
		return false
	}
	delete(p.awaited, id)
	close(a.ended)
	return true
}

// watch demotes the builder when the payload is late.
func (p *Pipeline) watch(ctx context.Context, a *awaitedPayload) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		<-a.ended
	}()
	late := p.Clock.Until(ctx, a.job.since.Add(p.PayloadTimeout)) == nil
	if late && p.endWait(a) {
		p.demote(context.WithoutCancel(ctx), a.job, relay.DemotedWithheld, "no payload within "+
			p.PayloadTimeout.String(), nil)
	}
}

// awaitedOf are the headers that a submission is the payload of, none if none waits for it. Only
// its own builder can follow a header.
func (p *Pipeline) awaitedOf(s *relay.Submission) (headers []*awaitedPayload) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, a := range p.awaited {
		if id.block == s.Trace.BlockHash && id.builder == s.Trace.BuilderPubkey {
			headers = append(headers, a)
		}
	}
	return headers
}

// headersOwed are the headers of which a submission is the payload that is refused for nothing but
// that its slot is over: what was promised is still owed, and who brings it has not withheld it.
func (p *Pipeline) headersOwed(refused *relay.Refused, facts *caseFacts) []*awaitedPayload {
	if refused.ID != relay.SubmissionDelivered.ID && refused.ID != relay.SubmissionPastSlot.ID {
		return nil
	}
	headers := p.awaitedOf(facts.Submission)
	if len(headers) == 0 || check.BlockHash(facts) != nil || verifySignature(facts) != nil {
		return nil
	}
	return headers
}

// completeHeaders takes the payload of headers that are in the auction. Each of them is executed at
// the value that it was shown with, whatever the message that brings the payload says. A header of
// another payload demotes; if one of them is the payload's, that is kept all the same.
func (p *Pipeline) completeHeaders(ctx context.Context, s *relay.Submission, headers []*awaitedPayload) *relay.Refused {
	bid, err := prepare(s)
	if err != nil {
		return relay.Malformed.With("%v", err)
	}
	var refused *relay.Refused
	var right, wrong []*awaitedPayload
	for _, a := range headers {
		if difference := differs(a.bid, bid); difference != "" {
			wrong, refused = append(wrong, a), relay.HeaderPayloadMismatch.With("%s", difference)
		} else {
			right = append(right, a)
		}
	}
	if len(right) > 0 {
		if down := p.keep(ctx, s, func() (*preparedBid, error) { return bid, nil }); down != nil {
			return down
		}
	}
	for _, a := range right {
		p.addCounts(a, bid)
		p.queueOptimistic(a.job) // before anybody hears that the payload is here: it may be delivered then
		p.endWait(a)
	}
	for _, a := range wrong {
		if p.endWait(a) {
			p.demote(ctx, a.job, relay.DemotedMismatch, refused.Detail, s.Contents())
		}
	}
	return refused
}

// addCounts lets the bid in the book know what only the payload tells.
func (p *Pipeline) addCounts(a *awaitedPayload, bid *preparedBid) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a.bid.trace.NumTx, a.bid.trace.NumBlobs = bid.trace.NumTx, bid.trace.NumBlobs
}

// differs says what is different between two bids for a block of the same hash.
func differs(a, b *preparedBid) string {
	rootA, errA := payload.HeaderRoot(a.fork, a.header)
	rootB, errB := payload.HeaderRoot(b.fork, b.header)
	switch {
	case errA != nil || errB != nil || rootA != rootB:
		return "the header's root differs"
	case !slices.Equal(a.commitments, b.commitments):
		return "the blob commitments differ"
	case a.fork >= eth.Electra && !sameRequests(a, b):
		return "the execution requests differ"
	default:
		return ""
	}
}

func sameRequests(a, b *preparedBid) bool {
	requestsA, errA := payload.EncodeRequests(a.requests)
	requestsB, errB := payload.EncodeRequests(b.requests)
	return errA == nil && errB == nil && slices.EqualFunc(requestsA, requestsB, bytes.Equal)
}

// Await waits until a payload that has to follow a header of a block has come, or comes too late:
// then it is worth looking again. It is false at once if none is awaited, and when the context
// ends.
func (p *Pipeline) Await(ctx context.Context, hash phase0.Hash32) bool {
	settled := p.endOf(hash)
	if settled == nil {
		return false
	}
	select {
	case <-ctx.Done():
		return false
	case <-settled:
		return true
	}
}

// endOf is closed when one of the headers of a block no longer waits for its payload; nil if
// none does.
func (p *Pipeline) endOf(hash phase0.Hash32) <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, a := range p.awaited {
		if id.block == hash {
			return a.ended
		}
	}
	return nil
}
