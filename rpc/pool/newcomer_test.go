package pool

import (
	"encoding/binary"
	"errors"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// Two thousand orders of throwaway keys from one address take a tenth of the room, those of as many
// addresses as one likes the half; who has a name finds room still, and what has ended makes room
// again.
func TestNewcomersLeaveRoom(t *testing.T) {
	named := common.Address{0xaa}
	p := New(Config{MaxOrders: 1000, MaxNewcomers: 500, MaxPerSource: 100, Class: func(signer common.Address) int {
		if signer == named {
			return 1
		}
		return 0
	}})
	at, head, sent := time.Unix(1_800_000_000, 0), rpc.Head{Number: 100, Hash: common.Hash{1}}, uint32(0)
	add := func(signer *common.Address, source string) error {
		sent++
		var hash common.Hash
		binary.BigEndian.PutUint32(hash[:], sent)
		key := common.BytesToAddress(hash[:4])
		if signer != nil {
			key = *signer
		}
		_, err := p.Add(at, head, &rpc.Order{Kind: rpc.KindBundle, Signer: key, Source: source, Bundle: rpc.Bundle{
			Hash: hash, Window: rpc.Window{FirstBlock: 130, LastBlock: 130},
			Elements: []rpc.Element{{Tx: &rpc.Transaction{Hash: hash}}},
		}})
		return err
	}
	refusedAs := func(err error) string {
		if refused := (*rpc.Refused)(nil); errors.As(err, &refused) {
			return refused.ID
		}
		return ""
	}
	taken := 0
	for range 2000 {
		if err := add(nil, "203.0.113.7"); err == nil {
			taken++
		} else if refusedAs(err) != rpc.RateLimited.ID {
			t.Fatal(err)
		}
	}
	if taken != 100 {
		t.Errorf("one address has %d orders, want a tenth", taken)
	}
	if p.Crowded(common.Address{1}) {
		t.Error("a tenth is a crowd")
	}
	for i := range 10 {
		for range 100 {
			if err := add(nil, string(rune('a'+i))); err == nil {
				taken++
			} else if refusedAs(err) != rpc.Overloaded.ID {
				t.Fatal(err)
			}
		}
	}
	if taken != 500 || !p.Crowded(common.Address{1}) || p.Crowded(named) {
		t.Errorf("newcomers have %d orders, want the half; crowded %v, for who has a name %v", taken,
			p.Crowded(common.Address{1}), p.Crowded(named))
	}
	for i := range 500 {
		if err := add(&named, "203.0.113.7"); err != nil {
			t.Fatalf("who has a name has no room for order %d: %v", i, err)
		}
	}
	p.Block(at, rpc.Head{Number: 130, Hash: common.Hash{2}}, nil)
	if p.newcomers != 0 || len(p.sources) != 0 {
		t.Errorf("%d newcomers, %d sources are left when nobody is", p.newcomers, len(p.sources))
	}
}
