package app

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
	"github.com/gavel-relay/gavel/rpc/lease"
)

// Instance is one of several bundle RPCs on the journal of a cluster. One of them owns the orders
// of all signers at a time; it is a whole App. The others hand requests to it:
//
//	client ─▶ instance B ─▶ envelope ─▶ forward.Request ─▶ cluster ─▶ instance A ─▶ App ─▶ builders
//	                                                        lease: A owns the orders
//
// The owner's App has a connection of its own to the cluster, and is opened and closed with its
// term. Open makes an Instance, Serve runs it, Close closes it.
type Instance struct {
	cfg     Config
	id      string
	opened  run.Opened
	journal *journal.Journal // for the lease, and for requests to the owner
	front   http.Handler     // answers requests while another instance is the owner
	watched instanceMetrics

	mu   sync.Mutex // guards seat
	seat *lease.Seat
	// owner is who owns the orders now, as far as this instance knows; nil for nobody.
	owner atomic.Pointer[owner]
	// own is the App while this instance is the owner and its recovery is whole.
	own atomic.Pointer[App]
}

// owner is another instance that owns the orders.
type owner struct {
	lease.Record

	// gone ends when another one is the owner, or this one is not heard any more.
	gone context.Context
	end  context.CancelFunc
}

const (
	// forwardsAtOnce is how many requests of other instances the owner works on at a time.
	forwardsAtOnce = 1024
	// ownerPatience is how long a request waits for an owner, and ownerPause how often it looks
	// (wall time).
	ownerPatience = 3 * time.Second
	ownerPause    = 50 * time.Millisecond
	// answerPatience is how long a request waits for the owner's answer: longer than the longest
	// simulation (wall time).
	answerPatience = 45 * time.Second
)

// Service is a bundle RPC that was opened.
type Service interface {
	// Serve serves requests on the listener until the context ends, ServeAdmin health and metrics.
	Serve(ctx context.Context, listener net.Listener) error
	ServeAdmin(ctx context.Context, listener net.Listener) error
	// Close closes the stores.
	Close() error
}

// Open opens a service: an App that has a journal in this process for itself, or one of several
// instances on the journal of a cluster.
func Open(ctx context.Context, cfg Config) (Service, error) {
	if cfg.Journal.URL == "" {
		return New(ctx, cfg)
	}
	return newInstance(ctx, cfg)
}

func newInstance(ctx context.Context, cfg Config) (*Instance, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	i := &Instance{cfg: cfg, id: rand.Text()}
	if err := i.open(ctx); err != nil {
		return nil, errors.Join(err, i.Close())
	}
	return i, nil
}

func (i *Instance) open(ctx context.Context) (err error) {
	i.cfg.Journal.Log = i.cfg.Log
	if i.journal, err = journal.Open(ctx, i.cfg.Journal); err != nil {
		return err
	}
	i.opened.Add(i.journal.Close)
	i.cfg.Journal.Waiting = nil // the start is over
	if err := i.journal.KeepNetwork(ctx, i.cfg.network()); err != nil {
		return err
	}
	floor, err := i.journal.LastTerm(ctx, factScope)
	if err != nil {
		return err
	}
	host, _ := os.Hostname() // for the operator to read; without it the process' number must do
	i.seat = lease.New(i.cfg.Lease, i.id, fmt.Sprintf("%s, process %d, since %s", host, os.Getpid(),
		time.Now().UTC().Format(time.RFC3339Nano)), floor)
	tracer, shutdown, err := observe.Tracing(context.Background(), i.cfg.TraceEndpoint, "gavel-rpc")
	if err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	i.opened.Add(shutdown)
	i.observe(tracer)
	i.front, err = i.newFront()
	return err
}

// Close closes the connection. Serve has closed the rest.
func (i *Instance) Close() error { return i.opened.Close(closeTimeout) }

// Serve answers requests, and owns the orders when it is this instance's turn, until the context
// ends.
func (i *Instance) Serve(ctx context.Context, listener net.Listener) error {
	return run.Behind(ctx, func(ctx context.Context) error {
		return serve.Serve(ctx, listener, i, i.cfg.serving(i.watched.http))
	}, i.campaign)
}

// ServeHTTP implements http.Handler.
func (i *Instance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if own := i.own.Load(); own != nil {
		own.handler.ServeHTTP(w, r)
		return
	}
	i.front.ServeHTTP(w, r)
}

// campaign watches the lease, and takes it when it is free, until the context ends.
func (i *Instance) campaign(ctx context.Context) error {
	defer i.follow(nil)
	for ctx.Err() == nil {
		number := i.turn(ctx)
		if number != 0 {
			i.follow(nil)
			if err := i.reign(ctx, number); err != nil && ctx.Err() == nil {
				return err
			}
			continue
		}
		_ = run.Pause(ctx, i.cfg.Lease.WithDefaults().Renew)
	}
	return nil
}

// turn does what the lease asks for now, and returns the number of the own term; 0 without one.
func (i *Instance) turn(ctx context.Context) uint64 {
	for range 2 { // read it, then write it if it is this instance's turn
		i.mu.Lock()
		step := i.seat.Next(time.Now())
		i.mu.Unlock()
		i.do(ctx, step)
		if step.Kind != lease.Look {
			break
		}
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	now := time.Now()
	number := i.seat.Term(now)
	if seen := i.seat.Seen(); number == 0 && !i.seat.Silent(now) {
		i.follow(&seen.Record)
	} else {
		i.follow(nil)
	}
	return number
}

// do reads or writes the lease, in as much time as there is between two renewals.
func (i *Instance) do(ctx context.Context, step lease.Step) {
	sent := time.Now()
	ctx, cancel := context.WithTimeout(ctx, i.cfg.Lease.WithDefaults().Renew)
	defer cancel()
	if step.Kind == lease.Look {
		if seen, err := i.look(ctx); err == nil {
			i.mu.Lock()
			defer i.mu.Unlock()
			i.seat.See(time.Now(), seen)
		}
		return
	}
	outcome, revision := i.write(ctx, step)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.seat.Settle(step, sent, time.Now(), outcome, revision)
}

// follow notes who is the owner. It calls off requests that wait for another one.
func (i *Instance) follow(record *lease.Record) {
	before := i.owner.Load()
	if before != nil && record != nil && before.ID == record.ID && before.Number == record.Number {
		return
	}
	var now *owner
	if record != nil {
		now = &owner{Record: *record}
		now.gone, now.end = context.WithCancel(context.Background())
	}
	i.owner.Store(now)
	if before != nil {
		before.end()
	}
}

// reign opens the App that has the orders, and runs it until the term or the context ends. It
// returns nil after either.
func (i *Instance) reign(ctx context.Context, number uint64) error {
	i.cfg.Log.Info("this instance owns the orders, and recovers them", "term", number)
	lost, lose := context.WithCancel(context.Background())
	defer lose()
	renewing, stop := context.WithCancel(context.Background())
	var renewal sync.WaitGroup
	renewal.Go(func() { i.renew(renewing, number, lose) })
	until, end := context.WithCancel(ctx)
	defer end()
	defer context.AfterFunc(lost, func() {
		i.own.Store(nil)
		end()
	})()

	err := i.recoverAndRun(until, &seat{number: number, lost: lost, mu: &i.mu, lease: i.seat})
	stop()
	renewal.Wait()
	deposed := lost.Err() != nil
	i.end()
	if deposed {
		i.cfg.Log.Warn("this instance has lost the orders, and hands requests on", "term", number, "error", err)
		return nil
	}
	return err
}

// recoverAndRun opens the owner's App and runs it.
func (i *Instance) recoverAndRun(ctx context.Context, s *seat) error {
	app, err := newOwner(ctx, i.cfg, s)
	if err != nil {
		return fmt.Errorf("take over the orders: %w", err)
	}
	i.own.Store(app)
	i.watched.recovered.WithLabelValues().Inc()
	i.cfg.Log.Info("the orders are recovered", "term", s.number, "head", app.Head().Number)
	err = run.Behind(ctx, func(ctx context.Context) error {
		return i.answerOthers(ctx, app)
	}, app.parts()...)
	i.own.Store(nil)
	return errors.Join(err, app.Close())
}

// renew renews the term until its own context ends. It calls lose when the term is over.
func (i *Instance) renew(ctx context.Context, number uint64, lose func()) {
	every := i.cfg.Lease.WithDefaults().Renew
	for ctx.Err() == nil {
		i.mu.Lock()
		now := time.Now()
		valid, left := i.seat.Term(now) == number, i.seat.Until().Sub(now)
		step := i.seat.Next(now)
		i.mu.Unlock()
		if !valid {
			lose()
			return
		}
		timed, cancel := context.WithTimeout(context.WithoutCancel(ctx), left)
		i.do(timed, step) // which is not broken off by an orderly end, that must know the revision
		cancel()
		timed, cancel = context.WithDeadline(ctx, now.Add(left))
		if step.Kind == lease.Renew {
			_ = run.Pause(timed, every)
		} else {
			_ = run.Pause(timed, every/10) // the last write had no answer
		}
		cancel()
	}
}

// end gives up the term in order, so that another instance need not wait.
func (i *Instance) end() {
	i.mu.Lock()
	step, ok := i.seat.Release(time.Now())
	i.seat.Leave()
	i.mu.Unlock()
	if !ok {
		return
	}
	i.do(context.Background(), step)
}

// look reads the lease.
func (i *Instance) look(ctx context.Context) (lease.Seen, error) {
	number, data, err := i.journal.NumberedState(ctx, termState)
	if errors.Is(err, journal.ErrNotFound) {
		return lease.Seen{}, nil
	}
	if err != nil {
		return lease.Seen{}, err
	}
	return decodeLease(number, data)
}

// write writes the lease.
func (i *Instance) write(ctx context.Context, step lease.Step) (lease.Outcome, uint64) {
	data, err := encodeLease(step.Record)
	if err != nil {
		i.cfg.Log.Error("the lease of the orders cannot be written", "error", err)
		return lease.Lost, 0
	}
	revision, won, err := i.journal.SwapState(ctx, termState, step.Expect, data)
	switch {
	case err != nil:
		return lease.Unknown, 0
	case !won:
		return lease.Lost, 0
	}
	return lease.Won, revision
}

// ServeAdmin serves health and metrics until the context ends.
func (i *Instance) ServeAdmin(ctx context.Context, listener net.Listener) error {
	mux := &serve.Mux{NotFound: jsonrpc.Statuses.Of(rpc.NotFound.Plain()),
		NotAllowed: jsonrpc.Statuses.Of(rpc.MethodNotAllowed.Plain())}
	mux.Handle(http.MethodGet, "/livez", serve.Livez)
	mux.Handle(http.MethodGet, "/readyz", i.readyz)
	mux.Handle(http.MethodGet, "/metrics", i.metrics(i.cfg.Log))
	return serve.Serve(ctx, listener, mux, serve.Options{Log: i.cfg.Log})
}

// readyz says whether requests can be answered here, and by whom (X-Gavel-Role).
func (i *Instance) readyz(w http.ResponseWriter, r *http.Request) {
	own, role := i.own.Load(), "follower"
	if own != nil {
		role = "owner"
	}
	w.Header().Set("X-Gavel-Role", role)
	jsonrpc.Statuses.Readyz(func() error {
		switch {
		case own != nil:
			return own.readiness()
		case i.owner.Load() == nil:
			return rpc.NoOwner.Plain()
		}
		return nil
	})(w, r)
}
