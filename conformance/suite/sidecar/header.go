package sidecar

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// describeHeader adds specs about GET /eth/v1/builder/header/{slot}/{parent_hash}/{pubkey}, with
// relays that do as they should.
func describeHeader(s *suite.Set) {
	for best := range scripted.Names {
		s.It("SID-HDR-01", fmt.Sprintf("hands on the best bid, of relay %s", scripted.Names[best]), func(t *suite.T) {
			a := open(t)
			want := a.offerHonest(best, high)
			a.offerHonest((best+1)%len(scripted.Names), low)
			a.offerHonest((best+2)%len(scripted.Names), mid)
			a.checkHandsOn(want)
		})
	}
	s.It("SID-HDR-01", "hands on the bid that is a wei higher, although its hash is higher too", func(t *suite.T) {
		a := open(t)
		best, other := a.makeHonestBid(a.relay(0), "block of 0", mid), a.makeHonestBid(a.relay(1), "block of 1", mid)
		which := 0
		if bytes.Compare(best.Message.Header.BlockHash[:], other.Message.Header.BlockHash[:]) < 0 {
			which = 1
		}
		want := a.offerHonest(which, new(uint256.Int).AddUint64(mid, 1))
		a.offerHonest(1-which, mid)
		a.checkHandsOn(want)
	})
	s.It("SID-HDR-02", "hands on the bid of one relay alone", func(t *suite.T) {
		a := open(t)
		a.checkHandsOn(a.offerHonest(2, low))
	})
	s.It("SID-HDR-03", "answers 204 when no relay has a bid", func(t *suite.T) {
		answer := open(t).ask(nil)
		t.Status(answer, http.StatusNoContent)
		t.Check(len(answer.Body) == 0, "no body", answer)
	})
	s.It("SID-HDR-04", "asks each relay for the same auction", func(t *suite.T) {
		a := open(t)
		a.prepareHandsOn(a.offerHonest(0, low))
		for _, relay := range t.Relays.All {
			heard := relay.Heard(scripted.Header, a.Parent[:])
			t.Check(len(heard) > 0, "a request for the header at relay "+relay.Name, "none")
			t.Check(strings.EqualFold(heard[0].Path, a.path()), a.path(), heard[0].Path)
		}
	})
	s.It("SID-HDR-05", "changes nothing of the bid", func(t *suite.T) {
		a := open(t)
		want := a.offerHonest(1, mid)
		got := a.header()
		a.checkSame(want, got)
		one, errOne := probe.Bid(a.Fork, want).MarshalSSZ()
		other, errOther := probe.Bid(a.Fork, got).MarshalSSZ()
		t.Check(errOne == nil && errOther == nil && bytes.Equal(one, other), "the relay's bid with its signature", "another")
	})
	s.It("SID-HDR-06", "takes the lower hash of two equal bids", func(t *suite.T) {
		a := open(t)
		first, second := a.offerHonest(0, mid), a.offerHonest(1, mid)
		if bytes.Compare(second.Message.Header.BlockHash[:], first.Message.Header.BlockHash[:]) < 0 {
			first = second
		}
		a.checkHandsOn(first)
	})
	for _, row := range []struct{ title, slot, parent, key string }{
		{title: "refuses a slot of letters", slot: "abc"},
		{title: "refuses a slot beyond 64 bits", slot: "18446744073709551616"},
		{title: "refuses a hash of 31 bytes", parent: "0x" + strings.Repeat("12", 31)},
		{title: "refuses a key of 47 bytes", key: "0x" + strings.Repeat("12", 47)},
	} {
		s.It("SID-HDR-07", row.title, func(t *suite.T) {
			a := open(t)
			a.prepareHandsOn(a.offerHonest(0, low)) // the right request has a bid
			parts := strings.Split(a.path(), "/")
			for i, part := range []string{row.slot, row.parent, row.key} {
				if part != "" {
					parts[len(parts)-3+i] = part
				}
			}
			answer := t.Get(client(t), strings.Join(parts, "/"))
			t.Status(answer, http.StatusBadRequest, http.StatusNotFound)
			if answer.Status == http.StatusNotFound {
				t.Lenient("404 in place of 400")
			}
		})
	}
	s.It("SID-HDR-08", "hands on no bid below the lowest that is wanted", func(t *suite.T) {
		a := open(t)
		a.offerHonest(0, new(uint256.Int).SubUint64(minBidWei(t), 1))
		t.Status(a.ask(nil), http.StatusNoContent)
	})
	s.It("SID-HDR-09", "hands on the lowest bid that is wanted", func(t *suite.T) {
		a := open(t)
		a.checkHandsOn(a.offerHonest(0, minBidWei(t)))
	})
}

// minBidWei is the lowest bid that the sidecar is configured to hand on.
func minBidWei(t *suite.T) *uint256.Int {
	value, err := uint256.FromDecimal(t.Target.Sidecar.MinBidWei)
	t.Ready(err, "read the lowest bid")
	return value
}
