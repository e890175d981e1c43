package proposer

import (
	"strings"
	"testing"

	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

func TestEmptyTransactionsRoot(t *testing.T) {
	header, err := payload.HeaderOf(eth.Bellatrix, new(payload.Payload))
	if err != nil || header.TransactionsRoot != emptyTransactions {
		t.Errorf("%#x, %v", header.TransactionsRoot, err)
	}
}

func TestCheckBid(t *testing.T) {
	for _, fork := range eth.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			n := newNetwork(t, fork)
			built, parent, stranger := n.build(t, 1), phase0.Hash32(n.node.Genesis().Hash()), bls.Derive("stranger", 1)
			// changed is a bid with a valid signature over a changed header.
			changed := func(change func(*payload.Header)) *builderspec.VersionedSignedBuilderBid {
				header, err := payload.HeaderOf(fork, built.Payload)
				if err != nil {
					t.Fatal(err)
				}
				change(header)
				return sign(t, n.spec, relayKey, bidOf(built, header, uint256.NewInt(5), relayKey.PublicKey()))
			}
			unsigned := bidOf(built, &payload.Header{
				ParentHash: parent, Timestamp: built.Payload.Timestamp, BaseFeePerGas: uint256.NewInt(1), ExtraData: []byte{},
			}, uint256.NewInt(5), relayKey.PublicKey())
			for name, c := range map[string]struct {
				bid   *builderspec.VersionedSignedBuilderBid
				slot  phase0.Slot
				relay phase0.BLSPubKey
				err   string
			}{
				"good":          {bid: offer(t, n.spec, relayKey, 5, built)},
				"any relay":     {bid: offer(t, n.spec, stranger, 5, built), relay: phase0.BLSPubKey{0: 1}},
				"another relay": {bid: offer(t, n.spec, stranger, 5, built), err: "not by the relay"},
				"no signature":  {bid: unsigned, err: "bid signature"},
				"forged": {bid: sign(t, n.spec, stranger, offer(t, n.spec, relayKey, 5, built)),
					err: "bid signature: signature does not match"},
				"worthless":      {bid: offer(t, n.spec, relayKey, 0, built), err: "worth nothing"},
				"another parent": {bid: changed(func(h *payload.Header) { h.ParentHash[3]++ }), err: "not on"},
				"no transactions": {bid: changed(func(h *payload.Header) {
					h.TransactionsRoot = emptyTransactions
				}), err: "no transactions"},
				"late":             {bid: changed(func(h *payload.Header) { h.Timestamp++ }), err: "timestamp"},
				"for another slot": {bid: offer(t, n.spec, relayKey, 5, built), slot: 2, err: "timestamp"},
				"nothing in it": {bid: &builderspec.VersionedSignedBuilderBid{Version: fork.DataVersion()},
					err: "incomplete bid"},
				"a fork of no time": {bid: &builderspec.VersionedSignedBuilderBid{}, err: "bid in a slot of " + fork.String()},
			} {
				slot, relay := max(c.slot, 1), relayKey.PublicKey()
				if c.relay != (phase0.BLSPubKey{}) {
					relay = phase0.BLSPubKey{}
				}
				bid, err := checkBid(n.spec, slot, parent, relay, c.bid)
				switch {
				case c.err == "" && (err != nil || bid.BlockHash != built.Payload.BlockHash || !bid.ValueWei.Eq(uint256.NewInt(5))):
					t.Errorf("%s: %+v, %v", name, bid, err)
				case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
					t.Errorf("%s: %v, want %q", name, err, c.err)
				}
			}
		})
	}
}

func TestBetter(t *testing.T) {
	bid := func(value uint64, hash byte) *Bid {
		return &Bid{ValueWei: uint256.NewInt(value), BlockHash: phase0.Hash32{0: hash}}
	}
	for _, c := range []struct {
		a, b *Bid
		want bool
	}{
		{bid(1, 9), nil, true}, {bid(2, 9), bid(1, 1), true}, {bid(1, 1), bid(2, 9), false}, {bid(2, 1), bid(2, 9), true},
		{bid(2, 9), bid(2, 1), false}, {bid(2, 9), bid(2, 9), false},
	} {
		if got := better(c.a, c.b); got != c.want {
			t.Errorf("%+v before %+v: %v", c.a, c.b, got)
		}
	}
}
