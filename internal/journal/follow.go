package journal

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Read calls handle with every fact from a number on (1 is the first), in order, and then with
// those that are appended later. It returns nil when the context ends, and handle's error if handle
// fails. handle owns the data.
func (j *Journal) Read(ctx context.Context, from uint64, handle func(seq uint64, at time.Time, subject string,
	data []byte) error) error {
	if err := j.follow(ctx, factsName, factPrefix, follower{OrderedConsumerConfig: fromPlace(from)}, handle); err != nil {
		return fmt.Errorf("read facts: %w", err)
	}
	return nil
}

// FollowFacts is Read for the facts of some subjects.
func (j *Journal) FollowFacts(ctx context.Context, from uint64, subjects []string,
	handle func(seq uint64, at time.Time, subject string, data []byte) error) error {
	if err := j.follow(ctx, factsName, factPrefix, follower{OrderedConsumerConfig: fromPlace(from)}, handle,
		subjects...); err != nil {
		return fmt.Errorf("follow facts: %w", err)
	}
	return nil
}

// FollowStates calls handle with the state of each subject that begins with a prefix and a dot, as
// it is stored, from a number of the stream on. It calls handle in the order of the stream, and not
// for state that was replaced before it could be read. It returns nil when the context ends, and
// handle's error if handle fails. handle owns the data.
func (j *Journal) FollowStates(ctx context.Context, from uint64, prefix string,
	handle func(seq uint64, at time.Time, subject string, data []byte) error) error {
	if err := j.follow(ctx, stateName, statePrefix, follower{OrderedConsumerConfig: fromPlace(from)}, handle, prefix+
		".>"); err != nil {
		return fmt.Errorf("follow state %s: %w", prefix, err)
	}
	return nil
}

// LastState returns the number of the newest state in its stream; 0 if there has been none.
func (j *Journal) LastState(ctx context.Context) (uint64, error) {
	info, err := j.state.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("ask for the last state: %w", err)
	}
	return info.State.LastSeq, nil
}

// follower says from where on a stream is read, and how its server is asked; without pull as the
// client does by itself.
type follower struct {
	jetstream.OrderedConsumerConfig
	pull []jetstream.PullMessagesOpt
}

// follow calls handle with the messages of a stream, those that are there and those that come
// later, until the context ends or handle fails. Without subjects it is all messages. It adds
// prefix to the subjects, and removes it for handle.
func (j *Journal) follow(
	ctx context.Context, stream, prefix string, begin follower,
	handle func(seq uint64, at time.Time, subject string, data []byte) error, subjects ...string,
) error {
	begin.FilterSubjects = filters(stream, prefix, subjects)
	marks, err := j.fencesOf(ctx, stream)
	if err != nil {
		return err
	}
	consumer, err := j.js.OrderedConsumer(ctx, stream, begin.OrderedConsumerConfig)
	if err != nil {
		return err
	}
	messages, err := consumer.Messages(begin.pull...)
	if err != nil {
		return err
	}
	defer messages.Stop()
	// While the stream is out of reach, Next retries for ever and ignores the context.
	defer context.AfterFunc(ctx, messages.Stop)()
	for {
		message, err := messages.Next(jetstream.NextContext(ctx))
		switch {
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, jetstream.ErrMsgIteratorClosed):
			return ErrClosed
		case err != nil:
			return err
		}
		meta, err := message.Metadata()
		if err != nil {
			return err
		}
		if stream == factsName && !marks.takes(message, meta.Sequence.Stream) {
			continue
		}
		subject := strings.TrimPrefix(message.Subject(), prefix)
		if err := handle(meta.Sequence.Stream, meta.Timestamp, subject, message.Data()); err != nil {
			return err
		}
	}
}
