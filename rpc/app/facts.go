package app

import (
	"encoding/json"
	"log/slog"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/rpc"
)

// subjectPrefix is the service's part of the journal.
const subjectPrefix = "rpc."

// facts puts what happened into the journal. Who wants to know is told by the queue, in the journal's order.
type facts struct{ *journal.Queue[rpc.Fact] }

// newFacts starts the writing; Close ends it.
func newFacts(to journal.Appender, log *slog.Logger, observe func(rpc.Fact)) *facts {
	f := &facts{journal.NewQueue(to, log, encodeFact)}
	f.Observe = observe
	return f
}

// Record implements rpc.Facts. What happens to each of thousands of orders is written with others a few milliseconds later; whatever follows it is
// never written before it.
func (f *facts) Record(fact rpc.Fact) {
	switch fact.(type) {
	case rpc.OrderAccepted, rpc.OrderExtended, rpc.OrderSimulated, rpc.OrderShared, rpc.OrderSent, rpc.CallSimulated:
		f.PutLater(fact)
	default:
		f.Put(fact)
	}
}

func encodeFact(fact rpc.Fact) (subject string, data []byte, err error) {
	data, err = json.Marshal(fact)
	return subjectPrefix + fact.Subject(), data, err
}

// decodeFact is the other way; nil for a subject that nobody here knows.
func decodeFact(subject string, data []byte) (rpc.Fact, error) {
	read, known := decoders[subject]
	if !known {
		return nil, nil
	}
	return read(data)
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
