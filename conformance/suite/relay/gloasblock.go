package relay

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

const beaconBlocksPath = "/eth/v1/builder/beacon_blocks"

// beaconNode returns a client of the world's beacon node, which records nothing.
func (a sale) beaconNode() *probe.Client {
	return probe.NewClient(a.t.World.Facts.BeaconURL, nil, 10*time.Second).By(a.t.Clock())
}

// makeBlock makes the block of a bid: the beacon node's local block with the bid in place of its
// own. It waits for the slot, and the block is unsigned.
func (a sale) makeBlock(bid *gloas.SignedExecutionPayloadBid) *gloas.SignedBeaconBlock {
	t := a.t
	t.Until(a.start())
	var epoch phase0.Root
	binary.LittleEndian.PutUint64(epoch[:], uint64(a.slot.Slot)/t.World.Facts.SlotsPerEpoch)
	reveal := a.proposer.Sign(probe.SigningRoot(epoch, a.domain(probe.DomainRandao)))
	config, err := gloas.Mainnet.BuilderConfig.Encode(new(gloas.BuilderConfig))
	t.Ready(err, "encode a builder config")
	request := versioned(fmt.Sprintf("/eth/v4/validator/blocks/%d?randao_reveal=%#x", a.slot.Slot, reveal[:]), sszType,
		eth.Gloas.String(), config)
	request.Header["Accept"] = sszType
	answer, err := a.beaconNode().Do(t, request)
	t.Ready(err, "ask for a local block")
	block, err := gloas.Mainnet.BeaconBlock.Decode(answer.Body)
	t.Ready(err, "read the local block "+answer.String())
	block.Body.SignedExecutionPayloadBid = bid
	return &gloas.SignedBeaconBlock{Message: block}
}

// signBlock signs a block as it is now.
func (a sale) signBlock(block *gloas.SignedBeaconBlock, key *probe.BLSKey) *gloas.SignedBeaconBlock {
	block.Signature = key.Sign(probe.SigningRoot(a.blockRoot(block), a.domain(probe.DomainProposer)))
	return block
}

func (a sale) blockRoot(block *gloas.SignedBeaconBlock) phase0.Root {
	root, err := gloas.Mainnet.BeaconBlock.Root(block.Message)
	a.t.Ready(err, "hash a block")
	return root
}

func (a sale) blockSSZ(block *gloas.SignedBeaconBlock) []byte {
	raw, err := gloas.Mainnet.SignedBeaconBlock.Encode(block)
	a.t.Ready(err, "encode a block")
	return raw
}

// hand sends a signed block to the target in SSZ.
func (a sale) hand(block *gloas.SignedBeaconBlock) *probe.Answer {
	return a.t.Do(proposerAPI(a.t), versioned(beaconBlocksPath, sszType, eth.Gloas.String(), a.blockSSZ(block)))
}

// prepareWonGloas makes a slot in which the proposer has signed a block with the target's bid.
func (r *specs) prepareWonGloas(t *suite.T, order world.Order) (sale, *offered, *gloas.SignedBeaconBlock) {
	a := r.openGloas(t, world.Wanted{Propose: true})
	o := a.prepareOffered(a.offerInOrder("a", gwei(1000), order))
	return a, o, a.signBlock(a.makeBlock(a.prepareSold(o)), a.proposer)
}

// envelopes returns what the target has sent to the beacon node of the slot.
func (a sale) envelopes() []world.Envelope {
	list, err := a.t.World.Envelopes(a.t, a.slot.Slot)
	a.t.Ready(err, "ask the world for envelopes")
	return list
}

const errNoEnvelope = plainError("no envelope has come to the beacon node")

// checkRevealed fails the spec unless an envelope comes that the beacon node takes, within the
// slot.
func (a sale) checkRevealed() world.Envelope {
	var taken world.Envelope
	err := a.t.Eventually(a.t.World.Facts.Slots(1), func() error {
		for _, e := range a.envelopes() {
			if e.Status == http.StatusOK {
				taken = e
				return nil
			}
		}
		return errNoEnvelope
	})
	a.t.Check(err == nil, "an envelope that the beacon node takes", fmt.Sprint(err, ": ", statuses(a.envelopes())))
	return taken
}

func statuses(list []world.Envelope) (all []string) {
	for _, e := range list {
		all = append(all, fmt.Sprintf("%d after %d ms", e.Status, e.AtMs))
	}
	return all
}

// checkKept fails the spec if an envelope of the slot has come by its end.
func (a sale) checkKept() {
	a.t.Until(a.start().Add(a.t.World.Facts.Slots(1)))
	a.t.Check(len(a.envelopes()) == 0, "no envelope", statuses(a.envelopes()))
}

// checkOnlyOf fails the spec if an envelope of another block than this one has come by the end of
// the slot.
func (a sale) checkOnlyOf(block *gloas.SignedBeaconBlock) {
	a.t.Until(a.start().Add(a.t.World.Facts.Slots(1)))
	for _, e := range a.envelopes() {
		contents, err := e.Contents()
		a.t.Ready(err, "read an envelope")
		got := contents.SignedExecutionPayloadEnvelope.Message.BeaconBlockRoot
		a.t.Check(got == a.blockRoot(block), "no envelope but that of the right block", got)
	}
}

// dueMs is when in its slot a payload is due: at half of it (consensus-specs, PAYLOAD_DUE_BPS).
func dueMs(t *suite.T) int64 { return t.World.Facts.SlotMs / 2 }

// describeGloasBlocks adds specs about POST /eth/v1/builder/beacon_blocks, and about the envelopes
// that follow.
func describeGloasBlocks(r *specs) {
	r.It("GLO-BLK-01", "takes a block with its bid in SSZ, and reveals the payload", func(t *suite.T) {
		a, o, block := r.prepareWonGloas(t, world.Order{})
		t.Status(a.hand(block), http.StatusAccepted)
		contents, err := a.checkRevealed().Contents()
		t.Check(err == nil, "an envelope", err)
		got := contents.SignedExecutionPayloadEnvelope.Message.Payload.BlockHash
		t.Check(got == o.Message.BlockHash, "the payload "+o.Message.BlockHash.String(), got)
	})
	r.It("GLO-BLK-01", "takes a block with its bid in JSON, and reveals the payload", func(t *suite.T) {
		a, _, block := r.prepareWonGloas(t, world.Order{})
		raw, err := gloas.Mainnet.SignedBeaconBlock.ToJSON(block)
		t.Ready(err, "encode a block")
		t.Status(t.Do(proposerAPI(t), versioned(beaconBlocksPath, jsonType, eth.Gloas.String(), raw)),
			http.StatusAccepted)
		a.checkRevealed()
	})
	describeWrongBlocks(r)
	r.It("GLO-BLK-03", "signs an envelope that fits the bid in all fields", func(t *suite.T) {
		a, o, block := r.prepareWonGloas(t, world.Order{Requests: true})
		t.Prepared(a.prepare().hand(block), "hand in the block", http.StatusAccepted)
		contents, err := a.checkRevealed().Contents()
		t.Check(err == nil, "an envelope", err)
		a.checkFits(contents.SignedExecutionPayloadEnvelope, o, block)
	})
	r.It("GLO-BLK-04", "answers the same block again with 202, and reveals once", func(t *suite.T) {
		a, _, block := r.prepareWonGloas(t, world.Order{})
		for range 2 {
			t.Status(a.hand(block), http.StatusAccepted)
		}
		a.checkRevealed()
		t.Status(a.hand(block), http.StatusAccepted)
		t.Until(a.start().Add(t.World.Facts.Slots(1)))
		list := a.envelopes()
		taken := slices.DeleteFunc(slices.Clone(list), func(e world.Envelope) bool { return e.Status != http.StatusOK })
		t.Check(len(taken) == 1, "one envelope that the beacon node takes", statuses(list))
	})
	describeEquivocations(r)
	r.It("GLO-BLK-07", "sends the blobs with their proofs", func(t *suite.T) {
		a, o, block := r.prepareWonGloas(t, world.Order{Blobs: 2})
		t.Prepared(a.prepare().hand(block), "hand in the block", http.StatusAccepted)
		e := a.checkRevealed()
		t.Check(e.BlobsIncluded == "true", "Eth-Blob-Data-Included: true", e.BlobsIncluded)
		t.Check(e.Version == eth.Gloas.String(), "Eth-Consensus-Version: gloas", e.Version)
		contents, err := e.Contents()
		t.Check(err == nil, "an envelope with blobs", err)
		t.Check(slices.Equal(contents.Blobs, o.BlobsBundle.Blobs) && slices.Equal(contents.KZGProofs, o.BlobsBundle.Proofs),
			"the block's blobs and proofs, in order", fmt.Sprintf("%d blobs, %d proofs", len(contents.Blobs),
				len(contents.KZGProofs)))
	})
	r.It("GLO-BLK-08", "tries again when the beacon node refuses the envelope", func(t *suite.T) {
		a, _, block := r.prepareWonGloas(t, world.Order{})
		t.Ready(t.World.RefuseEnvelopes(t, a.slot.Slot, 1), "have the beacon node refuse an envelope")
		t.Status(a.hand(block), http.StatusAccepted)
		a.checkRevealed()
	})
	r.It("GLO-BLK-06", "publishes no envelope after the payload is due", func(t *suite.T) {
		a, _, block := r.prepareWonGloas(t, world.Order{})
		t.Ready(t.World.RefuseEnvelopes(t, a.slot.Slot, 1000), "have the beacon node refuse all envelopes")
		t.Status(a.hand(block), http.StatusAccepted)
		t.Until(a.start().Add(t.World.Facts.Slots(1)))
		list := a.envelopes()
		t.Check(len(list) > 0, "an envelope", "none")
		// The attempt before the deadline may still be on its way.
		last := list[len(list)-1].AtMs
		t.Check(last < dueMs(t)+onItsWayMs, fmt.Sprintf("none after %d ms", dueMs(t)), statuses(list))
	})
	r.It("GLO-BLK-06", "reveals nothing for a block that comes when the payload is due", func(t *suite.T) {
		a, _, block := r.prepareWonGloas(t, world.Order{})
		t.Until(a.start().Add(time.Duration(dueMs(t)+onItsWayMs) * time.Millisecond))
		if answer := a.hand(block); answer.Status == http.StatusAccepted {
			t.Lenient("the block is taken, though the payload comes too late")
		}
		a.checkKept()
	})
}

// onItsWayMs is how long an envelope may take to the beacon node.
const onItsWayMs = 150

// checkFits fails the spec unless an envelope is the one that its block's bid was for
// (consensus-specs, verify_execution_payload_envelope).
func (a sale) checkFits(signed *gloas.SignedExecutionPayloadEnvelope, o *offered, block *gloas.SignedBeaconBlock) {
	t, e, p := a.t, signed.Message, signed.Message.Payload
	bid := block.Message.Body.SignedExecutionPayloadBid.Message
	requests, err := gloas.Mainnet.ExecutionRequests.Root(e.ExecutionRequests)
	t.Ready(err, "hash requests")
	want, err := gloas.Mainnet.ExecutionPayload.Root(o.ExecutionPayload)
	t.Ready(err, "hash a payload")
	got, err := gloas.Mainnet.ExecutionPayload.Root(p)
	t.Ready(err, "hash a payload")
	for _, row := range []struct {
		name      string
		want, got any
	}{
		{"beacon_block_root", a.blockRoot(block), e.BeaconBlockRoot},
		{"parent_beacon_block_root", block.Message.ParentRoot, e.ParentBeaconBlockRoot},
		{"builder_index", bid.BuilderIndex, e.BuilderIndex},
		{"block_hash", bid.BlockHash, p.BlockHash},
		{"parent_hash", bid.ParentBlockHash, p.ParentHash},
		{"prev_randao", bid.PrevRandao, phase0.Root(p.PrevRandao)},
		{"gas_limit", bid.GasLimit, p.GasLimit},
		{"slot_number", a.slot.Slot, p.SlotNumber},
		{"timestamp", a.slot.Timestamp, p.Timestamp},
		{"execution_requests_root", bid.ExecutionRequestsRoot, requests},
		{"root of the payload", want, got},
	} {
		t.Check(row.want == row.got, fmt.Sprintf("%s %v", row.name, row.want), row.got)
	}
	key, err := probe.ParseBLSKey(unhex(t.World.Facts.Staked.SecretKey))
	t.Ready(err, "read the staked builder's key")
	root, err := gloas.Mainnet.ExecutionPayloadEnvelope.Root(e)
	t.Ready(err, "hash an envelope")
	err = probe.VerifyBLS(key.Public, probe.SigningRoot(root, a.domain(probe.DomainBeaconBuilder)), signed.Signature)
	t.Check(err == nil, "the signature of the staked builder under DOMAIN_BEACON_BUILDER", err)
}

// describeWrongBlocks adds specs about blocks that must be refused, and must not lead to an
// envelope. The right block then does.
func describeWrongBlocks(r *specs) {
	for _, row := range []struct {
		title string
		// change makes the block wrong, and says who signs it; nil is the proposer.
		change func(a sale, message *gloas.BeaconBlock, bid *gloas.SignedExecutionPayloadBid) *probe.BLSKey
	}{
		{"the bid of another builder", func(_ sale, _ *gloas.BeaconBlock, b *gloas.SignedExecutionPayloadBid) *probe.BLSKey {
			b.Message.BuilderIndex++
			return nil
		}},
		{"an unknown block hash", func(_ sale, _ *gloas.BeaconBlock, b *gloas.SignedExecutionPayloadBid) *probe.BLSKey {
			b.Message.BlockHash[4] ^= 1
			return nil
		}},
		{"a bid with another payment", func(_ sale, _ *gloas.BeaconBlock, b *gloas.SignedExecutionPayloadBid) *probe.BLSKey {
			b.Message.ExecutionPayment++
			return nil
		}},
		{"a bid with another signature", func(_ sale, _ *gloas.BeaconBlock,
			b *gloas.SignedExecutionPayloadBid) *probe.BLSKey {
			b.Signature[9] ^= 1
			return nil
		}},
		{"another proposer", func(_ sale, m *gloas.BeaconBlock, _ *gloas.SignedExecutionPayloadBid) *probe.BLSKey {
			m.ProposerIndex++
			return nil
		}},
		{"the signature of another key", func(sale, *gloas.BeaconBlock, *gloas.SignedExecutionPayloadBid) *probe.BLSKey {
			return probe.DeriveBLSKey("somebody else")
		}},
		{"another slot", func(_ sale, m *gloas.BeaconBlock, _ *gloas.SignedExecutionPayloadBid) *probe.BLSKey {
			m.Slot++
			return nil
		}},
		{"another parent", func(_ sale, m *gloas.BeaconBlock, _ *gloas.SignedExecutionPayloadBid) *probe.BLSKey {
			m.ParentRoot[3] ^= 1
			return nil
		}},
	} {
		r.It("GLO-BLK-02", "refuses a block with "+row.title, func(t *suite.T) {
			a, _, block := r.prepareWonGloas(t, world.Order{})
			message, body := *block.Message, *block.Message.Body
			bid, offer := *body.SignedExecutionPayloadBid, *body.SignedExecutionPayloadBid.Message
			bid.Message = &offer
			body.SignedExecutionPayloadBid, message.Body = &bid, &body
			key := row.change(a, &message, &bid)
			if key == nil {
				key = a.proposer
			}
			t.Status(a.hand(a.signBlock(&gloas.SignedBeaconBlock{Message: &message}, key)), http.StatusBadRequest)
			t.Check(len(a.envelopes()) == 0, "no envelope", statuses(a.envelopes()))
			t.Status(a.hand(block), http.StatusAccepted)
			a.checkRevealed()
			a.checkOnlyOf(block)
		})
	}
	r.It("GLO-BLK-09", "refuses a block of another form", func(t *suite.T) {
		a, _, block := r.prepareWonGloas(t, world.Order{})
		raw := a.blockSSZ(block)
		for _, request := range []probe.Request{
			versioned(beaconBlocksPath, sszType, eth.Gloas.String(), raw[:len(raw)-1]),
			versioned(beaconBlocksPath, sszType, eth.Gloas.String(), []byte{}),
			versioned(beaconBlocksPath, jsonType, eth.Gloas.String(), []byte(`{"message":{}}`)),
			versioned(beaconBlocksPath, sszType, eth.Fulu.String(), raw),
			versioned(beaconBlocksPath, sszType, "", raw),
		} {
			t.Status(t.Do(proposerAPI(t), request), http.StatusBadRequest)
		}
		t.Status(t.Do(proposerAPI(t), versioned(beaconBlocksPath, "text/html", eth.Gloas.String(), raw)),
			http.StatusUnsupportedMediaType)
		t.Status(a.hand(block), http.StatusAccepted)
		a.checkRevealed()
	})
}

// describeEquivocations adds specs about proposers that sign two blocks of a slot.
func describeEquivocations(r *specs) {
	second := func(a sale, block *gloas.SignedBeaconBlock) *gloas.SignedBeaconBlock {
		message, body := *block.Message, *block.Message.Body
		copy(body.Graffiti[:], "a second block")
		message.Body = &body
		return a.signBlock(&gloas.SignedBeaconBlock{Message: &message}, a.proposer)
	}
	r.It("GLO-BLK-05", "reveals for one block of a slot at most", func(t *suite.T) {
		a, _, block := r.prepareWonGloas(t, world.Order{})
		other := second(a, block)
		t.Prepared(a.prepare().hand(block), "hand in the first block", http.StatusAccepted)
		t.Status(a.hand(other), http.StatusBadRequest)
		a.checkOnlyOf(block)
	})
	r.It("GLO-BLK-10", "reveals nothing to a proposer that has published another block before", func(t *suite.T) {
		a, _, block := r.prepareWonGloas(t, world.Order{})
		published, err := a.beaconNode().Do(t, versioned("/eth/v2/beacon/blocks", sszType, eth.Gloas.String(),
			a.blockSSZ(second(a, block))))
		t.Ready(err, "publish the other block")
		t.Prepared(published, "publish the other block", http.StatusOK, http.StatusAccepted)
		t.Until(t.Now().Add(heardWithin))
		a.hand(block) // whether it is taken is not asked
		a.checkKept()
	})
}

// heardWithin is how long a relay may take until it hears of a block from its beacon node.
const heardWithin = 100 * time.Millisecond
