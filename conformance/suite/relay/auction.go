package relay

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth"
)

// auction is a slot in which a spec bids. Its values are above slot.BaseGwei, which is above all
// earlier bids of the slot.
type auction struct {
	t            *suite.T
	slot         *world.Slot
	proposer     *probe.BLSKey
	feeRecipient bellatrix.ExecutionAddress
	blocks       int
}

// open waits for a slot of a registered validator.
func (r *specs) open(t *suite.T) *auction { return r.openFor(t, world.Wanted{Kind: world.Registered}) }

// openAlone waits as open does, for a slot in which no other spec has bid or will bid.
func (r *specs) openAlone(t *suite.T) *auction {
	return r.openFor(t, world.Wanted{Kind: world.Registered, Alone: true})
}

// openToPropose waits as openAlone does. In its slot the world proposes no block, so that the spec
// can.
func (r *specs) openToPropose(t *suite.T) *auction {
	return r.openFor(t, world.Wanted{Kind: world.Registered, Propose: true})
}

func (r *specs) openFor(t *suite.T, wanted world.Wanted) *auction {
	r.registerAll(t)
	slot := r.slotFor(t, wanted)
	index := int(slot.ValidatorIndex)
	return &auction{t: t, slot: slot, proposer: r.validators(t)[index], feeRecipient: payee(index)}
}

// slotFor waits for a slot whose proposer the target lists, if it ought to. A relay that has just
// started, or that reads duties once in an epoch, may not know the next slot yet: then that slot is
// left alone.
func (r *specs) slotFor(t *suite.T, wanted world.Wanted) *world.Slot {
	for range mostUnlisted {
		slot, err := t.World.Slot(t, wanted)
		t.Ready(err, "wait for a slot")
		if wanted.Kind == world.Stranger || listsSlot(t, slot) {
			return slot
		}
	}
	t.Inconclusive("the target's list of proposers lacks %d slots in a row that are being bid for", mostUnlisted)
	return nil
}

// openPaying waits for a slot of the Restless validator for which the target lists this
// registration of it. A relay that reads registrations once in half an epoch learns late of a new
// one.
func (r *specs) openPaying(t *suite.T, registered *builderv1.SignedValidatorRegistration) *auction {
	for range mostUnlisted {
		a := r.openFor(t, world.Wanted{Kind: world.Restless, Alone: true})
		a.feeRecipient = registered.Message.FeeRecipient
		duties, err := listDuties(t)
		number := fmt.Sprint(uint64(a.slot.Slot))
		if err != nil || slices.ContainsFunc(duties, func(d duty) bool {
			return d.Slot == number && d.Entry.Message.FeeRecipient == a.feeRecipient
		}) {
			return a // an error is for the submission to show
		}
	}
	t.Inconclusive("the target lists another registration for %d slots of its validator in a row", mostUnlisted)
	return nil
}

// mostUnlisted is how many slots a spec leaves alone because the target does not list them.
const mostUnlisted = 4

// listsSlot says whether the target lists the slot within a moment. It is true as well if the list
// cannot be read: clauses about the list say so.
func listsSlot(t *suite.T, slot *world.Slot) bool {
	return t.Eventually(news, func() error {
		duties, err := listDuties(t)
		number := fmt.Sprint(uint64(slot.Slot))
		if err != nil || slices.ContainsFunc(duties, func(d duty) bool { return d.Slot == number }) {
			return nil
		}
		return errNotListed
	}) == nil
}

const errNotListed = plainError("the target does not list the slot")

// prepare returns the auction for requests that only prepare the spec (suite.T.Preparing).
func (a *auction) prepare() *auction {
	prepares := *a
	prepares.t = a.t.Preparing()
	return &prepares
}

// fork returns the fork of the slot.
func (a *auction) fork() eth.Fork {
	fork, _ := a.t.World.Facts.ForkAt(a.slot.Slot)
	return fork
}

// requireFork ends the spec as not run if the world's first fork is older than the given one,
// because its blocks do not have what the spec is about.
func requireFork(t *suite.T, fork eth.Fork, what string) {
	if !t.World.Facts.ForkOf().Includes(fork) {
		t.NotRun("blocks have %s from %s on, and the world is of %s", what, fork, t.World.Facts.Fork)
	}
}

// start returns the time at which the slot begins.
func (a *auction) start() time.Time { return a.t.World.Facts.Start(a.slot) }

// submission is a builder's block. A spec may make it wrong before it signs it.
type submission struct {
	*builderfulu.SubmitBlockRequest

	a   *auction
	key *probe.BLSKey
}

// builderKey returns the key of a builder that only this spec uses.
func (a *auction) builderKey(name string) *probe.BLSKey {
	return probe.DeriveBLSKey(fmt.Sprintf("builder %s of %s, %d, %d", name, a.t.Clause.ID, a.slot.Slot, a.slot.BaseGwei))
}

// gwei converts gwei to wei. Specs give values in gwei, which is fine enough to tell bids apart.
func gwei(n uint64) *uint256.Int { return new(uint256.Int).Mul(uint256.NewInt(n), uint256.NewInt(1e9)) }

// block makes a valid, signed block of a builder. It pays the given value on top of slot.BaseGwei.
func (a *auction) block(builder string, valueWei *uint256.Int) *submission {
	return a.blockWith(builder, valueWei, 0, gasLimit)
}

func (a *auction) blockWith(builder string, aboveWei *uint256.Int, blobs int, limit uint64) *submission {
	return a.blockInOrder(builder, aboveWei, world.Order{Slot: *a.slot, GasLimit: limit, Blobs: blobs})
}

// blockInOrder is block with more words about the block: its slot, gas limit, blobs and requests.
// The message is for the auction's slot.
func (a *auction) blockInOrder(builder string, aboveWei *uint256.Int, order world.Order) *submission {
	a.blocks++
	valueWei := new(uint256.Int).Add(aboveWei, gwei(a.slot.BaseGwei))
	order.FeeRecipient, order.PaysWei = fmt.Sprintf("%#x", a.feeRecipient[:]), valueWei.ToBig()
	order.Extra = fmt.Sprintf("%s/%s/%d", a.t.Clause.ID, builder, a.blocks)
	raw, err := a.t.World.Block(a.t, order)
	a.t.Ready(err, "build a block")
	block, err := probe.ReadSubmission(a.fork(), raw)
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

// sign signs the message as it is now.
func (s *submission) sign() *submission {
	root, err := s.Message.HashTreeRoot()
	s.a.t.Ready(err, "hash a message")
	s.Signature = s.key.Sign(probe.SigningRoot(root, builderDomain(s.a.t.World.Facts)))
	return s
}

func (s *submission) json() []byte {
	return encode(s.a.t, probe.Submission(s.a.fork(), s.SubmitBlockRequest))
}

func (s *submission) ssz() []byte {
	raw, err := probe.Submission(s.a.fork(), s.SubmitBlockRequest).MarshalSSZ()
	s.a.t.Ready(err, "encode a submission")
	return raw
}

const submitPath = "/relay/v1/builder/blocks"

// submit sends a submission as JSON.
func (a *auction) submit(s *submission) *probe.Answer {
	return a.t.Do(builderAPI(a.t), post(submitPath, jsonType, s.json()))
}

// prepareSubmitted submits a block that prepares the spec: the spec is inconclusive unless the
// block is accepted.
func (a *auction) prepareSubmitted(s *submission) *submission {
	a.prepareTaken(func() *probe.Answer { return a.prepare().submit(s) })
	return s
}

// prepareTaken sends a block until it is accepted, for as long as the relay may learn of the slot,
// and of what its proposer wants, later than the suite.
func (a *auction) prepareTaken(send func() *probe.Answer) {
	var answer *probe.Answer
	_ = a.t.Eventually(news, func() error {
		if answer = send(); answer.Status == http.StatusOK || answer.Status == http.StatusAccepted {
			return nil
		}
		return errNotTaken
	})
	a.t.Prepared(answer, "submit a valid block", http.StatusOK, http.StatusAccepted)
}

// news is how long a relay may take until it knows of a new slot.
const news = 300 * time.Millisecond

const errNotTaken = plainError("the block was not taken")

// prepareBid submits a valid block of low value. It shows that the relay accepts blocks of this
// slot, so that a later block is refused only for what is wrong with it.
func (a *auction) prepareBid() { a.prepareSubmitted(a.block("first", gwei(1))) }

func compress(t *suite.T, body []byte) []byte {
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

// header requests the bid with getHeader.
func (a *auction) header(accept string) *probe.Answer {
	return a.t.Do(proposerAPI(a.t), probe.Request{Method: http.MethodGet, Path: a.headerPath(),
		Header: map[string]string{"Accept": accept}})
}

// bid returns the bid that is served; nil if there is none.
func (a *auction) bid() *builderelectra.SignedBuilderBid {
	answer := a.header(jsonType)
	if answer.Status == http.StatusNoContent {
		return nil
	}
	a.t.Status(answer, http.StatusOK)
	return a.readBid(answer)
}

// readBid decodes a bid in JSON.
func (a *auction) readBid(answer *probe.Answer) *builderelectra.SignedBuilderBid {
	t := a.t
	var envelope struct {
		Version string          `json:"version"`
		Data    json.RawMessage `json:"data"`
	}
	err := answer.JSON(&envelope)
	t.Check(err == nil && envelope.Data != nil, "an object with version and data", answer)
	bid, err := probe.ReadBid(a.fork(), jsonType, envelope.Data)
	t.Check(err == nil, "a signed builder bid", err)
	return bid
}

// checkServed fails the spec unless the served bid is that of the submission. It returns the bid.
func (a *auction) checkServed(s *submission) *builderelectra.SignedBuilderBid {
	bid := a.bid()
	a.t.Check(bid != nil, "the bid of the submitted block", "204, no bid")
	a.t.Check(bid.Message.Header.BlockHash == s.Message.BlockHash, "the bid of block "+s.Message.BlockHash.String(),
		"that of "+bid.Message.Header.BlockHash.String())
	return bid
}

// prepareServed returns the served bid, for specs that need one as preparation. The spec is
// inconclusive unless it is that of the submission.
func (a *auction) prepareServed(s *submission) *builderelectra.SignedBuilderBid {
	answer := a.prepare().header(jsonType)
	a.t.Prepared(answer, "get the header of the submitted block", http.StatusOK)
	bid := a.readBid(answer)
	if bid.Message.Header.BlockHash != s.Message.BlockHash {
		a.t.Inconclusive("another block than the submitted one is served: %s", bid.Message.Header.BlockHash)
	}
	return bid
}

// checkTaken submits a block and fails the spec unless the answer is 200.
func (a *auction) checkTaken(s *submission) {
	a.t.Status(a.submit(s), http.StatusOK)
}

// checkRefused submits a block and fails the spec unless the answer is 400 and its bid is not
// served.
func (a *auction) checkRefused(s *submission) {
	a.t.Status(a.submit(s), http.StatusBadRequest)
	a.checkNotServed(s)
}

// checkNotServed fails the spec if the submission's bid is served.
func (a *auction) checkNotServed(s *submission) {
	bid := a.bid()
	if bid != nil {
		a.t.Check(bid.Message.Header.BlockHash != s.Message.BlockHash, "no bid of the refused block", "its bid is served")
	}
}
