package app

import (
	"context"
	"encoding/json"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/rpc"
)

// subjectPrefix is the service's part of the journal.
const subjectPrefix = "rpc."

// facts puts what happened into the journal. Who wants to know is told by the queue, in the
// journal's order.
type facts struct {
	*journal.Queue[rpc.Fact]
	log *slog.Logger
	// safe, if set, waits while the journal could forget what it has just kept.
	safe func(context.Context) error
	// bytes are those of all facts of this life.
	bytes atomic.Int64
}

// newFacts starts the writing; Close ends it.
func newFacts(to journal.Appender, log *slog.Logger, observe func(rpc.Fact)) *facts {
	f, encoder := &facts{log: log}, new(encoder)
	f.Queue = journal.NewQueue(to, log, func(fact rpc.Fact) (subject string, data []byte, err error) {
		subject, data, err = encoder.encode(fact)
		f.bytes.Add(int64(len(data)))
		return subject, data, err
	})
	f.Observe, f.Listed = observe, comesInThousands
	return f
}

// comesInThousands says what shares messages of the journal. What the event stream is told of an
// order has a message of its own: the stream is another product, and reads nothing else.
func comesInThousands(fact rpc.Fact) bool {
	switch fact.(type) {
	case rpc.OrderAccepted, rpc.OrderExtended, rpc.OrderSimulated, rpc.OrderSent, rpc.CallSimulated:
		return true
	}
	return false
}

// Record implements rpc.Facts. What happens to each of thousands of orders is written with others a
// few milliseconds later; whatever follows it is never written before it.
func (f *facts) Record(fact rpc.Fact) {
	if comesInThousands(fact) {
		f.PutLater(fact)
	} else {
		f.Put(fact)
	}
}

// ackPatience is how long an answer waits for the journal (wall time).
const ackPatience = 3 * time.Second

// Keep implements rpc.Keeper. Who waits at the same time shares an ack.
func (f *facts) Keep(list ...rpc.Fact) (kept func() error) {
	receipt := f.PutAcked(list...)
	return func() error {
		ctx, cancel := context.WithTimeout(context.Background(), ackPatience)
		defer cancel()
		err := receipt.Wait(ctx)
		if err == nil && f.safe != nil {
			err = f.safe(ctx)
		}
		if err != nil {
			f.log.Error("the journal did not keep what is to be promised", "error", err)
			return rpc.JournalUnavailable.Plain()
		}
		return nil
	}
}

// encoder writes one fact after another. It is the queue's goroutine's.
type encoder struct{ room []byte }

// encode is a fact's JSON. Of an order that came, which comes in thousands, it is written without
// reflection, in the room of the one before.
func (e *encoder) encode(fact rpc.Fact) (subject string, data []byte, err error) {
	subject = subjectPrefix + fact.Subject()
	accepted, ok := fact.(rpc.OrderAccepted)
	if !ok {
		data, err = json.Marshal(fact)
		return subject, data, err
	}
	if data, err = accepted.AppendJSON(e.room[:0]); err == nil {
		e.room = data
	}
	return subject, data, err
}

// decodeFacts is the other way, for a message of the journal: it hands over its facts in order. Of
// a subject that nobody here knows there are none.
func decodeFacts(subject string, message []byte, handle func(rpc.Fact)) error {
	read, known := decoders[subject]
	if !known {
		return nil
	}
	return rpc.EachFact(message, func(data []byte) error {
		fact, err := read(data)
		if err == nil {
			handle(fact)
		}
		return err
	})
}

// decoders are by subject.
var decoders = func() map[string]func([]byte) (rpc.Fact, error) {
	all := map[string]func([]byte) (rpc.Fact, error){}
	decoder[rpc.OrderAccepted](all)
	decoder[rpc.OrderExtended](all)
	decoder[rpc.OrderSimulated](all)
	decoder[rpc.OrderShared](all)
	decoder[rpc.OrderSent](all)
	decoder[rpc.OrderEnded](all)
	decoder[rpc.OrderReturned](all)
	decoder[rpc.CancelNoted](all)
	decoder[rpc.CallSimulated](all)
	decoder[rpc.StateKept](all)
	decoder[rpc.RefundCredited](all)
	decoder[rpc.RefundPaid](all)
	decoder[rpc.RecipientSet](all)
	decoder[rpc.BlockIndexed](all)
	decoder[rpc.BlockReverted](all)
	return all
}()

func decoder[F rpc.Fact](all map[string]func([]byte) (rpc.Fact, error)) {
	var zero F
	all[subjectPrefix+zero.Subject()] = func(data []byte) (rpc.Fact, error) {
		var fact F
		err := json.Unmarshal(data, &fact)
		return fact, err
	}
}
