package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// ErrNobody says that nobody answers requests of a subject, or that the cluster cannot be reached.
// The request was given to nobody.
var ErrNobody = errors.New("nobody answers")

// ErrTooLong says that a request is longer than a message of the cluster may be.
var ErrTooLong = errors.New("longer than a message of the journal's cluster")

// askPrefix keeps subjects of requests apart from those of streams.
const askPrefix = "ask."

// LongestAsk is how many bytes a request or an answer may have.
func (j *Journal) LongestAsk() int { return int(j.conn.MaxPayload()) - askSlack }

// askSlack is for what the engine adds to a message.
const askSlack = 4 << 10

// Ask sends a request to the process that answers its subject, and returns the answer. Nothing of
// it is kept. After an error other than ErrNobody and ErrTooLong the request may have been done or
// not.
func (j *Journal) Ask(ctx context.Context, subject string, request []byte) (answer []byte, err error) {
	if len(request) > j.LongestAsk() {
		return nil, fmt.Errorf("ask %s: %w: %d bytes", subject, ErrTooLong, len(request))
	}
	if !j.conn.IsConnected() { // else the client would send it when it is connected again
		return nil, fmt.Errorf("ask %s: %w: the cluster is not reached", subject, ErrNobody)
	}
	message, err := j.conn.RequestWithContext(ctx, askPrefix+subject, request)
	if errors.Is(err, nats.ErrNoResponders) {
		return nil, fmt.Errorf("ask %s: %w", subject, ErrNobody)
	}
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", subject, err)
	}
	return message.Data, nil
}

// Answer has handle answer the requests of a subject, each in a goroutine of its own, until the
// context ends, and then returns when all that had begun are answered. At most so many run at once;
// others wait. The context that handle gets is not ended with ctx.
func (j *Journal) Answer(ctx context.Context, subject string, atOnce int,
	handle func(ctx context.Context, request []byte) []byte) error {
	requests := make(chan *nats.Msg, atOnce)
	subscription, err := j.conn.ChanSubscribe(askPrefix+subject, requests)
	if err != nil {
		return fmt.Errorf("answer %s: %w", subject, err)
	}
	places := make(chan struct{}, atOnce)
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case request := <-requests:
			places <- struct{}{}
			go func() {
				defer func() { <-places }()
				// If that fails, who asked hears nothing, and knows what that means.
				_ = request.Respond(handle(context.WithoutCancel(ctx), request.Data))
			}()
		}
	}
	err = subscription.Unsubscribe()
	for range cap(places) {
		places <- struct{}{}
	}
	if err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		return fmt.Errorf("answer %s no more: %w", subject, err)
	}
	return nil
}
