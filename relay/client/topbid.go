package client

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"net/http"
	"slices"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/coder/websocket"
	"github.com/holiman/uint256"
)

// TopBid is the top bid of the auction of a slot on a parent. A zero BlockHash means that no bid
// leads any more.
type TopBid struct {
	// At is when the bid began to lead, in the precision of the stream.
	At          time.Time
	Slot        phase0.Slot
	BlockNumber uint64
	BlockHash   phase0.Hash32
	ParentHash  phase0.Hash32
	Builder     phase0.BLSPubKey
	// FeeRecipient is the payload's, which often is the builder's own.
	FeeRecipient bellatrix.ExecutionAddress
	ValueWei     *uint256.Int
}

// TopBidOptions say how top bids are followed.
type TopBidOptions struct {
	// Nanoseconds requests time stamps in nanoseconds instead of milliseconds.
	Nanoseconds bool
	// APIKey is sent as X-Api-Key, unless it is empty.
	APIKey string
	// Silence is how long the relay may send neither a record nor a ping before the client gives up; 0
	// means 30 s.
	Silence time.Duration
}

// topBidBytes is the size of a record of the stream.
const topBidBytes = 188

// TopBids follows the top bids of all auctions: first the present ones, then each change. Unless
// the caller leaves the loop, the last element is an error: an *Error if the relay refuses, the
// context's, or why the stream ended. To go on listening, call it again.
func (c *Client) TopBids(ctx context.Context, o TopBidOptions) iter.Seq2[TopBid, error] {
	return func(yield func(TopBid, error) bool) {
		if err := c.followTopBids(ctx, o, func(bid TopBid) bool { return yield(bid, nil) }); err != nil {
			yield(TopBid{}, err)
		}
	}
}

// followTopBids calls tell for each bid until it returns false, which is no error.
func (c *Client) followTopBids(ctx context.Context, o TopBidOptions, tell func(TopBid) (more bool)) error {
	silence := cmp.Or(o.Silence, 30*time.Second)
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	watch := time.AfterFunc(silence, func() { giveUp(fmt.Errorf("relay says nothing for %v", silence)) })
	defer watch.Stop()
	conn, err := c.dialTopBids(ctx, o, func(context.Context, []byte) bool { watch.Reset(silence); return true })
	if err != nil {
		return err
	}
	for {
		kind, record, err := conn.Read(ctx)
		if err != nil {
			_ = conn.CloseNow() // Read has failed already
			if ended := context.Cause(ctx); ended != nil {
				err = ended
			}
			return fmt.Errorf("read top bid: %w", err)
		}
		watch.Reset(silence)
		if kind != websocket.MessageBinary || len(record) != topBidBytes {
			_ = conn.Close(websocket.StatusUnsupportedData, "want a record") // the error below is the one to return
			return fmt.Errorf("read top bid: %v of %d bytes, want %d binary ones", kind, len(record), topBidBytes)
		}
		if !tell(decodeTopBid(record, o.Nanoseconds)) {
			_ = conn.Close(websocket.StatusNormalClosure, "") // the caller has what it wanted
			return nil
		}
	}
}

// dialTopBids opens the stream.
func (c *Client) dialTopBids(ctx context.Context, o TopBidOptions, onPing func(context.Context, []byte) bool) (
	*websocket.Conn, error) {
	address, header := c.base+"/relay/v1/builder/top_bid", http.Header{}
	if o.Nanoseconds {
		address += "?unit=ns"
	}
	if o.APIKey != "" {
		header.Set("X-Api-Key", o.APIKey)
	}
	conn, response, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: c.http, HTTPHeader: header,
		OnPingReceived: onPing})
	switch {
	case err == nil:
		return conn, nil
	case response == nil || response.StatusCode == http.StatusSwitchingProtocols:
		return nil, fmt.Errorf("listen to top bids: %w", err)
	}
	defer response.Body.Close()
	raw, readErr := io.ReadAll(response.Body) // Dial has kept its first 1024 bytes
	if readErr != nil {
		return nil, fmt.Errorf("read refusal: %w", readErr)
	}
	return nil, refusal(response, raw)
}

// decodeTopBid reads a record: a SSZ container of fixed size, so all numbers are little-endian
// (ultra sound relay's documentation, "top bid websocket").
func decodeTopBid(record []byte, nanoseconds bool) (bid TopBid) {
	stamp := int64(binary.LittleEndian.Uint64(record))
	if bid.At = time.UnixMilli(stamp); nanoseconds {
		bid.At = time.Unix(0, stamp)
	}
	bid.Slot = phase0.Slot(binary.LittleEndian.Uint64(record[8:]))
	bid.BlockNumber = binary.LittleEndian.Uint64(record[16:])
	rest := record[24:]
	for _, field := range [][]byte{bid.BlockHash[:], bid.ParentHash[:], bid.Builder[:], bid.FeeRecipient[:]} {
		rest = rest[copy(field, rest):]
	}
	slices.Reverse(rest)
	bid.ValueWei = new(uint256.Int).SetBytes32(rest)
	return bid
}
