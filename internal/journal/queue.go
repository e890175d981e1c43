package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/internal/run"
)

// Appender stores a queue's messages, in the order of the calls. Neither call waits for the
// journal. An error means that the message was refused; told is not called then.
type Appender interface {
	AppendAsync(subject string, data []byte) error
	// AppendAcked calls told once, later and from another goroutine: with nil when the journal has
	// the message, and with an error if that is not certain. A message with an id that the journal
	// has already, of the last two minutes, is acked and not kept once more. The id may be empty.
	AppendAcked(subject string, data []byte, id string, told func(error)) error
}

const (
	// queueLimit bounds the facts that wait for the journal.
	queueLimit = 1 << 16
	// factPatience is how long a fact waits for a journal that refuses facts, and factRetry how
	// often the queue tries again (wall time).
	factPatience = time.Second
	factRetry    = 5 * time.Millisecond
	// gatherPause is how long a fact of PutLater waits for others (wall time).
	gatherPause = 5 * time.Millisecond
	// commitPatience is how long facts of PutAcked wait for the ack of the batch before them, so
	// that they share the next ack (wall time). It is bounded because a message that was lost on
	// its way must not hold up all later ones.
	commitPatience = time.Second
)

// Errors of futures for facts that were not given to the journal.
var (
	errFull        = errors.New("too many facts wait for the journal")
	errQueueClosed = errors.New("the journal is being closed")
)

// Queue writes a service's facts to the journal in the background.
//
//	Put ──────┐
//	PutLater ─┼▶ queue ─▶ one goroutine: encode ─▶ journal ─▶ Observe (at once; what may wait after a short pause)
//	PutAcked ─┘                              └─▶ [list] ─┘ │  (those that follow each other, have one subject and are Listed)
//	   ▲                                                   │
//	   └── AckFuture of the batch ◀──────────────── acks ◀───┘  while a batch is on its way the next one gathers
//
// A caller waits neither for encoding nor for the journal, unless it waits for an AckFuture. The
// queue keeps the order of facts. Facts for which queue or journal have no room are lost, counted
// and logged. It is safe for concurrent use.
type Queue[F any] struct {
	// Limit bounds the facts that wait. Facts of PutLater, and Listed ones of PutAcked, may take
	// half of it, because clients can cause many of them and these must not displace more important
	// facts. Observe, if set, is called with every fact in the order of the journal, also with lost
	// ones. Limit, Observe and Listed must be set before the first fact.
	Limit   int
	Observe func(F)
	// Listed, if set, says which facts may share messages of the journal (factList). encode must
	// make JSON objects of them, and readers of the journal must expect lists of such objects.
	Listed func(F) bool

	journal Appender
	log     *slog.Logger
	encode  func(F) (subject string, data []byte, err error)
	next    message // used by the writing goroutine only

	mu      sync.Mutex // guards what follows
	waiting []entry[F]
	future  *AckFuture // of the waiting facts; nil if no caller has it
	lost    int        // facts lost so far
	closed  bool

	// wake starts writing at once. gather starts it after gatherPause. commit starts it when no
	// batch whose future a caller has is on its way. Each holds at most one signal.
	wake, gather, commit chan struct{}
	// busy is the future of the newest batch of which a caller has the future; nil when its acks
	// have come. Only the writing goroutine uses it.
	busy *AckFuture
	done chan struct{} // closed when everything is written or lost after Close
	// until ends when Close gives up: from then on, no fact waits for a journal that refuses it.
	until  context.Context
	giveUp context.CancelFunc
}

// entry is a fact that waits.
type entry[F any] struct {
	fact F
	// id is that of the fact's message, which then has no other fact; empty if it is sent only once
	id string
	// again says that it was sent, and observed, before
	again bool
}

// NewQueue starts the writing goroutine; Close ends it. encode returns a fact's subject and its
// bytes. The bytes of Listed facts are copied before encode is called again, so encode may
// overwrite them then. It must not overwrite those of other facts.
func NewQueue[F any](journal Appender, log *slog.Logger, encode func(F) (subject string, data []byte,
	err error)) *Queue[F] {
	q := &Queue[F]{
		Limit: queueLimit, journal: journal, log: log, encode: encode,
		wake: make(chan struct{}, 1), gather: make(chan struct{}, 1), commit: make(chan struct{}, 1),
		done: make(chan struct{}),
	}
	q.until, q.giveUp = context.WithCancel(context.Background())
	go q.write()
	return q
}

// Put queues a fact, to be written at once.
func (q *Queue[F]) Put(fact F) {
	q.put(fact, q.Limit)
	signal(q.wake)
}

// PutLater queues a fact of a kind that comes in thousands. It is written after a short pause
// together with others, which costs far less.
func (q *Queue[F]) PutLater(fact F) {
	q.put(fact, q.Limit/2)
	signal(q.gather)
}

// PutAcked queues facts that belong together, all or none, and returns the future that tells when
// the journal has them. Callers that wait at the same time share one ack: while a batch is on its
// way, the next one gathers.
func (q *Queue[F]) PutAcked(facts ...F) *AckFuture {
	q.mu.Lock()
	defer q.mu.Unlock()
	limit := q.Limit / 2
	if q.Listed == nil || !allOf(facts, q.Listed) {
		limit = q.Limit
	}
	if err := q.room(len(facts), limit); err != nil {
		return newEndedFuture(err)
	}
	for _, fact := range facts {
		q.waiting = append(q.waiting, entry[F]{fact: fact})
	}
	return q.share()
}

// room returns why the queue takes no more facts; nil if it does. The caller holds mu.
func (q *Queue[F]) room(more, limit int) error {
	switch {
	case q.closed:
		return errQueueClosed
	case len(q.waiting)+more > limit:
		return errFull
	}
	return nil
}

// share returns the future of the facts that wait, and starts their writing. The caller holds mu.
func (q *Queue[F]) share() *AckFuture {
	if q.future == nil {
		q.future = newAckFuture()
	}
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

// put queues a fact unless limit facts wait already.
func (q *Queue[F]) put(fact F, limit int) {
	q.mu.Lock()
	if q.closed || len(q.waiting) >= limit {
		q.lost++
	} else {
		q.waiting = append(q.waiting, entry[F]{fact: fact})
	}
	q.mu.Unlock()
}

// signal sends a signal unless one waits already.
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

// Close writes the facts that wait, and returns when they are given to the journal or the context
// ends. Facts that the journal refuses then, or that are put afterwards, are lost.
func (q *Queue[F]) Close(ctx context.Context) error {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	signal(q.wake)
	defer q.giveUp()
	select {
	case <-q.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("write the last facts: %w", ctx.Err())
	}
}

// write takes all waiting facts at once and writes them in order, again and again until the queue
// is closed and empty.
func (q *Queue[F]) write() {
	defer close(q.done)
	var batch []entry[F]
	told := 0
	for {
		q.rest()
		var future *AckFuture
		var closed bool
		batch, future, closed = q.take(batch)
		failed := q.writeAll(batch, future)
		clear(batch) // so that the collector can free the facts
		if future != nil {
			future.finishSending()
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

// rest returns when it is time to write.
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

// take returns all waiting facts, and their future if a caller has it. The slice of an earlier
// batch is reused for new facts.
func (q *Queue[F]) take(written []entry[F]) (batch []entry[F], future *AckFuture, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch, q.waiting = q.waiting, written[:0]
	future, q.future = q.future, nil
	return batch, future, q.closed
}

// message is the next message for the journal: a list, or one fact alone.
type message struct {
	subject string
	id      string
	list    factList
	alone   []byte
	closed  bool // it holds one fact alone and takes no others
}

// takes says whether a fact may be added to the list.
func (l *message) takes(subject string, data []byte) bool {
	return !l.closed && l.subject == subject && l.list.fits(data)
}

// content is the message's bytes, and the number of its facts.
func (l *message) content() (data []byte, facts int) {
	switch {
	case l.closed:
		return l.alone, 1
	case l.list.facts() > 0:
		return l.list.message(), l.list.facts()
	}
	return nil, 0
}

func (l *message) clear() {
	l.alone, l.closed, l.id = nil, false, ""
	l.list.reset()
}

// writeAll writes facts in as few messages as possible. The future, if there is one, waits for each
// message. The error is the last one that lost facts.
func (q *Queue[F]) writeAll(batch []entry[F], future *AckFuture) (failed error) {
	told := 0
	send := func(upTo int) {
		if err := q.send(future); err != nil {
			failed = err
		}
		q.observe(batch[told:upTo])
		told = upTo
	}
	for i, next := range batch {
		subject, data, err := q.encode(next.fact)
		if err != nil {
			failed = fmt.Errorf("encode %s: %w", subject, err)
			q.lose(1)
			if next.id == "" { // else it would be sent again for ever
				future.fail(failed)
			}
			continue
		}
		listed := next.id == "" && q.Listed != nil && q.Listed(next.fact)
		if !listed || !q.next.takes(subject, data) {
			send(i)
			q.next.subject = subject
		}
		if listed {
			q.next.list.add(data)
		} else {
			q.next.alone, q.next.closed, q.next.id = data, true, next.id
		}
	}
	send(len(batch))
	return failed
}

// observe calls Observe with facts that are written or lost.
func (q *Queue[F]) observe(entries []entry[F]) {
	if q.Observe == nil {
		return
	}
	for _, e := range entries {
		if !e.again {
			q.Observe(e.fact)
		}
	}
}

func (q *Queue[F]) lose(facts int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.lost += facts
}

// send gives the next message to the journal, if there is one. While the journal refuses it, other
// facts wait in the queue; their callers do not wait.
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
		if waited >= factPatience || run.Pause(q.until, factRetry) != nil {
			if q.next.id == "" { // else it is sent again
				q.lose(facts)
			}
			err = fmt.Errorf("record %s: %w", q.next.subject, err)
			future.fail(err)
			return err
		}
	}
}

// hand tries once to give the journal the message.
func (q *Queue[F]) hand(data []byte, future *AckFuture) error {
	if future == nil {
		return q.journal.AppendAsync(q.next.subject, data)
	}
	future.expect()
	err := q.journal.AppendAcked(q.next.subject, data, q.next.id, future.recordAck)
	if err != nil {
		future.recordAck(nil) // told is not called after an error
	}
	return err
}
