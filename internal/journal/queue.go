package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Appender is where a queue's messages are kept, in the order of the calls. Neither call waits for
// the journal; an error means that the message was not taken, and nobody is told of it any more.
type Appender interface {
	AppendAsync(subject string, data []byte) error
	// AppendAcked tells once, later and from another goroutine, whether the journal has the message:
	// nil, or why nobody can say so.
	AppendAcked(subject string, data []byte, told func(error)) error
}

const (
	// queueLimit bounds the facts that wait for the journal.
	queueLimit = 1 << 16
	// factPatience is how long a fact waits for a journal that takes none, and factRetry how often it
	// is asked (wall time).
	factPatience = time.Second
	factRetry    = 5 * time.Millisecond
	// gatherPause is how long a fact that may wait waits for others (wall time).
	gatherPause = 5 * time.Millisecond
	// commitPatience is how long facts of PutAcked wait for the ack of those before them, so that they
	// share the next one (wall time). A message that is lost on its way must not hold up all that
	// follow.
	commitPatience = time.Second
)

// What a future says of facts that the journal was not asked to keep.
var (
	errFull        = errors.New("too many facts wait for the journal")
	errQueueClosed = errors.New("the journal is being closed")
)

// Queue puts a service's facts into the journal behind its back.
//
//	Put ──────┐
//	PutLater ─┼▶ queue ─▶ one goroutine: encode ─▶ journal ─▶ Observe (at once; what may wait after a short pause)
//	PutAcked ─┘                              └─▶ [list] ─┘ │  (those that follow each other, have one subject and are Listed)
//	   ▲                                                   │
//	   └── AckFuture of the batch ◀──────────────── acks ◀───┘  while a batch is on its way the next one gathers
//
// Nobody who puts waits for encoding or for the journal, unless he waits for an AckFuture. The
// queue keeps the order; what finds no room in it, or in the journal, is lost, counted and logged.
// It is safe for concurrent use.
type Queue[F any] struct {
	// Limit bounds the facts that wait; those of PutLater, and Listed ones of PutAcked, may take half
	// of it: whoever causes many must not make a service forget what matters. Observe, if set, is told
	// every fact in the order of the journal. All three are set before the first fact.
	Limit   int
	Observe func(F)
	// Listed, if set, says which facts share messages of the journal (factList); encode must make
	// objects of them, and readers of the journal must expect lists of such objects.
	Listed func(F) bool

	journal Appender
	log     *slog.Logger
	encode  func(F) (subject string, data []byte, err error)
	next    letter // the writing goroutine's

	mu      sync.Mutex // guards what follows
	waiting []F
	future  *AckFuture // of what waits; nil if nobody asked for it
	lost    int        // facts in all
	closed  bool

	// wake has something written at once; gather, after gatherPause; commit, when no other batch is on
	// its way whose future somebody has. One signal of each is kept.
	wake, gather, commit chan struct{}
	// busy is the writing goroutine's: the newest batch whose future somebody has, nil when its acks
	// are there.
	busy *AckFuture
	done chan struct{} // closed when all is written after Close
}

// NewQueue starts the writing; Close ends it. encode gives a fact its subject and its bytes; those
// of PutLater, with Lists, are used before it is called again, and may be overwritten then.
func NewQueue[F any](journal Appender, log *slog.Logger, encode func(F) (subject string, data []byte,
	err error)) *Queue[F] {
	q := &Queue[F]{
		Limit: queueLimit, journal: journal, log: log, encode: encode,
		wake: make(chan struct{}, 1), gather: make(chan struct{}, 1), commit: make(chan struct{}, 1),
		done: make(chan struct{}),
	}
	go q.write()
	return q
}

// Put queues a fact, to be written at once.
func (q *Queue[F]) Put(fact F) {
	q.put(fact, q.Limit)
	signal(q.wake)
}

// PutLater queues a fact that comes in thousands when it comes: written together with others it
// costs far less.
func (q *Queue[F]) PutLater(fact F) {
	q.put(fact, q.Limit/2)
	signal(q.gather)
}

// PutAcked queues facts that belong together, all or none, and returns the future that tells when
// the journal has them. Many who wait at a time share one ack: while a batch is on its way, the
// next one gathers.
func (q *Queue[F]) PutAcked(facts ...F) *AckFuture {
	q.mu.Lock()
	defer q.mu.Unlock()
	limit := q.Limit / 2
	if q.Listed == nil || !allOf(facts, q.Listed) {
		limit = q.Limit
	}
	switch {
	case q.closed:
		return ended(errQueueClosed)
	case len(q.waiting)+len(facts) > limit:
		return ended(errFull)
	case q.future == nil:
		q.future = newAckFuture()
	}
	q.waiting = append(q.waiting, facts...)
	signal(q.commit)
	return q.future
}

func allOf[F any](facts []F, is func(F) bool) bool {
	for _, fact := range facts {
		if !is(fact) {
			return false
		}
	}
	return true
}

// put queues a fact unless so many wait already.
func (q *Queue[F]) put(fact F, limit int) {
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

// Close writes what waits, and returns when the journal has taken it or the context ends. What is
// put afterwards is lost.
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

// write takes what waits, all at once, and writes one after the other, until the queue is closed
// and empty.
func (q *Queue[F]) write() {
	defer close(q.done)
	var batch []F
	told := 0
	for {
		q.rest()
		var future *AckFuture
		var closed bool
		batch, future, closed = q.take(batch)
		failed := q.writeAll(batch, future)
		clear(batch) // so that facts do not live longer than needed
		if future != nil {
			future.sent()
			q.busy = future
		}
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
	commit := q.commit
	var acked <-chan struct{}
	var late <-chan time.Time
	if q.busy != nil {
		commit, acked = nil, q.busy.done
		patience := time.NewTimer(commitPatience)
		defer patience.Stop()
		late = patience.C
	}
	var pause <-chan time.Time
	for {
		select {
		case <-q.wake:
			return
		case <-commit:
			return
		case <-pause:
			return
		case <-acked:
			commit, acked, q.busy = q.commit, nil, nil
		case <-late:
			commit, late, q.busy = q.commit, nil, nil
		case <-q.gather:
			if pause == nil {
				timer := time.NewTimer(gatherPause)
				defer timer.Stop()
				pause = timer.C
			}
		}
	}
}

// take is all that waits, in exchange for the room of an earlier batch, with the future that
// somebody has of it.
func (q *Queue[F]) take(written []F) (batch []F, future *AckFuture, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch, q.waiting = q.waiting, written[:0]
	future, q.future = q.future, nil
	return batch, future, q.closed
}

// letter is a message on its way to the journal: a list, or one fact alone.
type letter struct {
	subject string
	list    factList
	alone   []byte
	closed  bool // it is the one fact
}

// takes says whether a fact may come to those that are there.
func (l *letter) takes(subject string, data []byte) bool {
	return !l.closed && l.subject == subject && l.list.fits(data)
}

// content is what the journal gets, and of how many facts.
func (l *letter) content() (data []byte, facts int) {
	switch {
	case l.closed:
		return l.alone, 1
	case l.list.facts() > 0:
		return l.list.message(), l.list.facts()
	}
	return nil, 0
}

func (l *letter) clear() {
	l.alone, l.closed = nil, false
	l.list.reset()
}

// writeAll writes facts in as few messages as may be; the future, if there is one, is told of
// each. Its error is the last of those that lost facts.
func (q *Queue[F]) writeAll(batch []F, future *AckFuture) (failed error) {
	told := 0
	send := func(upTo int) {
		if err := q.send(future); err != nil {
			failed = err
		}
		q.observe(batch[told:upTo])
		told = upTo
	}
	for i, fact := range batch {
		subject, data, err := q.encode(fact)
		if err != nil {
			failed = fmt.Errorf("encode %s: %w", subject, err)
			q.lose(1)
			future.fail(failed)
			continue
		}
		listed := q.Listed != nil && q.Listed(fact)
		if !listed || !q.next.takes(subject, data) {
			send(i)
			q.next.subject = subject
		}
		if listed {
			q.next.list.add(data)
		} else {
			q.next.alone, q.next.closed = data, true
		}
	}
	send(len(batch))
	return failed
}

// observe tells facts that are written, or lost.
func (q *Queue[F]) observe(facts []F) {
	if q.Observe == nil {
		return
	}
	for _, fact := range facts {
		q.Observe(fact)
	}
}

func (q *Queue[F]) lose(facts int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost += facts
}

// send hands the next message to the journal, if there is one. While that is busy the others wait
// in the queue, and nobody who puts them waits.
func (q *Queue[F]) send(future *AckFuture) error {
	data, facts := q.next.content()
	defer q.next.clear()
	if facts == 0 {
		return nil
	}
	for waited := time.Duration(0); ; waited += factRetry {
		err := q.hand(data, future)
		if err == nil {
			return nil
		}
		if waited >= factPatience {
			q.lose(facts)
			err = fmt.Errorf("record %s: %w", q.next.subject, err)
			future.fail(err)
			return err
		}
		time.Sleep(factRetry)
	}
}

// hand gives the journal a message once.
func (q *Queue[F]) hand(data []byte, future *AckFuture) error {
	if future == nil {
		return q.journal.AppendAsync(q.next.subject, data)
	}
	future.expect()
	err := q.journal.AppendAcked(q.next.subject, data, future.acked)
	if err != nil {
		future.acked(nil) // nobody else will
	}
	return err
}
