package journal

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
)

// tellPrefix keeps subjects of what is told apart from those of streams and of requests.
const tellPrefix = "tell."

// Tell sends a message to the processes that hear its subject, this one too. Nothing of it is kept:
// who is not connected now, or reads too slowly, misses it. The error says that nobody was told.
func (j *Journal) Tell(subject string, data []byte) error {
	if !j.conn.IsConnected() { // else the client would send it when it is connected again, and it would be old
		return fmt.Errorf("tell %s: the cluster is not reached", subject)
	}
	if err := j.conn.Publish(tellPrefix+subject, data); err != nil {
		return fmt.Errorf("tell %s: %w", subject, err)
	}
	return nil
}

// Hear gives handle the messages that are told of a subject, one after another, until the context
// ends. Of one teller they come in the order in which they were told.
func (j *Journal) Hear(ctx context.Context, subject string, handle func(data []byte)) error {
	told := make(chan *nats.Msg, hearAhead)
	subscription, err := j.conn.ChanSubscribe(tellPrefix+subject, told)
	if err != nil {
		return fmt.Errorf("hear %s: %w", subject, err)
	}
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case message := <-told:
			handle(message.Data)
		}
	}
	if err := subscription.Unsubscribe(); err != nil && !errors.Is(err, nats.ErrConnectionClosed) {
		return fmt.Errorf("hear %s no more: %w", subject, err)
	}
	return nil
}

// hearAhead is how many messages may wait for the one that is handled.
const hearAhead = 1 << 13
