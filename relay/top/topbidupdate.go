package top

import (
	"encoding/binary"
	"time"

	"github.com/gavel-relay/gavel/relay"
)

// UpdateBytes is the size of an update in one encoding.
const UpdateBytes = 188

// Updates are the two encodings of one change, which differ in the unit of the time stamp. They are
// made once and shared by all listeners, so they must not be changed.
type Updates struct{ Ms, Ns []byte }

// In returns the record with its time stamp in nanoseconds if that is the unit, and in milliseconds
// otherwise.
func (r *Updates) In(unit time.Duration) []byte {
	if unit == time.Nanosecond {
		return r.Ns
	}
	return r.Ms
}

// encode writes a change in the layout that deployed relays push (ultra sound relay's
// documentation, "top bid websocket"; helix, TopBidUpdate): a SSZ container of fixed size, all
// numbers little-endian.
//
//	 0  timestamp        8   Unix time at which the bid became the leading one, in the record's unit
//	 8  slot             8
//	16  block_number     8
//	24  block_hash      32
//	56  parent_hash     32
//	88  builder_pubkey  48
//	136 fee_recipient   20   the payload's, not the proposer's
//	156 value           32   wei
//
// If no bid leads, all fields but timestamp, slot and parent_hash are zero.
func encode(at time.Time, key relay.Key, bid *relay.SignedBid) *Updates {
	raw := make([]byte, 2*UpdateBytes)
	r := raw[:UpdateBytes:UpdateBytes]
	binary.LittleEndian.PutUint64(r, uint64(at.UnixMilli()))
	binary.LittleEndian.PutUint64(r[8:], uint64(key.Slot))
	copy(r[56:], key.ParentHash[:])
	if bid != nil {
		binary.LittleEndian.PutUint64(r[16:], bid.BlockNumber)
		copy(r[24:], bid.BlockHash[:])
		copy(r[88:], bid.Builder[:])
		copy(r[136:], bid.FeeRecipient[:])
		for i, word := range bid.ValueWei {
			binary.LittleEndian.PutUint64(r[156+8*i:], word)
		}
	}
	ns := raw[UpdateBytes:]
	copy(ns, r)
	binary.LittleEndian.PutUint64(ns, uint64(at.UnixNano()))
	return &Updates{Ms: r, Ns: ns}
}
