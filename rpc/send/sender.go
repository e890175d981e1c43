package send

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// Why a delivery ended without a builder's answer. Only ErrStopped may also end a request that was
// under way.
var (
	ErrDropped   = errors.New("given up: too many newer orders wait for the builder")
	ErrCancelled = errors.New("cancelled before it was sent")
	ErrStopped   = errors.New("the service stops")
)

// Sender delivers orders. It is safe for concurrent use. What is sent before Run waits for Run.
type Sender struct {
	cfg     Config
	client  http.Client
	queues  []*sendQueue
	unknown atomic.Uint64

	mu        sync.Mutex // guards both below
	stopped   bool
	callbacks sync.WaitGroup // callbacks of jobs that are in no queue; nothing is added once stopped is set
}

// New makes a sender, which delivers while Run runs.
func New(cfg Config) *Sender {
	cfg.setDefaults()
	s := &Sender{cfg: cfg, client: http.Client{
		Transport: cfg.Client,
		// A redirect would send the order to a host that the operator has not named.
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

// endUnqueued ends a job that is in no queue. It does so in another goroutine, since the caller may
// hold a lock that its callback needs.
func (s *Sender) endUnqueued(j job, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		go j.ended(err, 0)
		return
	}
	s.callbacks.Go(func() { j.ended(err, 0) })
}

// Run delivers until the context ends. Then nothing more is accepted, but waiting messages are
// still sent until Drain is over. Run returns when every callback has returned. It may run only
// once, and returns nil.
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

// runQueue sends what waits in a queue until the queue is closed and empty.
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
		l.finish(j)
	}
}

// Unknown counts the builder names in orders that are not registered, once for each time that an
// order was sent.
func (s *Sender) Unknown() uint64 { return s.unknown.Load() }

// QueueLength is the state of a builder's queue.
type QueueLength struct {
	Builder string
	// Waiting is the number of messages that wait now; Dropped, the number that were given up since
	// the start.
	Waiting int
	Dropped uint64
}

// Queues returns the state of all builders' queues, in the registry's order.
func (s *Sender) Queues() []QueueLength {
	all := make([]QueueLength, len(s.queues))
	for i, l := range s.queues {
		l.mu.Lock()
		all[i] = QueueLength{Builder: l.builder.Name, Waiting: len(l.waiting), Dropped: l.dropped}
		l.mu.Unlock()
	}
	return all
}
