package journal

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/internal/journal/list"
)

// Appender is where a queue's facts are kept, in order. AppendAsync does not wait for the disk; an error means that the fact was not taken.
type Appender interface {
	AppendAsync(subject string, data []byte) error
}

const (
	// queueLimit bounds the facts that wait for the journal.
	queueLimit = 1 << 16
	// factPatience is how long a fact waits for a journal that takes none, and factRetry how often it is asked (wall time).
	factPatience = time.Second
	factRetry    = 5 * time.Millisecond
	// gatherPause is how long a fact that may wait waits for others (wall time).
	gatherPause = 5 * time.Millisecond
)

// Queue puts a service's facts into the journal behind its back.
//
//	Put ──────┐
//	PutLater ─┴▶ queue ─▶ one goroutine: encode ─▶ journal ─▶ Observe (at once; what may wait after a short pause)
//	                                        └─▶ [list] ─┘ (with Lists, those of PutLater that follow each other and have one subject)
//
// Nobody who puts waits for encoding or for the journal. The queue keeps the order; what finds no room in it, or in the journal, is lost,
// counted and logged. It is safe for concurrent use.
type Queue[F any] struct {
	// Limit bounds the facts that wait; those of PutLater may take half of it: whoever causes many must not make a service forget what matters.
	// Observe, if set, is told every fact in the order of the journal. All three are set before the first fact.
	Limit   int
	Observe func(F)
	// Lists has facts of PutLater share messages of the journal (list.Message); encode must make objects of them, and readers use list.Each.
	Lists bool

	journal Appender
	log     *slog.Logger
	encode  func(F) (subject string, data []byte, err error)
	next    letter // the writing goroutine's

	mu      sync.Mutex // guards what follows
	waiting []queued[F]
	lost    int // facts in all
	closed  bool

	// wake has something written at once; gather, after gatherPause. One signal of each is kept.
	wake, gather chan struct{}
	done         chan struct{} // closed when all is written after Close
}

// queued is a fact and whether it may be part of a list.
type queued[F any] struct {
	fact   F
	listed bool
}

// NewQueue starts the writing; Close ends it. encode gives a fact its subject and its bytes; those of PutLater, with Lists, are used before it is
// called again, and may be overwritten then.
func NewQueue[F any](journal Appender, log *slog.Logger, encode func(F) (subject string, data []byte, err error)) *Queue[F] {
	q := &Queue[F]{
		Limit: queueLimit, journal: journal, log: log, encode: encode,
		wake: make(chan struct{}, 1), gather: make(chan struct{}, 1), done: make(chan struct{}),
	}
	go q.write()
	return q
}

// Put queues a fact, to be written at once.
func (q *Queue[F]) Put(fact F) {
	q.put(queued[F]{fact: fact}, q.Limit)
	signal(q.wake)
}

// PutLater queues a fact that comes in thousands when it comes: written together with others it costs far less.
func (q *Queue[F]) PutLater(fact F) {
	q.put(queued[F]{fact, q.Lists}, q.Limit/2)
	signal(q.gather)
}

// put queues a fact unless so many wait already.
func (q *Queue[F]) put(fact queued[F], limit int) {
	q.mu.Lock()
	if q.closed || len(q.waiting) >= limit {
		q.lost++
	} else {
		q.waiting = append(q.waiting, fact)
	}
	q.mu.Unlock()
}

// signal leaves a signal unless there is one already.
func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// Lost is how many facts were lost so far.
func (q *Queue[F]) Lost() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.lost
}

// Close writes what waits, and returns when the journal has taken it or the context ends. What is put afterwards is lost.
func (q *Queue[F]) Close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	signal(q.wake)
	select {
	case <-q.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("write the last facts: %w", ctx.Err())
	}
}

// write takes what waits, all at once, and writes one after the other, until the queue is closed and empty.
func (q *Queue[F]) write() {
	defer close(q.done)
	var batch []queued[F]
	told := 0
	for {
		q.rest()
		var closed bool
		batch, closed = q.take(batch)
		failed := q.writeAll(batch)
		clear(batch) // so that facts do not live longer than needed
		if lost := q.Lost(); lost > told {
			q.log.Error("facts were lost", "facts", lost-told, "in_all", lost, "error", failed)
			told = lost
		}
		if closed {
			return
		}
	}
}

// rest returns when something is to be written.
func (q *Queue[F]) rest() {
	select {
	case <-q.wake:
	case <-q.gather:
		pause := time.NewTimer(gatherPause)
		defer pause.Stop()
		select {
		case <-q.wake:
		case <-pause.C:
		}
	}
}

// take is all that waits, in exchange for the room of an earlier batch.
func (q *Queue[F]) take(written []queued[F]) (batch []queued[F], closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch, q.waiting = q.waiting, written[:0]
	return batch, q.closed
}

// letter is a message on its way to the journal: a list, or one fact alone.
type letter struct {
	subject string
	list    list.Message
	alone   []byte
	closed  bool // it is the one fact
}

// takes says whether a fact may come to those that are there.
func (l *letter) takes(subject string, data []byte) bool {
	return !l.closed && l.subject == subject && l.list.Fits(data)
}

// content is what the journal gets, and of how many facts.
func (l *letter) content() (data []byte, facts int) {
	switch {
	case l.closed:
		return l.alone, 1
	case l.list.Facts() > 0:
		return l.list.Bytes(), l.list.Facts()
	}
	return nil, 0
}

func (l *letter) clear() {
	l.alone, l.closed = nil, false
	l.list.Reset()
}

// writeAll writes facts in as few messages as may be. Its error is the last of those that lost facts.
func (q *Queue[F]) writeAll(batch []queued[F]) (failed error) {
	told := 0
	send := func(upTo int) {
		if err := q.send(); err != nil {
			failed = err
		}
		q.observe(batch[told:upTo])
		told = upTo
	}
	for i, f := range batch {
		subject, data, err := q.encode(f.fact)
		if err != nil {
			failed = fmt.Errorf("encode %s: %w", subject, err)
			q.lose(1)
			continue
		}
		if !f.listed || !q.next.takes(subject, data) {
			send(i)
			q.next.subject = subject
		}
		if f.listed {
			q.next.list.Add(data)
		} else {
			q.next.alone, q.next.closed = data, true
		}
	}
	send(len(batch))
	return failed
}

// observe tells facts that are written, or lost.
func (q *Queue[F]) observe(facts []queued[F]) {
	if q.Observe == nil {
		return
	}
	for _, f := range facts {
		q.Observe(f.fact)
	}
}

func (q *Queue[F]) lose(facts int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost += facts
}

// send hands the next message to the journal, if there is one. While that is busy the others wait in the queue, and nobody who puts them waits.
func (q *Queue[F]) send() error {
	data, facts := q.next.content()
	defer q.next.clear()
	if facts == 0 {
		return nil
	}
	for waited := time.Duration(0); ; waited += factRetry {
		err := q.journal.AppendAsync(q.next.subject, data)
		if err == nil {
			return nil
		}
		if waited >= factPatience {
			q.lose(facts)
			return fmt.Errorf("record %s: %w", q.next.subject, err)
		}
		time.Sleep(factRetry)
	}
}
