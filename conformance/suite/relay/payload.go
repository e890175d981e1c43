package relay

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	builderfulu "github.com/attestantio/go-builder-client/api/fulu"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/internal/eth"
)

const (
	payloadPath   = "/eth/v1/builder/blinded_blocks"
	payloadPathV2 = "/eth/v2/builder/blinded_blocks"
)

// domain returns the domain of a purpose in the fork of the slot.
func (a *auction) domain(purpose phase0.DomainType) phase0.Domain {
	_, version := a.t.World.Facts.ForkAt(a.slot.Slot)
	return a.domainOf(purpose, version)
}

func (a *auction) domainOf(purpose phase0.DomainType, named string) phase0.Domain {
	var version phase0.Version
	copy(version[:], unhex(named))
	var validators phase0.Root
	copy(validators[:], unhex(a.t.World.Facts.GenesisValidatorsRoot))
	return probe.Domain(purpose, version, validators)
}

// makeBlinded makes the blinded block of a bid: the beacon node's local block with the bid's header
// in place of its payload. It is unsigned.
func (a *auction) makeBlinded(bid *builderelectra.SignedBuilderBid) *apielectra.SignedBlindedBeaconBlock {
	t := a.t
	var epoch phase0.Root
	binary.LittleEndian.PutUint64(epoch[:], uint64(a.slot.Slot)/t.World.Facts.SlotsPerEpoch)
	reveal := a.proposer.Sign(probe.SigningRoot(epoch, a.domain(probe.DomainRandao)))
	answer, err := probe.NewClient(t.World.Facts.BeaconURL, nil, 10*time.Second).Do(t, probe.Request{
		Method: http.MethodGet, Path: fmt.Sprintf("/eth/v3/validator/blocks/%d?randao_reveal=%#x", a.slot.Slot, reveal[:]),
		Header: map[string]string{"Accept": sszType},
	})
	t.Ready(err, "ask for a local block")
	local, err := probe.ReadLocal(a.fork(), answer.Body)
	t.Ready(err, "read the local block "+answer.String())
	block := &apielectra.SignedBlindedBeaconBlock{Message: local.Blinded()}
	block.Message.Body.ExecutionPayloadHeader = bid.Message.Header
	block.Message.Body.BlobKZGCommitments, block.Message.Body.ExecutionRequests = bid.Message.BlobKZGCommitments,
		bid.Message.ExecutionRequests
	return block
}

// signBlind signs a blinded block with a key.
func (a *auction) signBlind(block *apielectra.SignedBlindedBeaconBlock,
	key *probe.BLSKey) *apielectra.SignedBlindedBeaconBlock {
	root, err := probe.BlindedRoot(a.fork(), block.Message)
	a.t.Ready(err, "hash a blinded block")
	block.Signature = key.Sign(probe.SigningRoot(root, a.domain(probe.DomainProposer)))
	return block
}

// ask sends a signed blinded block as JSON.
func (a *auction) ask(path string, block *apielectra.SignedBlindedBeaconBlock) *probe.Answer {
	request := post(path, jsonType, encode(a.t, probe.Blinded(a.fork(), block)))
	request.Header["Eth-Consensus-Version"] = a.fork().String()
	return a.t.Do(proposerAPI(a.t), request)
}

// askSSZ sends a signed blinded block as SSZ. The answer comes as JSON.
func (a *auction) askSSZ(path string, block *apielectra.SignedBlindedBeaconBlock) *probe.Answer {
	raw, err := probe.Blinded(a.fork(), block).MarshalSSZ()
	a.t.Ready(err, "encode a blinded block")
	request := post(path, sszType, raw)
	request.Header["Eth-Consensus-Version"], request.Header["Accept"] = a.fork().String(), jsonType
	return a.t.Do(proposerAPI(a.t), request)
}

// prepareWon makes an auction in which the proposer has received a bid. It returns the bid's
// submission, and the signed blinded block that requests its payload.
func (r *specs) prepareWon(t *suite.T, blobs int) (*auction, *submission, *apielectra.SignedBlindedBeaconBlock) {
	return r.prepareWonFor(t, blobs, 1000)
}

// prepareWonFor is prepareWon for a bid of the given value in gwei.
func (r *specs) prepareWonFor(t *suite.T, blobs int,
	value uint64) (*auction, *submission, *apielectra.SignedBlindedBeaconBlock) {
	a := r.openToPropose(t)
	s := a.prepareSubmitted(a.blockWith("a", gwei(value), blobs, gasLimit))
	return a, s, a.signBlind(a.makeBlinded(a.prepareServed(s)), a.proposer)
}

// readPayload decodes a payload and its blobs. It fails the spec unless the answer is 200 with
// both.
func (a *auction) readPayload(answer *probe.Answer) *builderfulu.ExecutionPayloadAndBlobsBundle {
	t := a.t
	t.Status(answer, http.StatusOK)
	var envelope struct {
		Data json.RawMessage `json:"data"`
	}
	err := answer.JSON(&envelope)
	t.Check(err == nil && envelope.Data != nil, "an object with data", answer)
	both, err := probe.ReadPayload(a.fork(), jsonType, envelope.Data)
	t.Check(err == nil, "a payload and its blobs", err)
	return both
}

// checkPayloadOf fails the spec unless the payload is the one of the submission.
func checkPayloadOf(t *suite.T, both *builderfulu.ExecutionPayloadAndBlobsBundle, s *submission) {
	want, err := probe.PayloadRoot(s.a.fork(), s.ExecutionPayload)
	t.Ready(err, "hash a payload")
	got, err := probe.PayloadRoot(s.a.fork(), both.ExecutionPayload)
	t.Check(err == nil && got == want, fmt.Sprintf("the payload with the root %#x of the header", want),
		fmt.Sprintf("%#x", got))
}

// checkBlobs fails the spec unless the blobs are those of the submission.
func checkBlobs(t *suite.T, both *builderfulu.ExecutionPayloadAndBlobsBundle, s *submission) {
	want, err := s.BlobsBundle.HashTreeRoot()
	t.Ready(err, "hash blobs")
	got, err := both.BlobsBundle.HashTreeRoot()
	t.Check(err == nil && got == want, "all blobs with their commitments and proofs, in their order",
		fmt.Sprintf("%d blobs, %d commitments, %d proofs",
			len(both.BlobsBundle.Blobs), len(both.BlobsBundle.Commitments), len(both.BlobsBundle.Proofs)))
}

// waitPublished waits until the world's chain has the block.
func (a *auction) waitPublished(s *submission) error {
	client := probe.NewClient(a.t.World.Facts.BeaconURL, nil, 5*time.Second)
	return a.t.Eventually(a.t.Target.Budgets.Settle(), func() error {
		answer, err := client.Do(a.t, probe.Request{Method: http.MethodGet, Path: fmt.Sprintf("/eth/v2/beacon/blocks/%d",
			a.slot.Slot)})
		if err != nil {
			return err
		}
		if !strings.Contains(string(answer.Body), s.Message.BlockHash.String()) {
			return fmt.Errorf("the chain's block of slot %d is another, or none", a.slot.Slot)
		}
		return nil
	})
}

// checkHidden fails the spec unless the answer is a refusal that reveals nothing.
func checkHidden(t *suite.T, answer *probe.Answer, s *submission) {
	t.Status(answer, http.StatusBadRequest)
	checkRevealsNothing(t, answer, s)
}

// checkRevealsNothing fails the spec if the answer contains a transaction of the payload.
func checkRevealsNothing(t *suite.T, answer *probe.Answer, s *submission) {
	for _, tx := range s.ExecutionPayload.Transactions {
		t.Check(!strings.Contains(string(answer.Body), fmt.Sprintf("%x", []byte(tx))), "no transaction of the payload",
			"one is in the answer")
	}
}

// describePayload adds specs about POST /eth/v1/builder/blinded_blocks and
// /eth/v2/builder/blinded_blocks.
func describePayload(r *specs) {
	r.It("REL-PAY-01", "reveals the payload of the header", func(t *suite.T) {
		a, s, block := r.prepareWon(t, 0)
		checkPayloadOf(t, a.readPayload(a.ask(payloadPath, block)), s)
	})
	r.It("REL-PAY-02", "publishes without a body on v2", func(t *suite.T) {
		a, s, block := r.prepareWon(t, 0)
		answer := a.ask(payloadPathV2, block)
		if answer.Status == http.StatusNotFound {
			t.Unsupported("404 to v2")
		}
		t.Status(answer, http.StatusAccepted)
		t.Check(len(answer.Body) == 0, "no body", answer)
		err := a.waitPublished(s)
		t.Check(err == nil, "the block on the chain", err)
	})
	r.It("REL-PAY-02", "publishes a block in SSZ on v2", func(t *suite.T) {
		a, s, block := r.prepareWon(t, 0)
		answer := a.askSSZ(payloadPathV2, block)
		if answer.Status == http.StatusNotFound {
			t.Unsupported("404 to v2")
		}
		allowUnsupported(t, answer, "SSZ")
		t.Status(answer, http.StatusAccepted)
		err := a.waitPublished(s)
		t.Check(err == nil, "the block on the chain", err)
	})
	r.It("REL-PAY-03", "reveals nothing to another key, neither before nor after the reveal", func(t *suite.T) {
		a, s, block := r.prepareWon(t, 0)
		right := *block
		forged := a.signBlind(block, probe.DeriveBLSKey("somebody else"))
		checkHidden(t, a.ask(payloadPath, forged), s)
		t.Prepared(a.prepare().ask(payloadPath, &right), "get the payload", http.StatusOK)
		checkHidden(t, a.ask(payloadPath, forged), s)
	})
	r.It("REL-PAY-03", "reveals nothing for a signature under the builder domain", func(t *suite.T) {
		a, s, block := r.prepareWon(t, 0)
		root, err := probe.BlindedRoot(a.fork(), block.Message)
		t.Ready(err, "hash a blinded block")
		block.Signature = a.proposer.Sign(probe.SigningRoot(root, builderDomain(t.World.Facts)))
		checkHidden(t, a.ask(payloadPath, block), s)
	})
	r.It("REL-PAY-04", "refuses a header that it never served", func(t *suite.T) {
		a, s, block := r.prepareWon(t, 0)
		block.Message.Body.ExecutionPayloadHeader.BlockHash[3] ^= 1
		checkHidden(t, a.ask(payloadPath, a.signBlind(block, a.proposer)), s)
	})
	r.It("REL-PAY-05", "reveals one block of a slot", func(t *suite.T) {
		a, first, second, high := r.prepareTwoBlocks(t)
		t.Prepared(a.prepare().ask(payloadPath, first), "get the first payload", http.StatusOK)
		checkHidden(t, a.ask(payloadPath, second), high)
	})
	r.It("REL-PAY-05", "takes no second block of a slot by version 2", func(t *suite.T) {
		a, first, second, high := r.prepareTwoBlocks(t)
		t.Prepared(a.ask(payloadPath, first), "get the first payload", http.StatusOK)
		answer := a.ask(payloadPathV2, second)
		if answer.Status == http.StatusNotFound {
			t.Unsupported("404 to v2")
		}
		checkHidden(t, answer, high)
	})
	r.It("REL-PAY-05", "reveals no second block of a slot that comes in SSZ", func(t *suite.T) {
		a, first, second, high := r.prepareTwoBlocks(t)
		answer := a.prepare().askSSZ(payloadPath, first)
		allowUnsupported(t, answer, "SSZ")
		t.Prepared(answer, "get the first payload", http.StatusOK)
		checkHidden(t, a.askSSZ(payloadPath, second), high)
	})
	r.It("REL-PAY-06", "reveals the same block again", func(t *suite.T) {
		a, s, block := r.prepareWon(t, 0)
		t.Prepared(a.prepare().ask(payloadPath, block), "get the payload", http.StatusOK)
		checkPayloadOf(t, a.readPayload(a.ask(payloadPath, block)), s)
	})
	r.It("REL-PAY-06", "reveals the same block each time", func(t *suite.T) {
		a, s, block := r.prepareWon(t, 0)
		for range 2 {
			t.Prepared(a.ask(payloadPath, block), "get the payload", http.StatusOK)
		}
		for range 2 {
			checkPayloadOf(t, a.readPayload(a.ask(payloadPath, block)), s)
		}
	})
	r.It("REL-PAY-07", "publishes what it reveals", func(t *suite.T) {
		a, s, block := r.prepareWon(t, 0)
		t.Prepared(a.prepare().ask(payloadPath, block), "get the payload", http.StatusOK)
		err := a.waitPublished(s)
		t.Check(err == nil, "the block on the chain", err)
	})
	r.It("REL-PAY-08", "reveals two blobs, each with its own commitment and proofs", func(t *suite.T) {
		requireFork(t, eth.Deneb, "blobs")
		a, s, block := r.prepareWon(t, 2)
		both := a.readPayload(a.ask(payloadPath, block))
		checkPayloadOf(t, both, s)
		checkBlobs(t, both, s)
	})
	r.It("REL-PAY-09", "answers 415 to text/html", func(t *suite.T) {
		t.Status(t.Do(proposerAPI(t), post(payloadPath, "text/html", []byte("{}"))), http.StatusUnsupportedMediaType)
	})
	r.It("REL-PAY-10", "refuses what is no blinded block", func(t *suite.T) {
		for _, body := range []string{"{}", "[]", `{"message":{},"signature":"0x00"}`, "x"} {
			t.Status(t.Do(proposerAPI(t), post(payloadPath, jsonType, []byte(body))), http.StatusBadRequest)
		}
		if t.World == nil {
			return
		}
		a, s, block := r.prepareWon(t, 0)
		request := post(payloadPath, jsonType, append(encode(t, probe.Blinded(a.fork(), block)), '}'))
		request.Header["Eth-Consensus-Version"] = a.fork().String()
		checkHidden(t, t.Do(proposerAPI(t), request), s)
	})
	r.It("REL-PAY-11", "reads SSZ", func(t *suite.T) {
		a, s, block := r.prepareWon(t, 0)
		answer := a.askSSZ(payloadPath, block)
		allowUnsupported(t, answer, "SSZ")
		checkPayloadOf(t, a.readPayload(answer), s)
	})
	r.It("REL-PAY-12", "names the fork", func(t *suite.T) {
		a, _, block := r.prepareWon(t, 0)
		answer := a.ask(payloadPath, block)
		t.Prepared(answer, "get the payload", http.StatusOK)
		var envelope struct {
			Version string `json:"version"`
		}
		err := answer.JSON(&envelope)
		t.Check(err == nil && envelope.Version == a.fork().String(), "version "+a.fork().String(), envelope.Version)
	})
	r.It("REL-PAY-13", "refuses another proposer's index", func(t *suite.T) {
		a, s, block := r.prepareWon(t, 0)
		block.Message.ProposerIndex++
		checkHidden(t, a.ask(payloadPath, a.signBlind(block, a.proposer)), s)
	})
	r.It("REL-PAY-15", "refuses other commitments", func(t *suite.T) {
		requireFork(t, eth.Deneb, "blobs")
		a, s, block := r.prepareWon(t, 0)
		block.Message.Body.BlobKZGCommitments = []deneb.KZGCommitment{{0xc0}}
		checkHidden(t, a.ask(payloadPath, a.signBlind(block, a.proposer)), s)
	})
	r.It("REL-PAY-15", "refuses as many commitments that are others", func(t *suite.T) {
		requireFork(t, eth.Deneb, "blobs")
		a, s, block := r.prepareWon(t, 2)
		commitments := block.Message.Body.BlobKZGCommitments
		commitments[0], commitments[1] = commitments[1], commitments[0]
		checkHidden(t, a.ask(payloadPath, a.signBlind(block, a.proposer)), s)
		commitments[0][7] ^= 1
		checkHidden(t, a.ask(payloadPath, a.signBlind(block, a.proposer)), s)
	})
	r.It("REL-PAY-16", "takes no more submissions after the reveal", func(t *suite.T) {
		a, _, block := r.prepareWon(t, 0)
		late := a.block("b", gwei(2000))
		t.Prepared(a.prepare().ask(payloadPath, block), "get the payload", http.StatusOK)
		t.Status(a.submit(late), http.StatusBadRequest)
	})
	inSSZ := func(t *suite.T, blobs int) (*builderfulu.ExecutionPayloadAndBlobsBundle, *submission) {
		a, s, block := r.prepareWon(t, blobs)
		request := post(payloadPath, jsonType, encode(t, probe.Blinded(a.fork(), block)))
		request.Header["Eth-Consensus-Version"], request.Header["Accept"] = a.fork().String(), sszType
		answer := t.Do(proposerAPI(t), request)
		if answer.Status == http.StatusNotAcceptable {
			t.Unsupported("406 to SSZ")
		}
		t.Status(answer, http.StatusOK)
		both, err := probe.ReadPayload(a.fork(), sszType, answer.Body)
		t.Check(err == nil, "a payload and its blobs in SSZ", err)
		checkPayloadOf(t, both, s)
		return both, s
	}
	r.It("REL-PAY-17", "answers SSZ", func(t *suite.T) { inSSZ(t, 0) })
	r.It("REL-PAY-17", "answers SSZ with blobs", func(t *suite.T) {
		requireFork(t, eth.Deneb, "blobs")
		both, s := inSSZ(t, 2)
		checkBlobs(t, both, s)
	})
	r.It("REL-PAY-18", "leaves the slot open after a refusal", func(t *suite.T) {
		a, s, block := r.prepareWon(t, 0)
		wrong := *block
		t.Prepared(a.prepare().ask(payloadPath, a.signBlind(&wrong, probe.DeriveBLSKey("somebody else"))),
			"ask with a wrong signature",
			http.StatusBadRequest)
		checkPayloadOf(t, a.readPayload(a.ask(payloadPath, block)), s)
	})
	r.It("REL-PAY-20", "reveals a block that the beacon node has from somebody else", func(t *suite.T) {
		a, s, block := r.prepareWon(t, 0)
		_, err := t.World.Overtake(t, a.slot.Slot)
		t.Ready(err, "have somebody else publish the block first")
		checkPayloadOf(t, a.readPayload(a.ask(payloadPath, block)), s)
		err = waitListed(t, deliveredPath, "block_hash="+s.Message.BlockHash.String())
		t.Check(err == nil, "the delivery in the data API", err)
		times, err := t.World.Overtake(t, a.slot.Slot)
		t.Ready(err, "ask the world how often somebody was faster")
		if times == 0 {
			t.Inconclusive("the relay did not ask a beacon node of the world to publish")
		}
	})
	r.It("REL-PAY-19", "does not accept on v2 what no beacon node takes", func(t *suite.T) {
		a, _, block := r.prepareWon(t, 0)
		_, err := t.World.Refuse(t, a.slot.Slot)
		t.Ready(err, "have the beacon node refuse the block")
		answer := a.ask(payloadPathV2, block)
		if answer.Status == http.StatusNotFound {
			t.Unsupported("404 to v2")
		}
		t.Check(answer.Status >= 400, "a refusal", answer)
	})
	r.It("REL-PAY-19", "reveals nothing that no beacon node takes", func(t *suite.T) {
		a, s, block := r.prepareWon(t, 0)
		_, err := t.World.Refuse(t, a.slot.Slot)
		t.Ready(err, "have the beacon node refuse the block")
		answer := a.ask(payloadPath, block)
		t.Check(answer.Status >= 400, "a refusal", answer)
		checkRevealsNothing(t, answer, s)
		times, err := t.World.Refuse(t, a.slot.Slot)
		t.Ready(err, "ask the world how often the block was refused")
		if times == 0 {
			t.Inconclusive("the relay refused before it asked a beacon node to publish: %s", answer)
		}
	})
}

// prepareTwoBlocks makes a slot of which the proposer has signed the headers of two blocks, first
// and second, and returns the submission of the second one.
func (r *specs) prepareTwoBlocks(t *suite.T) (a *auction, first, second *apielectra.SignedBlindedBeaconBlock,
	high *submission) {
	a = r.openToPropose(t)
	low := a.block("a", gwei(1000))
	high = a.block("b", gwei(2000))
	a.prepareSubmitted(low)
	first = a.signBlind(a.makeBlinded(a.prepareServed(low)), a.proposer)
	a.prepareSubmitted(high)
	second = a.signBlind(a.makeBlinded(a.prepareServed(high)), a.proposer)
	return a, first, second, high
}
