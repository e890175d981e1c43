package journal

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/gavel-relay/gavel/internal/run"
)

// factPrefix is the prefix of facts' subjects, which keeps them apart from the escrow's and the
// guard's.
const factPrefix = "fact."

// guardPrefix is the prefix of claims' subjects.
const guardPrefix = "guard."

// ErrClosed is what a reader returns if the journal is closed before the reader's context ends.
var ErrClosed = errors.New("the journal is closed")

// failures counts asynchronous appends that failed, until Flush reports them.
type failures struct {
	mu    sync.Mutex // guards what follows
	count int
	first error
	inAll int // since the journal was opened
}

// reset forgets the failures since the last Flush; inAll stays. Each was logged when it happened.
func (f *failures) reset() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.count, f.first = 0, nil
}

// Append adds a fact, and returns its number in the log when the fact is acked.
func (j *Journal) Append(ctx context.Context, subject string, data []byte) (seq uint64, err error) {
	ack, err := j.js.PublishMsg(ctx, j.fact(subject, data))
	if err != nil {
		j.suspectEngine()
		return 0, fmt.Errorf("append %s: %w", subject, err)
	}
	return ack.Sequence, nil
}

// noStall refuses a fact at once if too many are on their way. By default the client would wait up
// to 200 ms, and delaying a proposer's request is worse than losing a fact.
var noStall = jetstream.WithStallWait(time.Nanosecond)

// AppendAsync adds a fact without waiting for the engine. Facts of one caller keep their order. An
// error means that the fact is lost: too many are on their way, the connection is gone, or the disk
// is nearly full (ErrDiskLow). Later failures are counted, logged, and reported by Flush.
func (j *Journal) AppendAsync(subject string, data []byte) error {
	if j.low() {
		return fmt.Errorf("append %s: %w", subject, ErrDiskLow)
	}
	if _, err := j.js.PublishMsgAsync(j.fact(subject, data), noStall); err != nil {
		return fmt.Errorf("append %s: %w", subject, err)
	}
	return nil
}

// AppendAcked is AppendAsync that reports whether the message was kept. It calls told once, from
// another goroutine, with nil when the engine has acked the message. After an error the message may
// be kept or not, because the ack may have been lost on its way back; then it can be sent again
// with the same id, which is not empty, within the two minutes that the engine remembers ids.
func (j *Journal) AppendAcked(subject string, data []byte, id string, told func(error)) error {
	if j.low() {
		return fmt.Errorf("append %s: %w", subject, ErrDiskLow)
	}
	message := j.fact(subject, data)
	if id != "" {
		header := nats.Header{}
		maps.Copy(header, message.Header) // which all messages of the term share
		header.Set(jetstream.MsgIDHeader, id)
		message.Header = header
	}
	ack, err := j.js.PublishMsgAsync(message, noStall)
	if err != nil {
		return fmt.Errorf("append %s: %w", subject, err)
	}
	go func() {
		select {
		case <-ack.Ok():
			told(nil)
		case err := <-ack.Err():
			told(fmt.Errorf("keep %s: %w", subject, err))
		}
	}()
	return nil
}

// SyncFacts returns when the facts that were acked before the call survive a power cut. The
// embedded engine would sync them within syncEvery; callers that wait at the same time share a
// sync. In a cluster its servers' configuration decides, and the call does nothing.
func (j *Journal) SyncFacts() error {
	if j.syncs == nil {
		return nil
	}
	if err := j.syncs.facts(); err != nil {
		return fmt.Errorf("keep facts: %w", err)
	}
	return nil
}

// ackPatience is how long a message may wait for its ack before it counts as not kept (wall time).
// A cluster that is away for less still gets the messages when it is back.
const ackPatience = 30 * time.Second

// Unacked is how many messages were sent and not acked in time since the journal was opened. Each
// may hold several facts.
func (j *Journal) Unacked() int {
	j.failed.mu.Lock()
	defer j.failed.mu.Unlock()
	return j.failed.inAll
}

func (j *Journal) asyncFailed(_ jetstream.JetStream, message *nats.Msg, err error) {
	j.suspectEngine()
	j.log.Error("a fact was not kept", "subject", message.Subject, "error", err)
	j.failed.mu.Lock()
	defer j.failed.mu.Unlock()
	j.failed.count++
	j.failed.inAll++
	if j.failed.first == nil {
		j.failed.first = err
	}
}

// Flush waits until all facts that were appended asynchronously are acked or have failed. It
// returns an error if facts have failed since the last call.
func (j *Journal) Flush(ctx context.Context) error {
	select {
	case <-j.js.PublishAsyncComplete():
	case <-ctx.Done():
		return fmt.Errorf("flush facts: %w", ctx.Err())
	}
	j.failed.mu.Lock()
	defer j.failed.mu.Unlock()
	if j.failed.count == 0 {
		return nil
	}
	err := fmt.Errorf("%d facts were not kept, the first because: %w", j.failed.count, j.failed.first)
	j.failed.count, j.failed.first = 0, nil
	return err
}

// Past calls handle with the facts of some subjects that are in the log now, in order, from a
// number on. handle owns the data.
func (j *Journal) Past(ctx context.Context, from uint64, subjects []string, handle func(at time.Time, subject string,
	data []byte) error) error {
	if err := j.past(ctx, factsName, factPrefix, fromPlace(from), subjects, unnumbered(handle)); err != nil {
		return fmt.Errorf("read past facts: %w", err)
	}
	return nil
}

// PastSince is Past from the first fact on that was stored at that time or later, in the journal's
// wall time.
func (j *Journal) PastSince(ctx context.Context, since time.Time, subjects []string,
	handle func(at time.Time, subject string, data []byte) error) error {
	begin := jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartTimePolicy, OptStartTime: &since}
	if err := j.past(ctx, factsName, factPrefix, begin, subjects, unnumbered(handle)); err != nil {
		return fmt.Errorf("read past facts: %w", err)
	}
	return nil
}

// unnumbered is for who does not ask for the numbers of facts.
func unnumbered(handle func(at time.Time, subject string, data []byte) error) func(uint64, time.Time, string,
	[]byte) error {
	return func(_ uint64, at time.Time, subject string, data []byte) error { return handle(at, subject, data) }
}

// fromPlace configures a consumer that begins at a number of its stream; 1 is the first.
func fromPlace(from uint64) jetstream.OrderedConsumerConfig {
	return jetstream.OrderedConsumerConfig{DeliverPolicy: jetstream.DeliverByStartSequencePolicy,
		OptStartSeq: max(from, 1)}
}

// past calls handle with the messages that a stream has now under some subjects. It adds prefix to
// the subjects, and removes it for handle. begin says from where on.
func (j *Journal) past(
	ctx context.Context, stream, prefix string, begin jetstream.OrderedConsumerConfig, subjects []string,
	handle func(seq uint64, at time.Time, subject string, data []byte) error,
) error {
	begin.FilterSubjects = filters(stream, prefix, subjects)
	marks, err := j.fencesOf(ctx, stream)
	if err != nil {
		return err
	}
	consumer, err := j.js.OrderedConsumer(ctx, stream, begin)
	if err != nil {
		return err
	}
	place, unheard := max(begin.OptStartSeq, 1)-1, 0
	for {
		batch, err := consumer.FetchNoWait(pastBatch)
		if err != nil {
			return err
		}
		got := 0
		for message := range batch.Messages() {
			got++
			meta, err := message.Metadata()
			if err != nil {
				return err
			}
			place = meta.Sequence.Stream
			if stream == factsName && !marks.takes(message, place) {
				continue
			}
			subject := strings.TrimPrefix(message.Subject(), prefix)
			if err := handle(place, meta.Timestamp, subject, message.Data()); err != nil {
				return err
			}
		}
		switch err := batch.Error(); {
		case errors.Is(err, nats.ErrNoResponders) && unheard < unheardTries && run.Pause(ctx, unheardPause) == nil:
			unheard++ // in a cluster, this server may not know yet where the consumer is
			continue
		case err != nil:
			return err
		case got > 0:
			continue
		}
		if behind, err := j.behindOwnMark(ctx, stream, place); err != nil || !behind {
			return err
		}
	}
}

// filters are the subjects that a reader asks for; with facts of some subjects it needs the marks
// of terms.
func filters(stream, prefix string, subjects []string) (list []string) {
	for _, subject := range subjects {
		list = append(list, prefix+subject)
	}
	if stream == factsName && len(list) > 0 && !slices.Contains(subjects, ">") {
		list = append(list, factPrefix+termSubject+">")
	}
	return list
}

// pastBatch is how many facts Past asks for at a time.
const pastBatch = 500

// LastOf is the newest fact of a subject; ErrNotFound if there is none.
func (j *Journal) LastOf(ctx context.Context, subject string) ([]byte, error) {
	message, err := j.facts.GetLastMsgForSubject(ctx, factPrefix+subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, fmt.Errorf("fact %s: %w", subject, ErrNotFound)
	}
	if err != nil {
		return nil, fmt.Errorf("read the last fact of %s: %w", subject, err)
	}
	return message.Data, nil
}
