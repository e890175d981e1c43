package send

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/rpc"
)

// Config says how requests are delivered. What is zero has the default; Signer and Done are needed.
type Config struct {
	// Signer signs each body; Header is the name of the header for it: X-Flashbots-Signature.
	Signer Signer
	Header string
	// Client posts; nil is one of its own, which follows no redirects. Timeout is what one attempt may take: 1 s.
	Client  *http.Client
	Timeout time.Duration
	// Retries is how often a request is repeated when nobody answered, or with a status of 500 or above: 2, with a pause of Backoff (50 ms),
	// then twice that. Negative means never.
	Retries int
	Backoff time.Duration
	// Queue is how many requests may wait for one builder: 1,024.
	Queue int
	// Parallel is how many requests may be on their way to one builder: 1, so that they arrive in their order. With more only those of the same
	// Lane do, and Queue is divided among them.
	Parallel int
	// Done takes the end of each request that was handed over, one call for each, also for those that were dropped. It is called from several
	// goroutines, for one builder in the order of the requests, and must not wait for anything.
	Done func(Request, rpc.Delivery)
}

func (c Config) withDefaults() Config {
	if c.Header == "" {
		c.Header = "X-Flashbots-Signature"
	}
	if c.Client == nil {
		c.Client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	}
	if c.Timeout == 0 {
		c.Timeout = time.Second
	}
	if c.Retries == 0 {
		c.Retries = 2
	}
	if c.Backoff == 0 {
		c.Backoff = 50 * time.Millisecond
	}
	if c.Queue == 0 {
		c.Queue = 1024
	}
	c.Parallel = max(c.Parallel, 1)
	return c
}

// Request is a JSON-RPC request for a builder.
type Request struct {
	// Order is the ID of the order that it is about.
	Order uint64
	// Block is the one that the order is to be in.
	Block uint64
	// Body is what is posted; nobody may change it any more. It is the builder's own form: who hands it over has converted it.
	Body []byte
	// Cancel: it takes the order back. It is not dropped as long as there is anything else to drop.
	Cancel bool
	// Lane is the same for requests that must arrive one after the other: the versions of one key and their cancels.
	Lane uint64
}

// Errors of requests that were never posted, in their deliveries.
var (
	ErrDropped = errors.New("dropped: too many newer requests wait for this builder")
	ErrClosed  = errors.New("the service is stopping")
)

// Couriers deliver requests, one builder's after another, all builders' at the same time. It is safe for concurrent use.
type Couriers struct {
	config  Config
	dropped atomic.Uint64

	ctx     context.Context
	abandon context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex // guards lines and closed
	lines  map[lineName]*line
	closed bool
}

// lineName is one of a builder's lines.
type lineName struct {
	builder string
	lane    uint64
}

// New makes couriers. They start when there is something to deliver, and Close ends them.
func New(config Config) *Couriers {
	ctx, abandon := context.WithCancel(context.Background())
	return &Couriers{config: config.withDefaults(), ctx: ctx, abandon: abandon, lines: make(map[lineName]*line)}
}

// Send hands a request over and does not wait. The queue of the builder takes it, at the cost of the oldest one in it when it is full. The error is
// ErrClosed, and then Done is not called.
func (c *Couriers) Send(b Builder, request Request) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return ErrClosed
	}
	name := lineName{b.Name, request.Lane % uint64(c.config.Parallel)}
	l := c.lines[name]
	if l == nil {
		l = newLine()
		c.lines[name] = l
		c.running.Go(func() { c.work(l) })
	}
	l.put(parcel{b, request}, max(c.config.Queue/c.config.Parallel, 1))
	return nil
}

// work delivers what is in a line until it is closed and empty.
func (c *Couriers) work(l *line) {
	for {
		lost, next, more := l.take()
		for _, p := range lost {
			c.dropped.Add(1)
			c.done(p, ErrDropped, 0)
		}
		if !more {
			return
		}
		begun := time.Now()
		err := c.deliver(c.ctx, next.builder, next.request.Body)
		c.done(next, err, time.Since(begun))
	}
}

func (c *Couriers) done(p parcel, err error, took time.Duration) {
	delivery := rpc.Delivery{Builder: p.builder.Name, Block: p.request.Block, TookMs: took.Milliseconds()}
	if err != nil {
		delivery.Error = err.Error()
	}
	c.config.Done(p.request, delivery)
}

// Dropped is how many requests had to make room.
func (c *Couriers) Dropped() uint64 { return c.dropped.Load() }

// Close takes no more requests and delivers those that wait. When ctx ends first, what is left fails at once; every request's end is told all the
// same before Close returns, then with ctx's error.
func (c *Couriers) Close(ctx context.Context) error {
	c.mu.Lock()
	c.closed = true
	for _, l := range c.lines {
		l.close()
	}
	c.mu.Unlock()

	drained := make(chan struct{})
	go func() {
		c.running.Wait()
		close(drained)
	}()
	select {
	case <-drained:
		c.abandon()
		return nil
	case <-ctx.Done():
		c.abandon()
		<-drained
		return ctx.Err()
	}
}
