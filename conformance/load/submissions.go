package load

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/conformance/bench"
)

// submission is which builder submits which block of an auction, and how.
type submission struct {
	builder, block int
	format         Format
	cancels        bool
}

// plan returns the submission with this number. Builders take turns, and each bids more with each
// turn. SameBlock of them submit the same block, so that the world need not build one for each.
// Those who cancel bid a turn ahead and then a turn back, again and again.
func (s Setting) plan(n int) (p submission) {
	turn := n / s.Builders
	p.builder = n % s.Builders
	if p.cancels = p.builder < s.Cancelling; p.cancels {
		turn ^= 1
	}
	p.block = (turn*s.Builders + p.builder) / s.SameBlock
	p.format = s.Formats[p.block%len(s.Formats)]
	return p
}

// submit sends the next submission of the auction.
func (w *window) submit(ctx context.Context, due time.Time, lag time.Duration) {
	plan := w.Setting.plan(int(w.submitted.Add(1) - 1))
	builder := w.builders[plan.builder]
	block, err := w.blocks.at(plan.block)
	if errors.Is(err, context.Canceled) {
		return // the auction is over
	}
	if err != nil {
		w.fail(err)
		return
	}
	body, err := block.bodyOf(builder, plan.format, builderDomain(w.World.Facts))
	if err != nil {
		w.fail(err)
		return
	}
	q := request{method: http.MethodPost, url: w.BuilderURL + "/relay/v1/builder/blocks",
		media: "application/octet-stream", version: block.fork.String(), body: body}
	if plan.cancels {
		q.url += "?cancellations=1"
	}
	if plan.format.isJSON() {
		q.media = "application/json"
	}
	if plan.format.isPacked() {
		q.encoding = "gzip"
	}
	answer := w.ask(ctx, q, due)
	bid := bench.Bid{
		Builder: builder.Public.String()[:12], Block: block.Message.BlockHash, Value: *block.Message.Value,
		Sent: w.since(answer.sent), Cancels: plan.cancels,
		Refused: answer.status >= http.StatusBadRequest && answer.status < http.StatusInternalServerError,
	}
	good := answer.status == http.StatusOK || answer.status == http.StatusAccepted
	if good {
		bid.Done = w.since(answer.done)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.auction.Bids = append(w.auction.Bids, bid)
	if !good && answer.done.After(w.World.Facts.Start(w.slot)) {
		w.late++
		return
	}
	w.samples = append(w.samples, sampleOf(w, bench.Submissions, answer, lag, good, len(body)))
	if !good && w.refusal == "" {
		w.refusal = answer.String()
	}
}

// fail notes that the load itself has a fault.
func (w *window) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken == nil {
		w.broken = err
	}
}
