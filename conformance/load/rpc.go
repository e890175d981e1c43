package load

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"github.com/gavel-relay/gavel/conformance/bench"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/world"
)

// RPCKinds are the kinds of requests to a bundle RPC that a mix can have.
var RPCKinds = []bench.Kind{bench.Bundles, bench.Shares, bench.Private, bench.Status}

// StreamKinds are those that a mix can have when listeners follow the stream.
var StreamKinds = []bench.Kind{bench.Private, bench.Bundles, bench.Shares, bench.Status}

// RPC loads a bundle RPC that follows a world, and the stream that tells of its orders.
type RPC struct {
	URL string
	// StreamURL is the stream that so many Listeners follow; empty for none. Private transactions
	// share their hash then.
	StreamURL string
	Listeners int
	World     *world.Client
	Mix       bench.Mix
	Phases    []bench.Phase
	// Progress is called after each phase; it may be nil.
	Progress func(phase string, loaded time.Duration, sent int)
}

// rpcRun is a run of RPC.
type rpcRun struct {
	RPC

	client *client
	began  time.Time
	wallet *wallets
	cycle  []bench.Kind
	head   atomic.Uint64
	sent   atomic.Int64

	mu       sync.Mutex // guards what follows
	samples  []bench.Sample
	accepted []sentOrder // bundles whose answers were there, in a ring
	next     int
	found    []bench.Found
	refusal  string
	listen   *listeners // nil without a stream
	shared   []bench.Shared
}

// ringSize is how many of the newest bundles are asked for.
const ringSize = 256

// headEvery is how often the world's execution node is asked for its newest block.
const headEvery = 250 * time.Millisecond

// Run loads the RPC. Its report has no machine.
func (r RPC) Run(ctx context.Context) (*bench.Report, error) {
	most := 1
	for _, p := range r.Phases {
		most = max(most, p.Connections)
	}
	ctx, cancel := context.WithTimeout(ctx, longestRun)
	defer cancel()
	run := &rpcRun{RPC: r, client: newClient(most), cycle: r.Mix.Cycle(),
		found: []bench.Found{{Fault: bench.WrongHash}, {Fault: bench.LostOrder}}}
	defer run.client.close()
	var err error
	if run.wallet, err = openWallets(ctx, r.World); err != nil {
		return nil, err
	}
	if err := sleepUntil(ctx, r.World.Facts.At(3)); err != nil { // so that there is a block, and the RPC has seen it
		return nil, err
	}
	if err := run.readHead(ctx); err != nil {
		return nil, err
	}
	var heads sync.WaitGroup
	following, stop := context.WithCancel(ctx)
	heads.Go(func() {
		for sleepUntil(following, time.Now().Add(headEvery)) == nil {
			_ = run.readHead(following) // the next one may succeed; what is refused until then is counted
		}
	})
	defer heads.Wait()
	defer stop()
	run.began = time.Now()
	if r.StreamURL != "" {
		if run.listen, err = listen(ctx, r.StreamURL, r.Listeners, run.began); err != nil {
			return nil, err
		}
		defer run.listen.close()
		run.found = append(run.found, bench.Found{Fault: bench.LostEvent}, bench.Found{Fault: bench.DoubledEvent})
	}
	report := &bench.Report{Schema: bench.Schema, Started: run.began.UTC(), Setting: bench.Setting{
		Mix: r.Mix.String(), Fork: r.World.Facts.Fork, SlotSeconds: r.World.Facts.Slots(1).Seconds()}}
	for _, p := range r.Phases {
		report.Phases = append(report.Phases, run.phase(ctx, p))
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("load the RPC: %w", err)
		}
	}
	report.Faults = run.found
	if run.listen != nil {
		report.Setting.Listeners = r.Listeners
		if cut, why := run.listen.cut(); cut > 0 {
			report.Notes = append(report.Notes, fmt.Sprintf("%d of %d listeners were cut, the first: %s", cut, r.Listeners, why))
		}
	}
	if run.refusal != "" {
		report.Notes = append(report.Notes, "the first order that was not taken: "+run.refusal)
	}
	return report, nil
}

// readHead asks the world's execution node for its newest block.
func (r *rpcRun) readHead(ctx context.Context) error {
	answer := r.client.do(ctx, request{method: http.MethodPost, url: r.World.Facts.ExecutionURL, media: jsonType,
		body: probe.Call{Method: "eth_blockNumber", Params: []any{}, ID: 1}.Body()})
	var said struct {
		Result hexutil.Uint64 `json:"result"`
	}
	if answer.status != http.StatusOK || json.Unmarshal(answer.body, &said) != nil {
		return fmt.Errorf("ask the world for its newest block: %s", answer)
	}
	r.head.Store(uint64(said.Result))
	return nil
}

// phase runs a phase.
func (r *rpcRun) phase(ctx context.Context, p bench.Phase) bench.Part {
	first := len(r.samples)
	opened := time.Now()
	closes := opened.Add(p.For)
	var number atomic.Int64
	var workers sync.WaitGroup
	for range p.Connections {
		workers.Go(func() {
			for ctx.Err() == nil {
				n := int(number.Add(1) - 1)
				due, lag := time.Now(), time.Duration(0)
				if p.PerSecond > 0 {
					due = opened.Add(p.Due(n))
					lag = max(time.Since(due), 0) // it waited for a connection
				}
				if !due.Before(closes) {
					return
				}
				r.send(ctx, r.cycle[n%len(r.cycle)], n, due, lag)
			}
		})
	}
	workers.Wait()
	kinds := RPCKinds
	if r.listen != nil {
		kinds = append([]bench.Kind{bench.Events}, StreamKinds...)
		r.hear(ctx)
	}
	if r.Progress != nil {
		r.Progress(p.Name, p.For, int(r.sent.Load()))
	}
	part := bench.Part{Phase: p, Loaded: p.For,
		Measures: bench.Account(kinds, r.samples[first:], opened.Sub(r.began), closes.Sub(r.began), p.For)}
	for _, m := range part.Measures {
		if m.Kind != bench.Events { // they answer no request
			part.PerSecond += m.PerSecond
		}
	}
	return part
}

// hear judges the events of the phase's orders.
func (r *rpcRun) hear(ctx context.Context) {
	r.mu.Lock()
	orders := r.shared
	r.shared = nil
	r.mu.Unlock()
	samples, found := r.listen.check(ctx, orders)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples = append(r.samples, samples...)
	bench.Add(r.found[len(r.found)-len(found):], found)
}

// send makes a request, sends it when it is due, and records what came of it.
func (r *rpcRun) send(ctx context.Context, kind bench.Kind, n int, due time.Time, lag time.Duration) {
	o, err := r.order(kind)
	if errors.Is(err, errNothingSent) {
		o, err = r.order(bench.Bundles)
	}
	if err != nil {
		r.note(err.Error())
		return
	}
	if time.Until(due) > 0 {
		_ = sleepUntil(ctx, due) // the request ends with the context, too
	}
	r.sent.Add(1)
	body := probe.Call{Method: o.method, Params: []any{o.param}, ID: n}.Body()
	answer := r.client.do(ctx, request{method: http.MethodPost, url: r.URL + "/", media: jsonType, body: body,
		signature: probe.BodySignature(o.signer, body)})
	said := probe.ReadRPC(&probe.Answer{Status: answer.status, Body: answer.body})
	good := answer.status == http.StatusOK && !said.Refused() && said.Members["result"] != nil
	r.mu.Lock()
	defer r.mu.Unlock()
	r.samples = append(r.samples, bench.Sample{Kind: o.kind, At: answer.sent.Sub(r.began) - lag,
		Took: answer.done.Sub(answer.sent) + lag, Status: answer.status, Good: good, Bytes: len(body)})
	r.judge(o, answer, good, lag)
}

// judge looks for faults in an answer. The caller holds mu.
func (r *rpcRun) judge(o sentOrder, answer reply, good bool, lag time.Duration) {
	switch {
	case o.kind == bench.Status && answer.status != 0 && answer.status != http.StatusTooManyRequests:
		r.found[1].Judge(o.missing(answer, good))
	case !good:
		r.refusal = cmp.Or(r.refusal, answer.String())
	case o.kind != bench.Status:
		r.found[0].Judge(o.wrongHash(answer))
		if o.kind == bench.Private && r.listen != nil {
			r.shared = append(r.shared, bench.Shared{Event: crypto.Keccak256Hash(o.hash[:]),
				Sent: answer.sent.Sub(r.began) - lag})
		}
		if o.kind == bench.Bundles {
			if len(r.accepted) < ringSize {
				r.accepted = append(r.accepted, o)
			} else {
				r.accepted[r.next%ringSize] = o
			}
			r.next++
		}
	}
}

func (r *rpcRun) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refusal = cmp.Or(r.refusal, text)
}
