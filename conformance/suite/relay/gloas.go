package relay

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// sale is a slot of gloas in which a spec bids. The relay bids under the world's staked builder:
//
//	builder of the suite ─V6─▶ target ─signed bid─▶ proposer of the suite ─signed block─▶ target ─envelope─▶ beacon node of the world
type sale struct{ *auction }

// openGloas waits for a slot of gloas.
func (r *specs) openGloas(t *suite.T, wanted world.Wanted) sale {
	if wanted.Kind == "" {
		wanted.Kind = world.Registered
	}
	wanted.From = max(wanted.From, t.World.Facts.FirstGloasSlot())
	if t.World.Facts.NextForkSlot > 2 {
		t.Until(t.World.Facts.At(t.World.Facts.NextForkSlot - 2)) // the question for a slot is answered in time
	}
	slot, err := t.World.Slot(t, wanted)
	t.Ready(err, "wait for a slot of gloas")
	index := int(slot.ValidatorIndex)
	return sale{&auction{t: t, slot: slot, proposer: r.validators(t)[index], feeRecipient: payee(index)}}
}

// offered is a builder's block of gloas. A spec may make it wrong before it signs it.
type offered struct {
	*gloas.SignedBidSubmissionV6

	a   sale
	key *probe.BLSKey
}

// offer makes a valid, signed block of a builder. It pays the given value on top of slot.BaseGwei.
func (a sale) offer(builder string, aboveWei *uint256.Int) *offered {
	return a.offerInOrder(builder, aboveWei, world.Order{})
}

// offerInOrder is offer with more words about the block: its gas limit, blobs and requests.
func (a sale) offerInOrder(builder string, aboveWei *uint256.Int, order world.Order) *offered {
	a.blocks++
	valueWei := new(uint256.Int).Add(aboveWei, gwei(a.slot.BaseGwei))
	order.Slot, order.FeeRecipient, order.PaysWei = *a.slot, fmt.Sprintf("%#x", a.feeRecipient[:]), valueWei.ToBig()
	order.Extra = fmt.Sprintf("%s/%s/%d", a.t.Clause.ID, builder, a.blocks)
	if order.GasLimit == 0 {
		order.GasLimit = world.GasTarget(int(a.slot.ValidatorIndex))
	}
	raw, err := a.t.World.Block(a.t, order)
	a.t.Ready(err, "build a block")
	block, err := world.ReadV6(raw)
	a.t.Ready(err, "read the world's block")
	o := &offered{SignedBidSubmissionV6: block, a: a, key: a.builderKey(builder)}
	p := block.ExecutionPayload
	o.Message = &builderv1.BidTrace{
		Slot: uint64(a.slot.Slot), ParentHash: a.slot.ParentHash, BlockHash: p.BlockHash, BuilderPubkey: o.key.Public,
		ProposerPubkey: a.proposer.Public, ProposerFeeRecipient: a.feeRecipient, GasLimit: p.GasLimit, GasUsed: p.GasUsed,
		Value: valueWei.Clone(),
	}
	return o.sign()
}

// sign signs the message as it is now.
func (o *offered) sign() *offered {
	root, err := o.Message.HashTreeRoot()
	o.a.t.Ready(err, "hash a message")
	o.Signature = o.key.Sign(probe.SigningRoot(root, builderDomain(o.a.t.World.Facts)))
	return o
}

// rehash gives payload and message the hash that the payload has now, and signs the message.
func (o *offered) rehash() *offered {
	t := o.a.t
	versioned := []common.Hash{}
	for _, commitment := range o.BlobsBundle.Commitments {
		versioned = append(versioned, payload.VersionedHash(commitment))
	}
	requests, err := payload.EncodeGloasRequests(o.ExecutionRequests)
	t.Ready(err, "encode requests")
	root := common.Hash(o.a.slot.ParentRoot)
	block, err := engine.ExecutableDataToBlockNoHash(payload.GloasToEngine(o.ExecutionPayload), versioned, &root, requests)
	t.Ready(err, "hash a block")
	o.ExecutionPayload.BlockHash = phase0.Hash32(block.Hash())
	o.Message.BlockHash = o.ExecutionPayload.BlockHash
	return o.sign()
}

func (o *offered) json() []byte {
	raw, err := gloas.Mainnet.SignedBidSubmissionV6.ToJSON(o.SignedBidSubmissionV6)
	o.a.t.Ready(err, "encode a submission")
	return raw
}

func (o *offered) ssz() []byte {
	raw, err := gloas.Mainnet.SignedBidSubmissionV6.Encode(o.SignedBidSubmissionV6)
	o.a.t.Ready(err, "encode a submission")
	return raw
}

// sendBlock sends a submission of gloas in JSON.
func (a sale) sendBlock(o *offered) *probe.Answer {
	return a.t.Do(builderAPI(a.t), versioned(submitPath, jsonType, eth.Gloas.String(), o.json()))
}

// versioned is a POST that names a fork; an empty one is not named.
func versioned(path, media, fork string, body []byte) probe.Request {
	request := post(path, media, body)
	request.Header["Eth-Consensus-Version"] = fork
	return request
}

func (a sale) prepare() sale { return sale{a.auction.prepare()} }

// prepareOffered submits a block that prepares the spec: the spec is inconclusive unless the block
// is accepted.
func (a sale) prepareOffered(o *offered) *offered {
	a.prepareTaken(func() *probe.Answer { return a.prepare().sendBlock(o) })
	return o
}

// authData returns what proposers sign for the target: the host of its address unless target.yaml
// says another (builder-specs, gloas).
func authData(t *suite.T) []byte {
	if t.Target.Relay.AuthData != "" {
		return []byte(t.Target.Relay.AuthData)
	}
	address, err := url.Parse(t.Target.Relay.ProposerURL)
	t.Ready(err, "read the relay's address")
	return []byte(address.Hostname())
}

// request is a proposer's request for a bid. A spec may make it wrong before it is sent.
type request struct {
	*probe.Request

	key  *probe.BLSKey
	auth *gloas.SignedBuilderRequestAuth
	a    sale
}

// askFor makes the right request for the slot's bid, signed by the proposer.
func (a sale) askFor() *request {
	t := a.t
	r := &request{a: a, key: a.proposer, auth: &gloas.SignedBuilderRequestAuth{
		Message: &gloas.BuilderRequestAuth{Data: authData(t), Slot: a.slot.Slot},
	}}
	made := versioned(a.bidPath(a.slot.ParentHash, a.slot.ParentRoot), jsonType, eth.Gloas.String(), nil)
	made.Header["Accept"], made.Header["X-Timeout-Ms"] = jsonType, "1000"
	r.Request = &made
	return r.sign()
}

func (a sale) bidPath(parentHash phase0.Hash32, parentRoot phase0.Root) string {
	return fmt.Sprintf("/eth/v1/builder/execution_payload_bid/%d/%#x/%#x/%#x", a.slot.Slot, parentHash[:], parentRoot[:],
		a.proposer.Public[:])
}

// authDomain is the domain of requests to builders, in every fork.
func authDomain(facts world.Facts) phase0.Domain {
	var version phase0.Version
	copy(version[:], unhex(facts.GenesisForkVersion))
	return probe.Domain(probe.DomainBuilderRequestAuth, version, phase0.Root{})
}

// sign signs the auth as it is now.
func (r *request) sign() *request { return r.signUnder(authDomain(r.a.t.World.Facts)) }

func (r *request) signUnder(domain phase0.Domain) *request {
	root, err := gloas.Mainnet.BuilderRequestAuth.Root(r.auth.Message)
	r.a.t.Ready(err, "hash an auth")
	r.auth.Signature = r.key.Sign(probe.SigningRoot(root, domain))
	return r
}

// send sends the request with its auth in JSON, or what else the spec has put into the body. It
// counts the time for the answer from now on, unless the spec has said from when.
func (r *request) send() *probe.Answer {
	t := r.a.t
	if r.Body == nil {
		var err error
		r.Body, err = gloas.Mainnet.SignedBuilderRequestAuth.ToJSON(r.auth)
		t.Ready(err, "encode an auth")
	}
	if _, said := r.Header["Date-Milliseconds"]; !said {
		r.Header["Date-Milliseconds"] = strconv.FormatInt(t.Now().UnixMilli(), 10)
	}
	return t.Do(proposerAPI(t), *r.Request)
}

// sold returns the bid that is served; nil if there is none.
func (a sale) sold() *gloas.SignedExecutionPayloadBid {
	answer := a.askFor().send()
	if answer.Status == http.StatusNoContent {
		return nil
	}
	a.t.Status(answer, http.StatusOK)
	return a.readSold(answer)
}

// readSold decodes a bid in JSON.
func (a sale) readSold(answer *probe.Answer) *gloas.SignedExecutionPayloadBid {
	var envelope struct {
		Version string          `json:"version"`
		Data    json.RawMessage `json:"data"`
	}
	err := answer.JSON(&envelope)
	a.t.Check(err == nil && envelope.Data != nil, "an object with version and data", answer)
	bid, err := gloas.Mainnet.SignedExecutionPayloadBid.FromJSON(envelope.Data)
	a.t.Check(err == nil, "a signed execution payload bid", err)
	return bid
}

// checkSold fails the spec unless the served bid is for the block. It returns the bid.
func (a sale) checkSold(o *offered) *gloas.SignedExecutionPayloadBid {
	bid := a.sold()
	a.t.Check(bid != nil, "a bid for the submitted block", "204, no bid")
	a.t.Check(bid.Message.BlockHash == o.Message.BlockHash, "the bid for block "+o.Message.BlockHash.String(),
		"that for "+bid.Message.BlockHash.String())
	return bid
}

// prepareSold returns the served bid, for specs that need one as preparation. The spec is
// inconclusive unless it is for the block.
func (a sale) prepareSold(o *offered) *gloas.SignedExecutionPayloadBid {
	answer := a.prepare().askFor().send()
	a.t.Prepared(answer, "get a bid for the submitted block", http.StatusOK)
	bid := a.readSold(answer)
	if bid.Message.BlockHash != o.Message.BlockHash {
		a.t.Inconclusive("the bid is for another block than the submitted one: %s", bid.Message.BlockHash)
	}
	return bid
}

// checkNotSold fails the spec if the served bid is for the block.
func (a sale) checkNotSold(o *offered) {
	if bid := a.sold(); bid != nil {
		a.t.Check(bid.Message.BlockHash != o.Message.BlockHash, "no bid for the block", "it is served")
	}
}

// totalGwei is what a block pays, in whole Gwei.
func (o *offered) totalGwei() phase0.Gwei {
	return phase0.Gwei(new(uint256.Int).Div(o.Message.Value, uint256.NewInt(1_000_000_000)).Uint64())
}

// parentGasLimit asks the world's execution node for the gas limit of the parent payload.
func (a sale) parentGasLimit() uint64 {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"eth_getBlockByHash","params":["%#x",false]}`,
		a.slot.ParentHash[:])
	answer, err := probe.NewClient(a.t.World.Facts.ExecutionURL, nil, 5*time.Second).Do(a.t,
		post("/", jsonType, []byte(body)))
	a.t.Ready(err, "ask for the parent's block")
	var said struct {
		Result struct {
			GasLimit string `json:"gasLimit"`
		} `json:"result"`
	}
	a.t.Ready(answer.JSON(&said), "read the parent's block")
	limit, err := strconv.ParseUint(said.Result.GasLimit, 0, 64)
	a.t.Ready(err, "read the parent's gas limit")
	return limit
}
