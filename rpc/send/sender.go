package send

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
)

// Defaults of Config.
const (
	DefaultTimeout  = time.Second
	DefaultBackoff  = 50 * time.Millisecond
	DefaultQueue    = 1024
	DefaultParallel = 1
	DefaultDrain    = 5 * time.Second
)

// How the delivery of an order ends that no builder was asked about.
var (
	ErrDropped   = errors.New("given up: too many newer orders wait for the builder")
	ErrCancelled = errors.New("cancelled before it was sent")
	ErrStopped   = errors.New("the service stops")
)

// Config has the builders and how to speak to them. Zero durations and counts are the defaults.
type Config struct {
	Builders []Builder
	// Header is the header that carries the signature, Sign makes one of a body, by the service's own key; without it nothing is signed. It is
	// called from many goroutines.
	Header string
	Sign   func(body []byte) string
	// Timeout is of one attempt. Retries are the attempts after the first; negative is none, and 0 is 2. Backoff is the wait before the first
	// of them.
	Timeout time.Duration
	Retries int
	Backoff time.Duration
	// Queue is how many orders wait for one builder at most.
	Queue int
	// Parallel is how many requests a builder has at once. With 1, it gets everything in the order in which it came; with more, only what has
	// the same replacementUuid.
	Parallel int
	// Drain is how long what waits may still be sent after the end.
	Drain time.Duration
	// Client is the transport; nil is one with as many idle connections as needed.
	Client http.RoundTripper
	Log    *slog.Logger
}

func (c *Config) setDefaults() {
	orElse(&c.Timeout, DefaultTimeout)
	orElse(&c.Backoff, DefaultBackoff)
	orElse(&c.Queue, DefaultQueue)
	orElse(&c.Parallel, DefaultParallel)
	orElse(&c.Drain, DefaultDrain)
	orElse(&c.Retries, 2)
	c.Retries = max(0, c.Retries)
	orElse(&c.Log, slog.New(slog.DiscardHandler))
	if c.Client == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost, transport.MaxIdleConns = c.Parallel, c.Parallel*max(1, len(c.Builders))
		c.Client = transport
	}
}

func orElse[T comparable](value *T, otherwise T) {
	var zero T
	if *value == zero {
		*value = otherwise
	}
}

// Sender delivers. It is safe for concurrent use; what is sent before Run waits for it.
type Sender struct {
	cfg     Config
	client  http.Client
	lines   []*line
	unknown atomic.Uint64

	mu      sync.Mutex // guards both below
	stopped bool
	telling sync.WaitGroup // callbacks of orders that no line has any more; nothing is added when stopped
}

// New makes a sender, which delivers while Run runs.
func New(cfg Config) *Sender {
	cfg.setDefaults()
	s := &Sender{cfg: cfg, client: http.Client{
		Transport: cfg.Client,
		// A redirected order would go to somebody whom the operator has not named.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	own := false
	for _, b := range cfg.Builders {
		s.lines = append(s.lines, newLine(b, cfg.Queue))
		own = own || b.isOwn()
	}
	if !own {
		cfg.Log.Warn("no builder is the operator's own: orders that name no builder go nowhere")
	}
	return s
}

// Send hands an order, for a block, to the builders that Choose finds. It does not wait. told is called once for each of them, when its delivery has
// ended, from goroutines of the sender; it may call the sender, and must not block for long.
func (s *Sender) Send(order *rpc.Order, block uint64, told func(rpc.Delivery)) {
	chosen, unknown := Registry(s.cfg.Builders).Choose(order)
	s.unknown.Add(uint64(unknown))
	writers, key := s.orderWriters(order, block), bundle.OutgoingReplacement(order)
	for _, b := range chosen {
		j := job{order: order.ID, key: key, write: writers.forBuilder(b), ended: func(err error, tookMs int64) {
			d := rpc.Delivery{Builder: b.Name, Block: block, TookMs: tookMs}
			if err != nil {
				d.Error = err.Error()
			}
			told(d)
		}}
		gone, ok := s.lineOf(b).add(j)
		if !ok {
			s.tell(j, ErrStopped)
		}
		if gone != nil {
			s.tell(*gone, ErrDropped)
		}
	}
}

// Cancel tells builders that an order is not to be included any more: those that the caller knows to have it, by name, those that are just getting
// it, and those for whom it waits here. It does not wait. An order without a replacementUuid cannot be cancelled at builders: it ends with
// the block that it was sent for.
func (s *Sender) Cancel(order *rpc.Order, builders []string) {
	key := bundle.OutgoingReplacement(order)
	if key == uuid.Nil {
		return
	}
	write := s.cancelWriter(key)
	for _, l := range s.lines {
		if !l.builder.Has(APICancel) {
			continue
		}
		j := job{order: order.ID, key: key, cancel: true, write: write, ended: func(err error, tookMs int64) {
			if err != nil {
				s.cfg.Log.Warn("builder was not told of a cancellation", "builder", l.builder.Name, "order", order.ID, "took_ms", tookMs, "error", err)
			}
		}}
		gone, ok := l.cancel(j, named(builders, l.builder.Name))
		if !ok {
			s.tell(j, ErrStopped)
		}
		for _, g := range gone {
			reason := ErrDropped
			if g.key == key {
				reason = ErrCancelled
			}
			s.tell(g, reason)
		}
	}
}

// tell ends a job that no line has, not in the goroutine of the caller, who may hold what its own callback needs.
func (s *Sender) tell(j job, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		go j.ended(err, 0)
		return
	}
	s.telling.Go(func() { j.ended(err, 0) })
}

func (s *Sender) lineOf(b Builder) *line {
	for _, l := range s.lines {
		if strings.EqualFold(l.builder.Name, b.Name) {
			return l
		}
	}
	panic("a chosen builder is in the registry")
}

// Run delivers until the context ends. Then nothing more is accepted; what waits is sent still, until Drain is over, and Run returns when every
// callback has. It runs once, and returns nil.
func (s *Sender) Run(ctx context.Context) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	var workers sync.WaitGroup
	for _, l := range s.lines {
		for range s.cfg.Parallel {
			workers.Go(func() { s.serve(work, l) })
		}
	}
	<-ctx.Done()
	for _, l := range s.lines {
		l.close()
	}
	over := time.AfterFunc(s.cfg.Drain, func() { stop(ErrStopped) })
	defer over.Stop()
	workers.Wait()
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.telling.Wait()
	return nil
}

// serve does what waits in a line until it is closed and empty.
func (s *Sender) serve(ctx context.Context, l *line) {
	for {
		j, ok := l.take()
		if !ok {
			return
		}
		began := time.Now()
		m, err := j.write()
		if err == nil {
			err = s.deliver(ctx, l.builder.URL, m)
		}
		took := time.Since(began)
		l.done(j)
		j.ended(err, took.Milliseconds())
	}
}

// Unknown counts the names in orders that nobody is registered under, once for each time that an order was sent.
func (s *Sender) Unknown() uint64 { return s.unknown.Load() }

// Line is how a builder's line stands.
type Line struct {
	Builder string
	// Waiting is the number of messages that wait now, Dropped that of those which had to leave since the start.
	Waiting int
	Dropped uint64
}

// Lines are all builders' lines, in the registry's order.
func (s *Sender) Lines() []Line {
	all := make([]Line, len(s.lines))
	for i, l := range s.lines {
		l.mu.Lock()
		all[i] = Line{Builder: l.builder.Name, Waiting: len(l.waiting), Dropped: l.dropped}
		l.mu.Unlock()
	}
	return all
}
