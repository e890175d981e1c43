package load

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/conformance/bench"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/world"
)

// window is an open auction, and the load while it is open.
type window struct {
	*relayRun

	phase          bench.Phase
	slot           *world.Slot
	proposer       *probe.BLSKey
	blocks         *blocks
	opened, closes time.Time

	number    atomic.Int64 // how many requests have got their number
	submitted atomic.Int64 // how many submissions have got their number
	asked     atomic.Int64 // of all other kinds, to take turns
	headers   headers

	mu      sync.Mutex // guards what follows
	auction bench.Auction
	samples []bench.Sample
	late    int    // submissions that were refused after their slot had begun
	refusal string // the first answer that refused a submission
	unsold  string // why the proposer had no header to sign
	broken  error  // what this program itself could not do
}

// open waits for the next slot that can be built for, and opens its auction for at most so long.
func (r *relayRun) open(ctx context.Context, p bench.Phase, most time.Duration) (*window, error) {
	slot, err := r.World.Slot(ctx, world.Wanted{Kind: world.Registered, Propose: !r.Null, Alone: true})
	if err != nil {
		return nil, err
	}
	w := &window{relayRun: r, phase: p, slot: slot, proposer: r.validators[slot.ValidatorIndex]}
	w.blocks = newBlocks(r.World, slot, w.proposer.Public, r.Setting)
	w.auction.Slot, w.auction.Parent = uint64(slot.Slot), slot.ParentHash
	w.closes = r.World.Facts.Start(slot)
	w.auction.Ends = r.since(w.closes)
	// A phase that ends soon still gets some of the auction, so that it has a bid to deliver.
	if soon := time.Now().Add(max(most, r.World.Facts.Slots(1)/4)); soon.Before(w.closes) {
		w.closes = soon
	}
	return w, nil
}

// run sends requests until the auction closes, and then asks for the payload.
func (w *window) run(ctx context.Context) {
	building, stop := context.WithCancel(ctx)
	var builder, workers sync.WaitGroup
	builder.Go(func() { w.blocks.run(building) })
	_, _ = w.blocks.at(0) // an error comes again where the block is submitted
	w.opened = time.Now()
	delivered := make(chan struct{})
	for i := range w.phase.Connections {
		workers.Go(func() { w.work(ctx, i, delivered) })
	}
	w.propose(ctx)
	close(delivered)
	stop()
	workers.Wait()
	builder.Wait()
	w.finish()
}

// proposalAhead is how long before its slot a proposer has its own block made.
const proposalAhead = 200 * time.Millisecond

// propose asks for the payload when the slot begins.
func (w *window) propose(ctx context.Context) {
	start := w.World.Facts.Start(w.slot)
	_ = sleepUntil(ctx, start.Add(-proposalAhead)) // what follows ends with the context, too
	local, err := w.localBlock(ctx)
	_ = sleepUntil(ctx, start)
	if err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.unsold = err.Error()
		return
	}
	w.deliver(ctx, local)
}

// work sends one request after another, until the auction closes. With a rate it goes on without
// bids until the payload is delivered, so that a delivery does not find an idle relay; what it
// sends then is not counted.
func (w *window) work(ctx context.Context, client int, delivered <-chan struct{}) {
	for ctx.Err() == nil {
		n := int(w.number.Add(1) - 1)
		due, lag := time.Now(), time.Duration(0)
		if w.phase.PerSecond > 0 {
			due = w.opened.Add(w.phase.Due(n))
			lag = max(time.Since(due), 0) // it waited for a connection
		}
		kind := w.cycle[(n+int(w.slot.Slot))%len(w.cycle)]
		if due.Before(w.closes) {
			w.send(ctx, kind, client, due, lag)
			continue
		}
		select {
		case <-delivered:
			return
		default:
			if w.phase.PerSecond <= 0 || sleepUntil(ctx, due) != nil {
				return
			}
			if kind == bench.Registrations || kind == bench.Data {
				_ = w.client.do(ctx, w.other(kind))
			}
		}
	}
}

// send makes a request, sends it when it is due, and records what came of it.
func (w *window) send(ctx context.Context, kind bench.Kind, client int, due time.Time, lag time.Duration) {
	switch kind {
	case bench.Submissions:
		w.submit(ctx, due, lag)
	case bench.Headers:
		answer := w.ask(ctx, w.headerRequest(), due)
		served := w.headers.read(w, client, answer)
		w.record(sampleOf(w, kind, answer, lag, served != nil && served.Unreadable == "", 0))
		if served != nil {
			w.mu.Lock()
			w.auction.Served = append(w.auction.Served, *served)
			w.mu.Unlock()
		}
	default:
		q := w.other(kind)
		answer := w.ask(ctx, q, due)
		w.record(sampleOf(w, kind, answer, lag, answer.status == http.StatusOK, len(q.body)))
	}
}

// ask sends a request when it is due.
func (w *window) ask(ctx context.Context, q request, due time.Time) reply {
	w.sent.Add(1)
	if time.Until(due) > 0 {
		_ = sleepUntil(ctx, due) // the request ends with the context, too
	}
	return w.client.do(ctx, q)
}

// other makes the next request of a kind that needs no auction.
func (w *window) other(kind bench.Kind) request {
	n := int(w.asked.Add(1))
	if kind == bench.Registrations {
		return w.registration(w.registrations.body(n, time.Now()))
	}
	return w.dataRequest(n)
}

// sampleOf describes an answer for package bench. Lag is how long the request waited for a
// connection. How long this program took to make it is not the relay's time.
func sampleOf(w *window, kind bench.Kind, answer reply, lag time.Duration, good bool, bytes int) bench.Sample {
	return bench.Sample{Kind: kind, At: w.since(answer.sent) - lag, Took: answer.done.Sub(answer.sent) + lag,
		Status: answer.status, Good: good, Bytes: bytes}
}

func (w *window) record(s bench.Sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.samples = append(w.samples, s)
}

// finish adds the window to the run, and has its auction checked.
func (w *window) finish() {
	r := w.relayRun
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples = append(r.samples, w.samples...)
	r.waited += w.blocks.waitedFor()
	r.late += w.late
	r.refusal, r.unsold = cmp.Or(r.refusal, w.refusal), cmp.Or(r.unsold, w.unsold)
	if r.broken == nil {
		r.broken = w.broken
	}
	r.checks.Go(func() {
		found := w.auction.Check()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.found = bench.Add(r.found, found)
	})
}
