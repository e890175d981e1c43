package top

import (
	"errors"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

type fixedHead phase0.Slot

func (h fixedHead) Head() relay.Head { return relay.Head{Slot: phase0.Slot(h)} }

type recorded []relay.HeaderServed

func (r *recorded) RecordHeader(served relay.HeaderServed) { *r = append(*r, served) }

func TestHeaderRules(t *testing.T) {
	spec := &eth.Spec{GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32}
	start := spec.SlotStart(10)
	key := relay.Key{Slot: 10, ParentHash: phase0.Hash32{1}, Proposer: phase0.BLSPubKey{2}}
	other := func(change func(*relay.Key)) relay.Key { k := key; change(&k); return k }
	for name, row := range map[string]struct {
		at    time.Time
		key   relay.Key
		head  fixedHead
		bid   bool
		error bool
	}{
		"at the start":                  {start, key, 9, true, false},
		"before the slot":               {start.Add(-time.Hour), key, 9, true, false},
		"at the cut-off":                {start.Add(3 * time.Second), key, 9, true, false},
		"REL-HDR-22 after the cut-off":  {start.Add(3*time.Second + 1), key, 9, false, false},
		"REL-HDR-07 other proposer":     {start, other(func(k *relay.Key) { k.Proposer[0]++ }), 9, false, false},
		"REL-HDR-07 other parent":       {start, other(func(k *relay.Key) { k.ParentHash[0]++ }), 9, false, false},
		"slot is the head's":            {start, key, 10, true, false},
		"slot is before the head's":     {start, key, 11, false, true},
		"slot that no clock will reach": {start, other(func(k *relay.Key) { k.Slot = 1 << 63 }), 9, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			facts := new(recorded)
			topBid := &Bids{Served: facts}
			topBid.Show(key, &relay.SignedBid{Key: key, ValueWei: uint256.NewInt(7)})
			headers := &Headers{Bids: topBid, Spec: spec, Head: row.head, CutOff: 3 * time.Second}
			bid, err := headers.Header(t.Context(), row.at, row.key, time.Time{})
			if (bid != nil) != row.bid || (err != nil) != row.error {
				t.Errorf("bid %v, error %v", bid, err)
			}
			if refused := (*relay.Refused)(nil); row.error && (!errors.As(err, &refused) || refused.ID != relay.SlotTooOld.ID) {
				t.Errorf("error %v", err)
			}
			if got := len(*facts) == 1; got != row.bid {
				t.Errorf("%d facts", len(*facts))
			}
		})
	}
}

func TestTopBidForgetsAndTakesDown(t *testing.T) {
	var topBid Bids
	key := func(slot phase0.Slot) relay.Key { return relay.Key{Slot: slot} }
	topBid.Show(key(1), nil)
	for slot := range phase0.Slot(3) {
		topBid.Show(key(slot), &relay.SignedBid{})
	}
	topBid.Show(key(2), nil)
	topBid.Clear(1)
	if topBid.Top(key(0)) != nil || topBid.Top(key(1)) == nil || topBid.Top(key(2)) != nil {
		t.Error("want exactly slot 1 on the topBid")
	}
}
