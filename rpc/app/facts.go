package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/rpc"
)

// subjectPrefix is the service's part of the journal.
const subjectPrefix = factScope + "."

// factScope is the first word of the subjects of its facts.
const factScope = "rpc"

// facts writes facts to the journal. The queue calls observers in the journal's order.
type facts struct {
	*journal.Queue[rpc.Fact]
	blocks *journal.Resender[rpc.Fact]
	log    *slog.Logger
	// bytes counts the bytes of all facts of this run.
	bytes atomic.Int64
}

// newFacts starts the queue that writes; Close ends it.
func newFacts(to journal.Appender, log *slog.Logger, observe func(rpc.Fact)) *facts {
	f, encoder := &facts{log: log}, new(encoder)
	f.Queue = journal.NewQueue(to, log, func(fact rpc.Fact) (subject string, data []byte, err error) {
		subject, data, err = encoder.encode(fact)
		f.bytes.Add(int64(len(data)))
		return subject, data, err
	})
	f.Observe, f.Listed = observe, isFrequent
	f.blocks = journal.NewResender(f.Queue)
	return f
}

// Close writes what waits, and returns when it is written or the context ends.
func (f *facts) Close(ctx context.Context) error {
	return errors.Join(f.blocks.Close(ctx), f.Queue.Close(ctx))
}

// isFrequent says which facts share messages of the journal. The facts that the event stream
// reads have messages of their own: the stream is another product, and reads nothing else.
func isFrequent(fact rpc.Fact) bool {
	switch fact.(type) {
	case rpc.OrderAccepted, rpc.OrderExtended, rpc.OrderSimulated, rpc.OrderSent, rpc.CallSimulated:
		return true
	}
	return false
}

// isOfBlock says which facts tell what a block brought. A block is counted once, so nobody would
// notice that one is missing: they are sent until the journal has them.
func isOfBlock(fact rpc.Fact) bool {
	switch fact.(type) {
	case rpc.RefundCredited, rpc.RefundPaid, rpc.BlockIndexed, rpc.BlockReverted:
		return true
	}
	return false
}

// Record implements rpc.Facts. Facts that each of thousands of orders has are written together, a
// few milliseconds later. Facts that follow them are never written before them, but for those of
// blocks, which have an order of their own.
func (f *facts) Record(fact rpc.Fact) {
	switch {
	case isFrequent(fact):
		f.PutLater(fact)
	case isOfBlock(fact):
		f.blocks.Put(fact)
	default:
		f.Put(fact)
	}
}

// ackPatience is how long the answers that share an ack of the journal wait for it (wall time).
const ackPatience = 3 * time.Second

// keeper keeps facts that a caller is promised. It is apart from facts, to which snapshots write.
type keeper struct {
	*facts
	snapshots *snapshots
	// sync returns when the facts that the journal has acked survive a power cut.
	sync func() error
}

// Keep implements rpc.DurableFacts. It also waits while the journal could forget what it has just
// stored. Callers that wait at the same time share an ack. A cancel is synced as well: a power cut
// may cost an order, which nobody gets then, but must not bring back one that its sender has ended.
func (k keeper) Keep(list ...rpc.Fact) (kept func() error) {
	receipt := k.PutAcked(list...)
	return func() error {
		err := receipt.WaitAtMost(ackPatience)
		if err == nil && slices.ContainsFunc(list, isCancel) {
			err = k.sync()
		}
		if err == nil {
			err = k.snapshots.safe(ackPatience)
		}
		if err != nil {
			k.log.Error("the journal did not keep what is to be promised", "error", err)
			return rpc.JournalUnavailable.Plain()
		}
		return nil
	}
}

// isCancel says whether a fact ends an order, or keeps one out, because its sender wants so.
func isCancel(fact rpc.Fact) bool {
	switch f := fact.(type) {
	case rpc.CancelNoted:
		return true
	case rpc.OrderEnded:
		return f.State == rpc.Cancelled
	}
	return false
}

// encoder encodes one fact after another. It is not safe for concurrent use.
type encoder struct{ buffer []byte }

// encode returns a fact's JSON. An accepted order, which is frequent, is written without
// reflection, into the memory of the one before.
func (e *encoder) encode(fact rpc.Fact) (subject string, data []byte, err error) {
	subject = subjectPrefix + fact.Subject()
	accepted, ok := fact.(rpc.OrderAccepted)
	if !ok {
		data, err = json.Marshal(fact)
		return subject, data, err
	}
	if data, err = accepted.AppendJSON(e.buffer[:0]); err == nil {
		e.buffer = data
	}
	return subject, data, err
}

// decodeFacts is the inverse, for a message of the journal: it calls handle for each of its facts,
// in order. kept is what is to be written if the fact is written again: the fact, or a
// rpc.LaterFact. It ignores unknown subjects.
func decodeFacts(subject string, message []byte, handle func(fact, kept rpc.Fact)) error {
	read, known := decoders[subject]
	if !known {
		return nil
	}
	return rpc.EachFact(message, func(data []byte) error {
		fact, later, err := read(data)
		switch {
		case err != nil:
			return err
		case later:
			handle(fact, rpc.LaterFact{Fact: fact, Text: bytes.Clone(data)})
		default:
			handle(fact, fact)
		}
		return nil
	})
}

// decode decodes a fact, and says whether it has fields that this version does not know.
type decode = func(data []byte) (fact rpc.Fact, later bool, err error)

// decoders decode a fact, by subject.
var decoders = func() map[string]decode {
	all := map[string]decode{}
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

func decoder[F rpc.Fact](all map[string]decode) {
	var zero F
	all[subjectPrefix+zero.Subject()] = func(data []byte) (rpc.Fact, bool, error) {
		var fact F
		strict := json.NewDecoder(bytes.NewReader(data))
		strict.DisallowUnknownFields()
		if strict.Decode(&fact) == nil && strict.InputOffset() == int64(len(data)) {
			return fact, false, nil
		}
		var lenient F
		err := json.Unmarshal(data, &lenient)
		return lenient, true, err
	}
}
