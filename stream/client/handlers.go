package client

import "context"

// Kind says whether an event is of a transaction or of a bundle.
type Kind string

// The kinds. The wire does not name them; see Event.Kind.
const (
	KindTransaction Kind = "transaction"
	KindBundle      Kind = "bundle"
)

// Kind is KindBundle if Txs has several elements, and else KindTransaction. If a sender shares
// nothing of its transactions, their number is unknown, but usually it is one.
func (e *Event) Kind() Kind {
	if len(e.Txs) > 1 {
		return KindBundle
	}
	return KindTransaction
}

// Handlers are called with the events of their kind, one after the other. A nil handler ignores its
// events.
type Handlers struct {
	Transaction, Bundle func(Event)
	// Broken is called with an event that cannot be decoded, which has its Raw bytes.
	Broken func(Event, error)
}

// Handle listens as Events does, and calls handlers until the context ends or reconnecting is of no
// use. The error is the reason.
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
