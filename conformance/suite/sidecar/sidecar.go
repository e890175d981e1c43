// Package sidecar has the specs of the proposer's side of the auction, whose clients ask relays: of
// a sidecar, which stands between a beacon node and several relays, and of a consensus client with
// validators (consensus.go). The suite asks a sidecar in the beacon node's place, and its relays
// answer as the spec says.
//
//	spec ─getHeader, getPayload, registrations─▶ sidecar under test ──▶ scripted relays a, b, c ◀─script─ spec
package sidecar

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// Specs adds all specs of sidecars to a set.
func Specs(s *suite.Set) {
	s.Sane("sidecar", checkWorld)
	for _, add := range []func(*suite.Set){describeStatus, describeRegistering, describeHeader, describeLies,
		describeFailures, describeTiming, describeEncodings, describePayload, describeRevealedPayloads} {
		add(s)
	}
}

const (
	jsonType      = "application/json"
	sszType       = "application/octet-stream"
	versionHeader = "Eth-Consensus-Version"

	statusPath    = "/eth/v1/builder/status"
	validatorPath = "/eth/v1/builder/validators"
	payloadPath   = "/eth/v1/builder/blinded_blocks"
	payloadPathV2 = "/eth/v2/builder/blinded_blocks"
)

// Values of bids, which are above usual lowest bids.
var (
	low  = milliEther(20)
	mid  = milliEther(30)
	high = milliEther(40)
)

func milliEther(n uint64) *uint256.Int {
	return new(uint256.Int).Mul(uint256.NewInt(n), uint256.NewInt(1e15))
}

// sale is an auction of a spec with the relays that bid in it. Its parent is used by no other spec,
// so that relays tell its requests from others.
type sale struct {
	scripted.Auction

	t *suite.T
}

// inSlot is how far a slot may have run when a spec begins to ask: sidecars need not ask relays
// later than some time in the slot, which for mev-boost are 2 s.
const inSlot = time.Second

// open opens an auction of the slot that runs. It waits for the next slot if little is left of
// this one.
func open(t *suite.T) *sale {
	n := t.Relays.Network
	now := time.Now()
	slot := n.At(now)
	if now.Sub(n.Start(slot)) > min(inSlot, n.Slot/2) {
		slot++
		t.Until(n.Start(slot))
	}
	return openIn(t, slot)
}

// openIn opens an auction of a slot.
func openIn(t *suite.T, slot phase0.Slot) *sale {
	n := t.Relays.Network
	s := &sale{t: t, Auction: scripted.Auction{Slot: slot, Timestamp: n.Start(slot), Fork: n.Fork}}
	_, _ = rand.Read(s.Parent[:]) // never fails; two runs may share relays, so that no seed is used
	s.Proposer = probe.DeriveBLSKey(fmt.Sprintf("proposer on %#x", s.Parent[:]))
	return s
}

// relay returns the scripted relay with this index.
func (s *sale) relay(index int) *scripted.Relay { return s.t.Relays.All[index] }

// makeHonestBid makes a valid bid of a relay for a block with this name.
func (s *sale) makeHonestBid(relay *scripted.Relay, block string,
	valueWei *uint256.Int) *builderelectra.SignedBuilderBid {
	return s.sign(s.Bid(s.Payload(block), relay.Key.Public, valueWei), relay.Key)
}

// sign signs a bid as relays do.
func (s *sale) sign(bid *builderelectra.SignedBuilderBid, key *probe.BLSKey) *builderelectra.SignedBuilderBid {
	return s.Sign(bid, key, s.t.Relays.Network.BuilderDomain())
}

// offer has a relay answer this auction's getHeader.
func (s *sale) offer(index int, answer scripted.Answer) {
	s.relay(index).On(scripted.Header, s.Parent[:], answer)
}

// offerHonest has a relay offer an honest bid for a block of its own. It returns the bid.
func (s *sale) offerHonest(index int, valueWei *uint256.Int) *builderelectra.SignedBuilderBid {
	bid := s.makeHonestBid(s.relay(index), fmt.Sprintf("block of %d", index), valueWei)
	s.offer(index, s.answerBid(bid))
	return bid
}

// answerBid answers with a bid.
func (s *sale) answerBid(bid *builderelectra.SignedBuilderBid) scripted.Answer {
	return scripted.Document(s.Fork, probe.Bid(s.Fork, bid), scripted.Negotiated)
}

func client(t *suite.T) *probe.Client { return t.Client(t.Target.Sidecar.URL) }

// path is the auction's getHeader.
func (s *sale) path() string {
	return fmt.Sprintf("/eth/v1/builder/header/%d/%#x/%#x", s.Slot, s.Parent[:], s.Proposer.Public[:])
}

// ask asks for a header with the given headers, and with those that beacon nodes send.
func (s *sale) ask(header map[string]string) *probe.Answer {
	all := map[string]string{"Accept": jsonType}
	for name, value := range header {
		all[name] = value
	}
	return s.t.Do(client(s.t), probe.Request{Method: http.MethodGet, Path: s.path(), Header: all})
}

// header returns the bid that the sidecar hands on; nil if there is none.
func (s *sale) header() *builderelectra.SignedBuilderBid {
	answer := s.ask(nil)
	s.t.Status(answer, http.StatusOK, http.StatusNoContent)
	if answer.Status == http.StatusNoContent {
		return nil
	}
	return s.read(answer)
}

// read decodes a bid in JSON.
func (s *sale) read(answer *probe.Answer) *builderelectra.SignedBuilderBid {
	var envelope struct {
		Version string          `json:"version"`
		Data    json.RawMessage `json:"data"`
	}
	err := answer.JSON(&envelope)
	s.t.Check(err == nil && envelope.Data != nil, "an object with version and data", answer)
	bid, err := probe.ReadBid(s.Fork, jsonType, envelope.Data)
	s.t.Check(err == nil, "a signed builder bid", err)
	return bid
}

// checkHandsOn fails the spec unless the sidecar hands this bid on.
func (s *sale) checkHandsOn(want *builderelectra.SignedBuilderBid) {
	s.checkSame(want, s.header())
}

// checkSame fails the spec unless a bid is the wanted one.
func (s *sale) checkSame(want, got *builderelectra.SignedBuilderBid) {
	s.t.Check(got != nil, "the bid of "+want.Message.Value.Dec()+" wei", "204, no bid")
	s.t.Check(got.Message.Header.BlockHash == want.Message.Header.BlockHash, "the bid of "+want.Message.Value.Dec()+" wei",
		"that of "+got.Message.Value.Dec()+" wei")
}

// prepareHandsOn ends the spec as inconclusive unless the sidecar hands this bid on.
func (s *sale) prepareHandsOn(want *builderelectra.SignedBuilderBid) {
	answer := s.ask(nil)
	s.t.Prepared(answer, "ask for the header of an honest bid", http.StatusOK)
	if got := s.read(answer); got.Message.Header.BlockHash != want.Message.Header.BlockHash {
		s.t.Inconclusive("the sidecar hands on another bid than the honest one")
	}
}

// refusal fails the spec unless an answer is a refusal of the target with one JSON object.
func refusal(t *suite.T, answer *probe.Answer, statuses ...int) {
	t.Status(answer, statuses...)
	var message struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	err := answer.JSON(&message)
	t.Check(err == nil && message.Code == answer.Status && message.Message != "",
		"an object with code, which is the status, and message", answer)
}

// media returns the media type of an answer.
func media(answer *probe.Answer) string {
	kind, _, _ := strings.Cut(answer.Header.Get("Content-Type"), ";")
	return kind
}
