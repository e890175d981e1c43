package send

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// How the delivery of an order ends that no builder was asked about.
var (
	ErrDropped   = errors.New("given up: too many newer orders wait for the builder")
	ErrCancelled = errors.New("cancelled before it was sent")
	ErrStopped   = errors.New("the service stops")
)

// Sender delivers. It is safe for concurrent use; what is sent before Run waits for it.
type Sender struct {
	cfg     Config
	client  http.Client
	queues  []*sendQueue
	unknown atomic.Uint64

	mu        sync.Mutex // guards both below
	stopped   bool
	callbacks sync.WaitGroup // callbacks of orders that no queue has any more; nothing is added when stopped
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
		s.queues = append(s.queues, newSendQueue(b, cfg.Queue))
		own = own || b.isOwn()
	}
	if !own {
		cfg.Log.Warn("no builder is the operator's own: orders that name no builder go nowhere")
	}
	return s
}

// endUnqueued ends a job that no queue has, not in the goroutine of the caller, who may hold what
// its own callback needs.
func (s *Sender) endUnqueued(j job, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		go j.ended(err, 0)
		return
	}
	s.callbacks.Go(func() { j.ended(err, 0) })
}

// Run delivers until the context ends. Then nothing more is accepted; what waits is sent still,
// until Drain is over, and Run returns when every callback has. It runs once, and returns nil.
func (s *Sender) Run(ctx context.Context) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	var workers sync.WaitGroup
	for _, l := range s.queues {
		for range s.cfg.Parallel {
			workers.Go(func() { s.runQueue(work, l) })
		}
	}
	<-ctx.Done()
	for _, l := range s.queues {
		l.close()
	}
	over := time.AfterFunc(s.cfg.Drain, func() { stop(ErrStopped) })
	defer over.Stop()
	workers.Wait()
	s.mu.Lock()
	s.stopped = true
	s.mu.Unlock()
	s.callbacks.Wait()
	return nil
}

// runQueue does what waits in a queue until it is closed and empty.
func (s *Sender) runQueue(ctx context.Context, l *sendQueue) {
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
		j.ended(err, took.Milliseconds())
		l.done(j)
	}
}

// Unknown counts the names in orders that nobody is registered under, once for each time that an
// order was sent.
func (s *Sender) Unknown() uint64 { return s.unknown.Load() }

// QueueLength is how a builder's queue stands.
type QueueLength struct {
	Builder string
	// Waiting is the number of messages that wait now, Dropped that of those which had to leave since
	// the start.
	Waiting int
	Dropped uint64
}

// Queues are all builders' queues, in the registry's order.
func (s *Sender) Queues() []QueueLength {
	all := make([]QueueLength, len(s.queues))
	for i, l := range s.queues {
		l.mu.Lock()
		all[i] = QueueLength{Builder: l.builder.Name, Waiting: len(l.waiting), Dropped: l.dropped}
		l.mu.Unlock()
	}
	return all
}
