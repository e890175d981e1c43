package journal

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// auctionName and auctionPrefix are of the stream that has the auction logs of all slots. It exists
// in clusters only, and all instances of a relay apply it in its order (decision 19).
const (
	auctionName   = "AUCTION"
	auctionPrefix = "auction."
)

const (
	// auctionFor is how long the stream keeps an entry (wall time). A slot's auction lasts two slots
	// or three; an instance that starts reads all that is there.
	auctionFor = 5 * time.Minute
	// auctionBytes bounds the stream. A bid has about 2 KB, so that is more than 1,000 bids a second.
	auctionBytes = 1 << 30
	// auctionHeartbeat is how often a reader hears of its server, and auctionPull how long it asks
	// for. A server that is silent for two beats is given up, and another one is asked.
	auctionHeartbeat = 500 * time.Millisecond
	auctionPull      = 5 * time.Second
)

// auctionConfig is the configuration of the stream of auction logs.
func auctionConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name: auctionName, Subjects: []string{auctionPrefix + ">"}, Storage: jetstream.FileStorage, MaxAge: auctionFor,
		MaxBytes: auctionBytes, Discard: jetstream.DiscardOld, Duplicates: duplicates(auctionFor),
	}
}

// AppendAuction adds an entry to the auction log of a subject, and returns its number in the stream
// of all logs when it is stored. After an error it may be stored or not.
func (j *Journal) AppendAuction(ctx context.Context, subject string, data []byte) (number uint64, err error) {
	ack, err := j.js.Publish(ctx, auctionPrefix+subject, data)
	if err != nil {
		return 0, fmt.Errorf("append to auction %s: %w", subject, err)
	}
	return ack.Sequence, nil
}

// BeginAuction adds the first entry of the auction log of a subject. It is no error if the log has
// an entry already, or if one is on its way that may still fail.
func (j *Journal) BeginAuction(ctx context.Context, subject string, data []byte) error {
	_, err := j.js.Publish(ctx, auctionPrefix+subject, data, jetstream.WithExpectLastSequencePerSubject(0))
	if taken := (*jetstream.APIError)(nil); errors.As(err, &taken) &&
		(taken.ErrorCode == wrongLastSequence || taken.ErrorCode == wrongLastInProgress) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("begin auction %s: %w", subject, err)
	}
	return nil
}

// FollowAuction calls handle with the entries of all auction logs from a number of the stream on,
// those that are there and those that come later, in their one order. Numbers that are missing were
// dropped before they could be read. It returns nil when the context ends, and handle's error if
// handle fails. handle owns the data.
func (j *Journal) FollowAuction(ctx context.Context, from uint64,
	handle func(number uint64, at time.Time, subject string, data []byte) error) error {
	begin := follower{OrderedConsumerConfig: fromPlace(from), pull: []jetstream.PullMessagesOpt{
		jetstream.PullExpiry(auctionPull), jetstream.PullHeartbeat(auctionHeartbeat)}}
	if err := j.follow(ctx, auctionName, auctionPrefix, begin, handle); err != nil {
		return fmt.Errorf("follow auctions: %w", err)
	}
	return nil
}

// LastAuction returns the number of the newest entry of all auction logs; 0 if there has been none.
func (j *Journal) LastAuction(ctx context.Context) (uint64, error) {
	info, err := j.auction.Info(ctx)
	if err != nil {
		return 0, fmt.Errorf("ask for the last entry of the auctions: %w", err)
	}
	return info.State.LastSeq, nil
}
