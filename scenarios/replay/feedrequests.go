package replay

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/scenarios/backtest"
)

// made is an archived bid as a block of the world, signed by the key that stands for its builder.
type made struct {
	hash phase0.Hash32
	key  *probe.BLSKey
	body []byte // the submission in SSZ
}

// make has a block built that pays exactly the bid's value, and signs its submission.
func (h *held) make(ctx context.Context, bid *backtest.LiveBid, number int) (m made, err error) {
	to := payee(h.slot.ValidatorIndex)
	raw, err := h.world.Block(ctx, world.Order{
		Slot: *h.slot, FeeRecipient: fmt.Sprintf("%#x", to[:]), PaysWei: bid.ValueWei.ToBig(), GasLimit: network.GasLimit,
		Extra: fmt.Sprintf("replay %d", number),
	})
	if err != nil {
		return m, fmt.Errorf("build a block that pays %s wei: %w", bid.ValueWei.Dec(), err)
	}
	s, err := probe.ReadSubmission(h.fork, raw)
	if err != nil {
		return m, err
	}
	p := s.ExecutionPayload
	m.key, m.hash = probe.DeriveBLSKey(fmt.Sprintf("builder %#x of a feed", bid.Builder[:])), p.BlockHash
	s.Message = &builderv1.BidTrace{
		Slot: uint64(h.slot.Slot), ParentHash: h.slot.ParentHash, BlockHash: p.BlockHash, BuilderPubkey: m.key.Public,
		ProposerPubkey: h.proposer.Public, ProposerFeeRecipient: to, GasLimit: p.GasLimit, GasUsed: p.GasUsed,
		Value: bid.ValueWei,
	}
	root, err := s.Message.HashTreeRoot()
	if err != nil {
		return m, fmt.Errorf("hash a bid trace: %w", err)
	}
	s.Signature = m.key.Sign(probe.SigningRoot(root, h.builderDomain))
	if m.body, err = probe.Submission(h.fork, s).MarshalSSZ(); err != nil {
		return m, fmt.Errorf("encode a submission: %w", err)
	}
	return m, nil
}

// submit sends a submission. A relay that does not know the slot yet is asked again.
func (h *held) submit(ctx context.Context, bid *backtest.LiveBid, m made) (*probe.Answer, error) {
	request := probe.Request{Method: http.MethodPost, Path: "/relay/v1/builder/blocks", Body: m.body,
		Header: map[string]string{"Content-Type": sszType, "Eth-Consensus-Version": h.fork.String()}}
	if bid.Cancellable {
		request.Path += "?cancellations=1"
	}
	if bid.Sequence > 0 {
		request.Header["X-Sequence"] = strconv.FormatUint(bid.Sequence, 10)
	}
	for {
		answer, err := h.relay.Do(ctx, request)
		if err != nil || answer.Status != http.StatusBadRequest || h.clock.Now().After(h.givenAt.Add(newsPatience)) {
			return answer, err
		}
		if err := h.clock.Until(ctx, h.clock.Now().Add(pollEvery)); err != nil {
			return nil, err
		}
	}
}

// header asks for the header as the proposer does; nil without an error means that there is none.
func (h *held) header(ctx context.Context) (*builderelectra.SignedBuilderBid, error) {
	answer, err := h.relay.Do(ctx, probe.Request{Method: http.MethodGet, Header: map[string]string{"Accept": jsonType},
		Path: fmt.Sprintf("/eth/v1/builder/header/%d/%#x/%#x", h.slot.Slot, h.slot.ParentHash[:], h.proposer.Public[:])})
	switch {
	case err != nil:
		return nil, err
	case answer.Status == http.StatusNoContent:
		return nil, nil
	case answer.Status != http.StatusOK:
		return nil, fmt.Errorf("%s", answer)
	}
	var envelope struct {
		Data json.RawMessage `json:"data"`
	}
	if err := answer.JSON(&envelope); err != nil {
		return nil, err
	}
	return probe.ReadBid(h.fork, jsonType, envelope.Data)
}

// checkSignature returns why a header is not signed by the relay.
func (h *held) checkSignature(bid *builderelectra.SignedBuilderBid) error {
	root, err := probe.BidRoot(h.fork, bid.Message)
	if err != nil {
		return err
	}
	key := bid.Message.Pubkey
	if h.relayKey != nil {
		key = *h.relayKey
	}
	return probe.VerifyBLS(key, probe.SigningRoot(root, h.builderDomain), bid.Signature)
}

// deliver signs the blinded block of a header, and asks the relay to publish it.
func (h *held) deliver(ctx context.Context, bid *builderelectra.SignedBuilderBid) error {
	block, err := h.blind(ctx, bid)
	if err != nil {
		return err
	}
	body, err := probe.Blinded(h.fork, block).MarshalJSON()
	if err != nil {
		return fmt.Errorf("encode a blinded block: %w", err)
	}
	var answer *probe.Answer
	for _, version := range []string{"v2", "v1"} { // a relay without v2 answers 404
		answer, err = h.relay.Do(ctx, probe.Request{Method: http.MethodPost, Body: body,
			Path:   "/eth/" + version + "/builder/blinded_blocks",
			Header: map[string]string{"Content-Type": jsonType, "Eth-Consensus-Version": h.fork.String()}})
		if err != nil {
			return err
		}
		if answer.Status != http.StatusNotFound {
			break
		}
	}
	if answer.Status != http.StatusOK && answer.Status != http.StatusAccepted {
		return fmt.Errorf("%s", answer)
	}
	return nil
}

// blind makes the beacon node's local block with a header in place of its payload, and signs it.
func (h *held) blind(ctx context.Context,
	bid *builderelectra.SignedBuilderBid) (*apielectra.SignedBlindedBeaconBlock, error) {
	var epoch phase0.Root
	binary.LittleEndian.PutUint64(epoch[:], uint64(h.slot.Slot)/h.world.Facts.SlotsPerEpoch)
	randao, err := h.domain(probe.DomainRandao)
	if err != nil {
		return nil, err
	}
	reveal := h.proposer.Sign(probe.SigningRoot(epoch, randao))
	answer, err := probe.NewClient(h.world.Facts.BeaconURL, nil, requestTimeout).Do(ctx, probe.Request{
		Method: http.MethodGet, Path: fmt.Sprintf("/eth/v3/validator/blocks/%d?randao_reveal=%#x", h.slot.Slot, reveal[:]),
		Header: map[string]string{"Accept": sszType},
	})
	if err != nil {
		return nil, fmt.Errorf("ask for a local block: %w", err)
	}
	if answer.Status != http.StatusOK {
		return nil, fmt.Errorf("ask for a local block: %s", answer)
	}
	local, err := probe.ReadLocal(h.fork, answer.Body)
	if err != nil {
		return nil, err
	}
	block := &apielectra.SignedBlindedBeaconBlock{Message: local.Blinded()}
	body := block.Message.Body
	body.ExecutionPayloadHeader = bid.Message.Header
	body.BlobKZGCommitments, body.ExecutionRequests = bid.Message.BlobKZGCommitments, bid.Message.ExecutionRequests
	root, err := probe.BlindedRoot(h.fork, block.Message)
	if err != nil {
		return nil, err
	}
	domain, err := h.domain(probe.DomainProposer)
	if err != nil {
		return nil, err
	}
	block.Signature = h.proposer.Sign(probe.SigningRoot(root, domain))
	return block, nil
}

// trace is an item of the Data API (relay-specs, BidTraceV2).
type trace struct {
	Block   string `json:"block_hash"`
	Builder string `json:"builder_pubkey"`
	Value   string `json:"value"`
}

// mostRows is the greatest limit that deployed relays accept.
const mostRows = 500

// traces asks for a list of the Data API.
func (h *held) traces(ctx context.Context, list string, query url.Values) (rows []trace, err error) {
	query.Set("slot", strconv.FormatUint(uint64(h.slot.Slot), 10))
	answer, err := h.relay.Do(ctx, probe.Request{Method: http.MethodGet,
		Path: "/relay/v1/data/bidtraces/" + list + "?" + query.Encode()})
	if err != nil {
		return nil, fmt.Errorf("ask for %s: %w", list, err)
	}
	if answer.Status != http.StatusOK {
		return nil, fmt.Errorf("ask for %s: %s", list, answer)
	}
	return rows, answer.JSON(&rows)
}

// received lists what the relay has received for the slot. A list that is as long as it may be is
// asked for again by builder.
func (h *held) received(ctx context.Context, builders []phase0.BLSPubKey) ([]trace, error) {
	rows, err := h.traces(ctx, "builder_blocks_received", url.Values{"limit": {strconv.Itoa(mostRows)}})
	if err != nil || len(rows) < mostRows {
		return rows, err
	}
	var all []trace
	for _, builder := range builders {
		rows, err := h.traces(ctx, "builder_blocks_received", url.Values{"limit": {strconv.Itoa(mostRows)},
			"builder_pubkey": {fmt.Sprintf("%#x", builder[:])}})
		if err != nil {
			return nil, err
		}
		all = append(all, rows...)
	}
	return all, nil
}

// paid returns what the chain's block of the slot paid its proposer, in wei. The parent's number is
// one less, since the chain has no forks.
func (h *held) paid(ctx context.Context, block uint64) (*big.Int, error) {
	to := payee(h.slot.ValidatorIndex)
	node := probe.NewClient(h.world.Facts.ExecutionURL, nil, requestTimeout)
	balance := func(number uint64) (*big.Int, error) {
		call := probe.Call{Method: "eth_getBalance", ID: 1, Params: []any{fmt.Sprintf("%#x", to[:]),
			"0x" + strconv.FormatUint(number, 16)}}
		answer, err := node.Do(ctx, probe.Request{Method: http.MethodPost, Path: "/", Body: call.Body(),
			Header: map[string]string{"Content-Type": jsonType}})
		if err != nil {
			return nil, fmt.Errorf("ask for a balance: %w", err)
		}
		var said struct {
			Result string `json:"result"`
		}
		if err := answer.JSON(&said); err != nil {
			return nil, err
		}
		wei, ok := new(big.Int).SetString(strings.TrimPrefix(said.Result, "0x"), 16)
		if !ok {
			return nil, fmt.Errorf("ask for a balance: %s", answer)
		}
		return wei, nil
	}
	before, err := balance(block - 1)
	if err != nil {
		return nil, err
	}
	after, err := balance(block)
	if err != nil {
		return nil, err
	}
	return after.Sub(after, before), nil
}
