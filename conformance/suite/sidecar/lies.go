package sidecar

import (
	"crypto/sha256"
	"net/http"

	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// lie makes a bid of a relay that is wrong in one way.
type lie struct {
	clause, title string
	bid           func(a *sale, relay *scripted.Relay) *builderelectra.SignedBuilderBid
}

// describeLies adds specs about getHeader, with a relay whose bid is the highest and wrong.
func describeLies(s *suite.Set) {
	for _, row := range wrongBids() {
		s.It(row.clause, row.title, func(t *suite.T) {
			a := open(t)
			honest := a.offerHonest(1, low)
			a.offer(0, a.answerBid(row.bid(a, a.relay(0))))
			a.checkHandsOn(honest)
		})
	}
	s.It("SID-HDR-15", "hands on no bid that is worth nothing", func(t *suite.T) {
		a := open(t)
		a.offerHonest(0, new(uint256.Int)) // alone, since any other bid is better
		t.Status(a.ask(nil), http.StatusNoContent)
	})
	s.It("SID-HDR-17", "hands on no bid of another fork", func(t *suite.T) {
		a := open(t)
		if !probe.Has(a.Fork - 1) {
			t.NotRun("the network is of the first fork that has bids")
		}
		honest := a.offerHonest(1, low)
		other := *a
		other.Fork--
		wrong := other.makeHonestBid(a.relay(0), "of another fork", high)
		a.offer(0, scripted.Document(other.Fork, probe.Bid(other.Fork, wrong), scripted.Negotiated))
		a.checkHandsOn(honest)
	})
}

// wrongBids returns the bids that must not be handed on. Each differs from an honest one in what
// its title says alone.
func wrongBids() []lie {
	// changed signs what has been changed, so that the change alone is wrong.
	changed := func(change func(a *sale, b *builderelectra.BuilderBid)) func(a *sale,
		relay *scripted.Relay) *builderelectra.SignedBuilderBid {
		return func(a *sale, relay *scripted.Relay) *builderelectra.SignedBuilderBid {
			bid := a.Bid(a.Payload("a lie"), relay.Key.Public, high)
			change(a, bid.Message)
			return a.sign(bid, relay.Key)
		}
	}
	return []lie{
		{"SID-HDR-10", "hands on no bid that another key has signed",
			func(a *sale, relay *scripted.Relay) *builderelectra.SignedBuilderBid {
				return a.sign(a.makeHonestBid(relay, "a lie", high), probe.DeriveBLSKey("somebody else"))
			}},
		{"SID-HDR-10", "hands on no bid whose value was changed after it was signed",
			func(a *sale, relay *scripted.Relay) *builderelectra.SignedBuilderBid {
				bid := a.makeHonestBid(relay, "a lie", low)
				bid.Message.Value = high.Clone()
				return bid
			}},
		{"SID-HDR-10", "hands on no bid with a signature of zeros",
			func(a *sale, relay *scripted.Relay) *builderelectra.SignedBuilderBid {
				bid := a.makeHonestBid(relay, "a lie", high)
				bid.Signature = phase0.BLSSignature{}
				return bid
			}},
		{"SID-HDR-11", "hands on no bid of another network",
			func(a *sale, relay *scripted.Relay) *builderelectra.SignedBuilderBid {
				other := probe.Domain(probe.DomainBuilder, phase0.Version{1, 2, 3, 4}, phase0.Root{})
				return a.Sign(a.makeHonestBid(relay, "a lie", high), relay.Key, other)
			}},
		{"SID-HDR-12", "hands on no bid of a key that is not the relay's",
			func(a *sale, _ *scripted.Relay) *builderelectra.SignedBuilderBid {
				key := probe.DeriveBLSKey("somebody else")
				return a.sign(a.Bid(a.Payload("a lie"), key.Public, high), key)
			}},
		{"SID-HDR-13", "hands on no bid on another parent", changed(func(_ *sale, b *builderelectra.BuilderBid) {
			b.Header.ParentHash[7] ^= 1
		})},
		{"SID-HDR-14", "hands on no bid for the slot before", changed(func(a *sale, b *builderelectra.BuilderBid) {
			b.Header.Timestamp -= uint64(a.t.Relays.Network.Slot.Seconds())
		})},
		{"SID-HDR-14", "hands on no bid for the slot after", changed(func(a *sale, b *builderelectra.BuilderBid) {
			b.Header.Timestamp += uint64(a.t.Relays.Network.Slot.Seconds())
		})},
		{"SID-HDR-16", "hands on no bid without transactions", changed(func(_ *sale, b *builderelectra.BuilderBid) {
			b.Header.TransactionsRoot = emptyTransactionsRoot()
		})},
	}
}

// emptyTransactionsRoot returns the hash tree root of an empty list of transactions: that of 2^20
// empty chunks, mixed with the length 0.
func emptyTransactionsRoot() (root phase0.Root) {
	const depth = 20
	var node [32]byte
	for range depth {
		node = sha256.Sum256(append(node[:], node[:]...))
	}
	return sha256.Sum256(append(node[:], make([]byte, 32)...))
}
