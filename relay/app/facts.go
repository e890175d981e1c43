package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/relay"
)

// factLog is where facts are kept, in order. AppendAsync does not wait for the disk; an error means that the fact was not taken.
type factLog interface {
	AppendAsync(subject string, data []byte) error
}

const (
	// maxFacts bounds the facts that wait for the journal. Headers that were served may take half of it: whoever asks for many
	// must not make the relay forget what it delivered.
	maxFacts = 1 << 16
	// factPatience is how long a fact waits for a journal that takes none, and factRetry how often it is asked (wall time).
	factPatience = time.Second
	factRetry    = 5 * time.Millisecond
	// headerPause is how long a served header waits for others (wall time).
	headerPause = 5 * time.Millisecond
)

// facts puts what happened into the journal and tells who listens.
//
//	Record ─▶ queue ─▶ one goroutine: JSON ─▶ journal ─▶ observe (at once; headers that were served after a short pause)
//	     └──▶ listeners, at once
//
// Nobody who records waits for encoding or for the journal. The queue keeps the order; what finds no room in it, or in the journal, is lost,
// counted and logged.
type facts struct {
	journal factLog
	log     *slog.Logger
	// listeners are told every fact but a served header as it happens; they do not block. They are set before the first fact.
	listeners []relay.Facts
	// observe, if set, is told every fact in the order of the journal. It is set before the first fact.
	observe func(relay.Fact)

	limit   int        // of waiting
	mu      sync.Mutex // guards what follows
	waiting []queuedFact
	lost    int // facts in all
	closed  bool

	// wake has something written at once; gather, after headerPause. One signal of each is kept.
	wake, gather chan struct{}
	done         chan struct{} // closed when all is written after Close
}

// queuedFact is a fact, or, without one, a header that was served: kept by value, it costs the proposer's request no allocation.
type queuedFact struct {
	fact   relay.Fact
	served relay.HeaderServed
}

// newFacts starts the writing; Close ends it.
func newFacts(journal factLog, log *slog.Logger) *facts {
	f := &facts{journal: journal, log: log, limit: maxFacts, wake: make(chan struct{}, 1), gather: make(chan struct{}, 1),
		done: make(chan struct{})}
	go f.write()
	return f
}

// subjectPrefix is the relay's part of the journal.
const subjectPrefix = "relay."

// Record implements relay.Facts.
func (f *facts) Record(fact relay.Fact) {
	f.put(queuedFact{fact: fact}, f.limit)
	signal(f.wake)
	for _, l := range f.listeners {
		l.Record(fact)
	}
}

// RecordHeader implements top.Served.
func (f *facts) RecordHeader(served relay.HeaderServed) {
	f.put(queuedFact{served: served}, f.limit/2)
	signal(f.gather)
}

// put queues a fact unless so many wait already.
func (f *facts) put(fact queuedFact, limit int) {
	f.mu.Lock()
	if f.closed || len(f.waiting) >= limit {
		f.lost++
	} else {
		f.waiting = append(f.waiting, fact)
	}
	f.mu.Unlock()
}

// signal leaves a signal unless there is one already.
func signal(to chan struct{}) {
	select {
	case to <- struct{}{}:
	default:
	}
}

// Lost is how many facts were lost so far.
func (f *facts) Lost() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.lost
}

// Close writes what waits, and returns when the journal has taken it or the context ends. What is recorded afterwards is lost.
func (f *facts) Close(ctx context.Context) error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	signal(f.wake)
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("write the last facts: %w", ctx.Err())
	}
}

// write takes what waits, all at once, and writes one after the other, until the queue is closed and empty.
func (f *facts) write() {
	defer close(f.done)
	var batch []queuedFact
	told := 0
	for {
		f.rest()
		var closed bool
		batch, closed = f.take(batch)
		var failed error
		for i := range batch {
			if batch[i].fact == nil {
				batch[i].fact = batch[i].served
			}
			if err := f.writeOne(batch[i].fact); err != nil {
				failed = err
			}
		}
		clear(batch) // so that facts do not live longer than needed
		if lost := f.Lost(); lost > told {
			f.log.Error("facts were lost", "facts", lost-told, "in_all", lost, "error", failed)
			told = lost
		}
		if closed {
			return
		}
	}
}

// rest returns when something is to be written. Headers come in thousands when they come: written together they cost far less.
func (f *facts) rest() {
	select {
	case <-f.wake:
	case <-f.gather:
		pause := time.NewTimer(headerPause)
		defer pause.Stop()
		select {
		case <-f.wake:
		case <-pause.C:
		}
	}
}

// take is all that waits, in exchange for the room of an earlier batch.
func (f *facts) take(written []queuedFact) (batch []queuedFact, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	batch, f.waiting = f.waiting, written[:0]
	return batch, f.closed
}

func (f *facts) writeOne(fact relay.Fact) error {
	err := f.append(fact)
	if err != nil {
		f.mu.Lock()
		f.lost++
		f.mu.Unlock()
		err = fmt.Errorf("record %s: %w", fact.Subject(), err)
	}
	if f.observe != nil {
		f.observe(fact)
	}
	return err
}

// append hands a fact to the journal. While that is busy the others wait in the queue, and nobody who records them waits.
func (f *facts) append(fact relay.Fact) error {
	data, err := encodeFact(fact)
	if err != nil {
		return fmt.Errorf("encode: %w", err)
	}
	for waited := time.Duration(0); ; waited += factRetry {
		if err = f.journal.AppendAsync(subjectPrefix+fact.Subject(), data); err == nil || waited >= factPatience {
			return err
		}
		time.Sleep(factRetry)
	}
}

// encodeFact is a fact's JSON: of a served header, which comes in thousands, without reflection.
func encodeFact(fact relay.Fact) ([]byte, error) {
	if served, ok := fact.(relay.HeaderServed); ok {
		return served.AppendJSON(make([]byte, 0, 384)), nil
	}
	return json.Marshal(fact)
}
