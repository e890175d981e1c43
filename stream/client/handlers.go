package client

import "context"

// Kind is what an event is of.
type Kind string

// The kinds. The wire has no name for them: an event shows how many transactions it has by those
// that it shares, see Event.Kind.
const (
	KindTransaction Kind = "transaction"
	KindBundle      Kind = "bundle"
)

// Kind is a transaction's with one element in Txs, or with none: who shares nothing of its
// transactions does not say how many they are, and mostly it is one. With several it is a bundle's.
func (e *Event) Kind() Kind {
	if len(e.Txs) > 1 {
		return KindBundle
	}
	return KindTransaction
}

// Handlers are called with the events of their kind, one after the other. A nil one leaves them
// out.
type Handlers struct {
	Transaction, Bundle func(Event)
	// Broken is told of an event that cannot be decoded; it has its Raw bytes.
	Broken func(Event, error)
}

// Handle listens as Events does and calls handlers until the context ends or there is no use in
// coming back; the error says why.
func (c *Client) Handle(ctx context.Context, handlers Handlers) error {
	for event, err := range c.Events(ctx) {
		switch {
		case err != nil && event.Raw == nil: // the last one
			return err
		case err != nil:
			call(handlers.Broken, event, err)
		case event.Kind() == KindBundle && handlers.Bundle != nil:
			handlers.Bundle(event)
		case event.Kind() == KindTransaction && handlers.Transaction != nil:
			handlers.Transaction(event)
		}
	}
	return context.Cause(ctx)
}

func call(broken func(Event, error), event Event, err error) {
	if broken != nil {
		broken(event, err)
	}
}
