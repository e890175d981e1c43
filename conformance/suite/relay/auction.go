package relay

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/form"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth"
)

// auction is a slot in which a spec bids above all that was bid in it before.
type auction struct {
	t            *suite.T
	slot         *world.Slot
	proposer     *probe.BLSKey
	feeRecipient bellatrix.ExecutionAddress
	blocks       int
}

// open waits for a slot of a registered validator.
func (r *room) open(t *suite.T) *auction { return r.openFor(t, world.Wanted{Kind: world.Registered}) }

// openAlone is open, in a slot in which nobody has bid and nobody else will.
func (r *room) openAlone(t *suite.T) *auction {
	return r.openFor(t, world.Wanted{Kind: world.Registered, Alone: true})
}

// openToPropose is openAlone, and the world leaves the slot to the spec.
func (r *room) openToPropose(t *suite.T) *auction {
	return r.openFor(t, world.Wanted{Kind: world.Registered, Propose: true})
}

func (r *room) openFor(t *suite.T, wanted world.Wanted) *auction {
	r.ready(t)
	slot, err := t.World.Slot(t, wanted)
	t.Ready(err, "wait for a slot")
	index := int(slot.ValidatorIndex)
	return &auction{t: t, slot: slot, proposer: r.validators(t)[index], feeRecipient: payee(index)}
}

// fork is the world's.
func (a *auction) fork() eth.Fork { return a.t.World.Facts.ForkOf() }

// since ends the spec if the world is of a fork that does not have yet what the spec is about.
func since(t *suite.T, fork eth.Fork, what string) {
	if !t.World.Facts.ForkOf().Includes(fork) {
		t.NotRun("blocks have %s from %s on, and the world is of %s", what, fork, t.World.Facts.Fork)
	}
}

// start is when the slot begins.
func (a *auction) start() time.Time { return a.t.World.Facts.Start(a.slot) }

// submission is a builder's block, which a spec may spoil before it signs it.
type submission struct {
	*builderfulu.SubmitBlockRequest

	a   *auction
	key *probe.BLSKey
}

// builderKey is a builder of this spec.
func (a *auction) builderKey(name string) *probe.BLSKey {
	return probe.DeriveBLSKey(fmt.Sprintf("builder %s of %s, %d, %d", name, a.t.Clause.ID, a.slot.Slot, a.slot.BaseGwei))
}

// gwei is what values are given in: enough to tell bids apart.
func gwei(n uint64) *uint256.Int { return new(uint256.Int).Mul(uint256.NewInt(n), uint256.NewInt(1e9)) }

// block is a valid block of a builder that pays a value above the slot's base; it is signed.
func (a *auction) block(builder string, valueWei *uint256.Int) *submission {
	return a.blockWith(builder, valueWei, 0, gasLimit)
}

func (a *auction) blockWith(builder string, aboveWei *uint256.Int, blobs int, limit uint64) *submission {
	a.blocks++
	valueWei := new(uint256.Int).Add(aboveWei, gwei(a.slot.BaseGwei))
	raw, err := a.t.World.Block(a.t, world.Order{
		Slot: *a.slot, FeeRecipient: fmt.Sprintf("%#x", a.feeRecipient[:]), PaysWei: valueWei.ToBig(), GasLimit: limit,
		Blobs: blobs,
		Extra: fmt.Sprintf("%s/%s/%d", a.t.Clause.ID, builder, a.blocks),
	})
	a.t.Ready(err, "build a block")
	block, err := form.ReadSubmission(a.fork(), raw)
	a.t.Ready(err, "read the world's block")
	s := &submission{SubmitBlockRequest: block, a: a, key: a.builderKey(builder)}
	p := s.ExecutionPayload
	s.Message = &builderv1.BidTrace{
		Slot: uint64(a.slot.Slot), ParentHash: a.slot.ParentHash, BlockHash: p.BlockHash, BuilderPubkey: s.key.Public,
		ProposerPubkey:       a.proposer.Public,
		ProposerFeeRecipient: a.feeRecipient, GasLimit: p.GasLimit, GasUsed: p.GasUsed, Value: valueWei.Clone(),
	}
	return s.sign()
}

// sign signs the message as it stands.
func (s *submission) sign() *submission {
	root, err := s.Message.HashTreeRoot()
	s.a.t.Ready(err, "hash a message")
	s.Signature = s.key.Sign(probe.SigningRoot(root, builderDomain(s.a.t.World.Facts)))
	return s
}

func (s *submission) json() []byte {
	return encode(s.a.t, form.Submission(s.a.fork(), s.SubmitBlockRequest))
}

func (s *submission) ssz() []byte {
	raw, err := form.Submission(s.a.fork(), s.SubmitBlockRequest).MarshalSSZ()
	s.a.t.Ready(err, "encode a submission")
	return raw
}

const submitPath = "/relay/v1/builder/blocks"

// submit sends a submission as JSON.
func (a *auction) submit(s *submission) *probe.Answer {
	return a.t.Do(builderAPI(a.t), post(submitPath, jsonType, s.json()))
}

// submitted submits what must be taken before the spec proper begins.
func (a *auction) submitted(s *submission) *submission {
	var answer *probe.Answer
	// A relay may hear of a slot a moment after the world does.
	_ = a.t.Eventually(news, func() error {
		if answer = a.submit(s); answer.Status == http.StatusOK || answer.Status == http.StatusAccepted {
			return nil
		}
		return errNotTaken
	})
	a.t.Prepared(answer, "submit a valid block", http.StatusOK, http.StatusAccepted)
	return s
}

// news is how long a relay may take to hear of a slot.
const news = 300 * time.Millisecond

const errNotTaken = plainError("the block was not taken")

// ready submits a valid block of little value, so that what is refused afterwards is refused for
// what is wrong with it.
func (a *auction) ready() { a.submitted(a.block("first", gwei(1))) }

func zipped(t *suite.T, body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(body)
	t.Ready(err, "pack a body")
	t.Ready(w.Close(), "pack a body")
	return b.Bytes()
}

func (a *auction) headerPath() string {
	return fmt.Sprintf("/eth/v1/builder/header/%d/%#x/%#x", a.slot.Slot, a.slot.ParentHash[:], a.proposer.Public[:])
}

// header asks for the bid.
func (a *auction) header(accept string) *probe.Answer {
	return a.t.Do(proposerAPI(a.t), probe.Request{Method: http.MethodGet, Path: a.headerPath(),
		Header: map[string]string{"Accept": accept}})
}

// bid is the bid that is served; nil if there is none.
func (a *auction) bid() *builderelectra.SignedBuilderBid {
	answer := a.header(jsonType)
	if answer.Status == http.StatusNoContent {
		return nil
	}
	a.t.Status(answer, http.StatusOK)
	return readBid(a.t, answer)
}

// readBid decodes a bid in JSON.
func readBid(t *suite.T, answer *probe.Answer) *builderelectra.SignedBuilderBid {
	var envelope struct {
		Version string          `json:"version"`
		Data    json.RawMessage `json:"data"`
	}
	err := answer.JSON(&envelope)
	t.Check(err == nil && envelope.Data != nil, "an object with version and data", answer)
	bid, err := form.ReadBid(t.World.Facts.ForkOf(), jsonType, envelope.Data)
	t.Check(err == nil, "a signed builder bid", err)
	return bid
}

// serves fails the spec unless the served bid is that of the submission; it returns it.
func (a *auction) serves(s *submission) *builderelectra.SignedBuilderBid {
	bid := a.bid()
	a.t.Check(bid != nil, "the bid of the submitted block", "204, no bid")
	a.t.Check(bid.Message.Header.BlockHash == s.Message.BlockHash, "the bid of block "+s.Message.BlockHash.String(),
		"that of "+bid.Message.Header.BlockHash.String())
	return bid
}

// served is serves for specs that only need a served bid to begin with.
func (a *auction) served(s *submission) *builderelectra.SignedBuilderBid {
	answer := a.header(jsonType)
	a.t.Prepared(answer, "get the header of the submitted block", http.StatusOK)
	bid := readBid(a.t, answer)
	if bid.Message.Header.BlockHash != s.Message.BlockHash {
		a.t.Inconclusive("another block than the submitted one is served: %s", bid.Message.Header.BlockHash)
	}
	return bid
}

// taken submits what must be answered with 200.
func (a *auction) taken(s *submission) {
	a.t.Status(a.submit(s), http.StatusOK)
}

// refused submits what must be refused with 400 and not be served.
func (a *auction) refused(s *submission) {
	a.t.Status(a.submit(s), http.StatusBadRequest)
	a.notServed(s)
}

// notServed fails the spec if the submission's bid is served.
func (a *auction) notServed(s *submission) {
	bid := a.bid()
	if bid != nil {
		a.t.Check(bid.Message.Header.BlockHash != s.Message.BlockHash, "no bid of the refused block", "its bid is served")
	}
}
