package top

import (
	"fmt"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/relay"
)

// filled is an array's worth of one byte after another, so that a misplaced or turned field shows.
func filled(into []byte, first byte) {
	for i := range into {
		into[i] = first + byte(i)
	}
}

func recordedBid() (relay.Key, *relay.SignedBid) {
	key := relay.Key{Slot: 0x0102030405060708}
	filled(key.ParentHash[:], 0x20)
	bid := &relay.SignedBid{Key: key, BlockNumber: 0x1112131415161718, ValueWei: uint256.MustFromHex("0x1234567890abcdef")}
	filled(bid.BlockHash[:], 0x40)
	filled(bid.Builder[:], 0x60)
	filled(bid.FeeRecipient[:], 0xa0)
	return key, bid
}

// The layout is deployed relays'; the file shows each field on its own line.
func TestRecord(t *testing.T) {
	key, bid := recordedBid()
	great := *bid
	great.ValueWei = new(uint256.Int).SetAllOne()
	at := time.Unix(1_700_000_000, 123_456_789)
	text := ""
	for _, row := range []struct {
		name string
		raw  []byte
	}{
		{"milliseconds", encode(at, key, bid).In(time.Millisecond)},
		{"nanoseconds", encode(at, key, bid).In(time.Nanosecond)},
		{"the greatest value", encode(at, key, &great).Ms},
		{"no bid", encode(at, key, nil).Ms},
	} {
		if len(row.raw) != UpdateBytes {
			t.Errorf("%s: %d bytes", row.name, len(row.raw))
		}
		text += row.name + "\n"
		for _, field := range []struct {
			name     string
			from, to int
		}{
			{"timestamp", 0, 8}, {"slot", 8, 16}, {"block_number", 16, 24}, {"block_hash", 24, 56}, {"parent_hash", 56, 88},
			{"builder_pubkey", 88, 136}, {"fee_recipient", 136, 156}, {"value", 156, 188},
		} {
			text += fmt.Sprintf("  %-14s %x\n", field.name, row.raw[field.from:field.to])
		}
	}
	golden.File(t, "testdata/record.txt", text)
}

// A record may be appended to without touching the other one.
func TestRecordsDoNotOverlap(t *testing.T) {
	records := encode(time.Unix(1, 0), relay.Key{Slot: phase0.Slot(1)}, nil)
	_ = append(records.Ms, 0xff)
	if records.Ns[0] == 0xff {
		t.Error("the records share room")
	}
}
