package receive

import (
	"bytes"
	"context"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	utilbellatrix "github.com/attestantio/go-eth2-client/util/bellatrix"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/check"
)

// awaitedPayload is a header in the auction whose payload has not come. settled is closed when it has, or when it is too late.
type awaitedPayload struct {
	job     *taken
	bid     *preparedBid
	settled chan struct{}
}

// noTransactions is the root of an empty list of transactions: clients refuse such a block.
var noTransactions = func() phase0.Root {
	root, err := new(utilbellatrix.ExecutionPayloadTransactions).HashTreeRoot()
	if err != nil {
		panic(err) // an empty list has a root
	}
	return root
}()

// ReceiveHeader judges a bid whose payload follows. It counts at once, if the builder is trusted with its value. The payload must come as an
// ordinary submission of the same block within PayloadTimeout, or the builder is demoted. A proposer that asks for the payload before it is
// here waits for it: for such bids "served means escrowed" rests on the builder's collateral.
func (d *Desk) ReceiveHeader(ctx context.Context, h *relay.HeaderSubmission) (relay.Outcome, error) {
	outcome, judged, err := d.receiveHeader(ctx, h)
	trace := bareTrace(h.Trace)
	trace.NumBlobs, trace.BlockNumber = len(h.Commitments), h.Header.BlockNumber
	judged.Cancellable, judged.Sequence = h.Cancellable, h.Sequence
	d.record(judged, trace, h.ReceivedAt, err)
	return outcome, err
}

func (d *Desk) receiveHeader(ctx context.Context, h *relay.HeaderSubmission) (relay.Outcome, relay.SubmissionJudged, error) {
	judged := relay.SubmissionJudged{HeaderFirst: true}
	if h.Cancellable && !d.Cancellations {
		return relay.Outcome{}, judged, relay.SubmissionCancellations.Plain()
	}
	s := check.StandIn(h)
	facts := d.caseOf(s)
	facts.Header = h
	if refused := d.check(ctx, facts); refused != nil {
		return relay.Outcome{}, judged, refused
	}
	if !facts.Builder.HeaderFirst || !d.trusts(facts.Builder, h.Trace.Value) {
		return relay.Outcome{}, judged, relay.HeaderNotTrusted.Plain()
	}
	if h.Trace.Value.IsZero() || h.Header.TransactionsRoot == noTransactions {
		judged.Detail = "no value or no transactions: no effect"
		return accepted, judged, nil
	}
	if below, refused := d.belowFloor(s); below || refused != nil {
		judged.Detail = "at or below the floor"
		return belowFloor, judged, asError(refused)
	}
	bid := prepareHeader(h)
	awaited := &awaitedPayload{job: jobOf(s, facts, d.Clock.Now()), bid: bid, settled: make(chan struct{})}
	if !d.await(awaited) { // the payload is here, or on its way, already
		return accepted, judged, asError(d.enter(s, bid))
	}
	if refused := d.enter(s, bid); refused != nil {
		d.settle(h.Trace.BlockHash)
		return relay.Outcome{}, judged, refused
	}
	go d.watch(context.WithoutCancel(ctx), awaited)
	judged.Optimistic, judged.EligibleAt = true, d.Clock.Now()
	return accepted, judged, nil
}

// await notes that a payload has to follow, unless it is here already or another header asks for the same.
func (d *Desk) await(a *awaitedPayload) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	hash := a.job.hash()
	if _, there := d.escrowed[hash]; there || d.awaited[hash] != nil {
		return false
	}
	d.awaited[hash] = a
	return true
}

// settle ends the wait for a payload; true for the one call that does.
func (d *Desk) settle(hash phase0.Hash32) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.awaited[hash]
	if a == nil {
		return false
	}
	delete(d.awaited, hash)
	close(a.settled)
	return true
}

// watch demotes the builder when the payload is late.
func (d *Desk) watch(ctx context.Context, a *awaitedPayload) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		defer cancel()
		<-a.settled
	}()
	late := d.Clock.Until(ctx, a.job.since.Add(d.PayloadTimeout)) == nil
	if late && d.settle(a.job.hash()) {
		d.demote(context.WithoutCancel(ctx), a.job, relay.DemotedWithheld, "no payload within "+d.PayloadTimeout.String(), nil)
	}
}

// awaitedOf is the header that a submission is the payload of, nil if none waits for it. Only its own builder can follow it.
func (d *Desk) awaitedOf(s *relay.Submission) *awaitedPayload {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.awaited[s.Trace.BlockHash]
	if a == nil || a.bid.trace.Builder != s.Trace.BuilderPubkey {
		return nil
	}
	return a
}

// follow takes the payload of a header that is in the auction.
func (d *Desk) follow(ctx context.Context, s *relay.Submission, facts *caseFacts, a *awaitedPayload) *relay.Refused {
	bid, err := prepare(s)
	if err != nil {
		return relay.Malformed.With("%v", err)
	}
	if difference := differs(a.bid, bid); difference != "" {
		if d.settle(s.Trace.BlockHash) {
			d.demote(ctx, a.job, relay.DemotedMismatch, difference, s.Contents())
		}
		return relay.HeaderPayloadMismatch.With("%s", difference)
	}
	if refused := d.keep(ctx, s); refused != nil {
		return refused
	}
	d.completed(a, bid)
	d.settle(s.Trace.BlockHash)
	d.later.add(jobOf(s, facts, d.Clock.Now()))
	return nil
}

// completed lets the bid in the book know what only the payload tells.
func (d *Desk) completed(a *awaitedPayload, bid *preparedBid) {
	d.mu.Lock()
	defer d.mu.Unlock()
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

// Await waits for a payload that has to follow its header: true once it is in the escrow, also if it has come already; false at once if none is
// awaited, and false when it does not come or the context ends.
func (d *Desk) Await(ctx context.Context, hash phase0.Hash32) bool {
	d.mu.Lock()
	a := d.awaited[hash]
	_, there := d.escrowed[hash]
	d.mu.Unlock()
	if a == nil {
		return there
	}
	select {
	case <-ctx.Done():
		return false
	case <-a.settled:
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	_, there = d.escrowed[hash]
	return there
}
