package beacon

import (
	"context"
	"fmt"
	"net/http"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/devnet/beacon/epbs"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/serve"
)

// builderURL names the builder whose bid a block has.
const builderURL = "Eth-Builder-Url"

// selfBuilt is a payload of this node that a proposer has not revealed yet.
type selfBuilt struct {
	envelope *gloas.ExecutionPayloadEnvelope
	blobs    *payload.Blobs
}

// template.gloas returns a block without a builder's bid: the genesis block.
func (t template) gloas(*chain.Built) codec {
	return unsignedGloas{t.withBid(&gloas.SignedExecutionPayloadBid{
		Message:   &gloas.ExecutionPayloadBid{BuilderIndex: gloas.SelfBuild, Slot: t.slot},
		Signature: phase0.BLSSignature{0xc0},
	}, nil, new(gloas.ExecutionRequests))}
}

// withBid returns a block of gloas.
func (t template) withBid(bid *gloas.SignedExecutionPayloadBid, votes []*gloas.PayloadAttestation,
	requests *gloas.ExecutionRequests) *gloas.BeaconBlock {
	return &gloas.BeaconBlock{
		Slot: t.slot, ProposerIndex: t.proposer, ParentRoot: t.parentRoot, StateRoot: t.stateRoot,
		Body: &gloas.BeaconBlockBody{
			RANDAOReveal: t.reveal, ETH1Data: t.eth1(), Graffiti: t.graffiti, SyncAggregate: t.sync(),
			SignedExecutionPayloadBid: bid, PayloadAttestations: votes, ParentExecutionRequests: requests,
		},
	}
}

// blockWithBid produces an unsigned block with the best bid, or with one of this node's own payload
// (beacon-APIs, produceBlockV4). The payload of its own is then asked for by ownEnvelope.
func (b *Beacon) blockWithBid(w http.ResponseWriter, r *http.Request) {
	media, asked, err := b.askedBlock(r)
	var config *gloas.BuilderConfig
	if err == nil {
		config, err = b.readConfig(w, r, asked.slot)
	}
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	made, err := b.produceWithBid(r.Context(), asked, config)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	w.Header().Set(versionHeader, eth.Gloas.String())
	w.Header().Set("Eth-Consensus-Block-Value", "0")
	w.Header().Set("Eth-Execution-Payload-Included", "false")
	if made.url != "" {
		w.Header().Set(builderURL, made.url)
	}
	block := unsignedGloas{made.block}
	if media == mediaJSON {
		data(w, r, block, map[string]any{
			"version": eth.Gloas.String(), "consensus_block_value": "0", "execution_payload_included": false,
		})
		return
	}
	raw, err := block.MarshalSSZ()
	if err != nil {
		serve.Refuse(w, r, fmt.Errorf("encode block: %w", err))
		return
	}
	serve.Bytes(w, http.StatusOK, mediaSSZ, raw)
}

// readConfig reads which builders the proposer of a slot of gloas wants to ask.
func (b *Beacon) readConfig(w http.ResponseWriter, r *http.Request, slot phase0.Slot) (*gloas.BuilderConfig, error) {
	if !isGloas(b.cfg.Spec.ForkAt(slot)) {
		return nil, bad("slot %d is before gloas", slot)
	}
	if r.URL.Query().Get("include_payload") == "true" {
		return nil, bad("include_payload: this node keeps the payload for the proposer")
	}
	body, json, _, err := readPublished(w, r)
	if err != nil {
		return nil, err
	}
	read := gloas.Mainnet.BuilderConfig.Decode
	if json {
		read = gloas.Mainnet.BuilderConfig.FromJSON
	}
	config, err := read(body)
	if err != nil {
		return nil, bad("decode builder config: %v", err)
	}
	b.mu.Lock()
	clear(b.market.urls)
	for _, entry := range config.Builders {
		b.market.urls[entry.URL] = true
	}
	b.mu.Unlock()
	return config, nil
}

// madeBlock is a block with a bid, and the builder's URL if it came from the Builder API.
type madeBlock struct {
	block *gloas.BeaconBlock
	url   string
}

// produceWithBid builds a payload while it asks builders, and takes the best.
func (b *Beacon) produceWithBid(ctx context.Context, t template, config *gloas.BuilderConfig) (*madeBlock, error) {
	// A proposer may ask just when its slot begins, before Run has noticed; what the last payload
	// weighs depends on it (consensus-specs, on_tick comes before get_head).
	b.beginSlot(b.cfg.Spec.SlotAt(b.cfg.Clock.Now()))
	b.mu.RLock()
	parent, status := b.choice.proposerHead(t.slot)
	a := b.attributesOf(t.slot, parent, status)
	votes, requests := b.payloadAttestations(parent, t.slot), b.requestsOf(parent, status)
	pooled := b.market.bids.Best(epbs.Parent{Slot: t.slot, Hash: a.parentHash, Root: parent.Root})
	b.mu.RUnlock()
	if t.slot <= parent.Slot {
		return nil, bad("slot %d is not after the head's %d", t.slot, parent.Slot)
	}
	t.proposer, t.parentRoot, t.stateRoot = a.proposer, parent.Root, stateRoot(parent.Root, t.slot)
	asked := make(chan []*offer, 1)
	go func() { asked <- b.askBuilders(ctx, a, config.Builders) }() // ends by its own deadline
	built, err := b.ownPayload(ctx, a)
	offers := <-asked
	if pooled != nil {
		offers = append(offers, &offer{Offer: epbs.Offer{
			Bid: pooled, MinBid: config.MinBid, Boost: config.BuilderBoostFactor,
		}})
	}
	if best := choose(built, offers); best != nil {
		return &madeBlock{t.withBid(best.Bid, votes, requests), best.url}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("produce block: %w", err)
	}
	bid, envelope, err := selfBid(a, built)
	if err != nil {
		return nil, err
	}
	block := t.withBid(bid, votes, requests)
	if envelope.BeaconBlockRoot, err = gloas.Mainnet.BeaconBlock.Root(block); err != nil {
		return nil, fmt.Errorf("hash block: %w", err)
	}
	b.mu.Lock()
	b.market.own[envelope.BeaconBlockRoot] = &selfBuilt{envelope, built.Blobs}
	b.mu.Unlock()
	return &madeBlock{block: block}, nil
}

// choose compares offers with this node's own payload, which may be missing.
func choose(built *chain.Built, offers []*offer) *offer {
	var own *phase0.Gwei
	if built != nil {
		gwei, _ := eth.WholeGwei(built.CoinbaseGainWei) // the lab has less than 2^64 Gwei
		own = &gwei
	}
	list := make([]*epbs.Offer, len(offers))
	for i := range offers {
		list[i] = &offers[i].Offer
	}
	best := epbs.Choose(own, list)
	for _, o := range offers {
		if &o.Offer == best {
			return o
		}
	}
	return nil
}

// ownPayload builds a payload from the pool's transactions.
func (b *Beacon) ownPayload(ctx context.Context, a attributes) (*chain.Built, error) {
	txs := b.cfg.Execution.Pending()
	return b.cfg.Execution.Build(ctx, chain.BuildArgs{
		Parent: a.parentHash, Slot: a.slot, PrevRandao: a.parent.randao, Withdrawals: a.withdrawals,
		ParentBeaconRoot: a.parent.Root, Coinbase: common.Address(a.feeRecipient), GasLimitTarget: a.gasTarget,
		ExtraData: []byte("local"), Transactions: txs[:min(len(txs), b.cfg.LocalTxLimit)],
	})
}

// selfBid returns the bid for this node's own payload, and the envelope that the proposer signs,
// which lacks the block's root.
func selfBid(a attributes, built *chain.Built) (*gloas.SignedExecutionPayloadBid, *gloas.ExecutionPayloadEnvelope,
	error) {
	full, requests := payload.JoinGloas(built.Payload, built.Requests, built.Gloas)
	root, err := gloas.Mainnet.ExecutionRequests.Root(requests)
	if err != nil {
		return nil, nil, fmt.Errorf("hash requests: %w", err)
	}
	bid := &gloas.ExecutionPayloadBid{
		ParentBlockHash: a.parentHash, ParentBlockRoot: a.parent.Root, BlockHash: full.BlockHash,
		PrevRandao: phase0.Root(a.parent.randao), FeeRecipient: a.feeRecipient, GasLimit: full.GasLimit,
		BuilderIndex: gloas.SelfBuild, Slot: a.slot, BlobKZGCommitments: built.Blobs.Commitments, ExecutionRequestsRoot: root,
	}
	return &gloas.SignedExecutionPayloadBid{Message: bid, Signature: phase0.BLSSignature{0xc0}},
		&gloas.ExecutionPayloadEnvelope{
			Payload: full, ExecutionRequests: requests, BuilderIndex: gloas.SelfBuild, ParentBeaconBlockRoot: a.parent.Root,
		}, nil
}

// ownEnvelope answers with the unsigned envelope of a payload that this node has built (beacon-
// APIs, getExecutionPayloadEnvelope of the validator's endpoints).
func (b *Beacon) ownEnvelope(w http.ResponseWriter, r *http.Request) {
	media, ok := serve.Negotiate(r, mediaJSON, mediaSSZ)
	var root phase0.Root
	if err := eth.ParseHex(r.PathValue("block_root"), root[:]); err != nil || !ok {
		serve.Refuse(w, r, bad("want a block's root, and JSON or SSZ"))
		return
	}
	b.mu.RLock()
	own := b.market.own[root]
	b.mu.RUnlock()
	if own == nil || decimal(own.envelope.Payload.SlotNumber) != r.PathValue("slot") {
		serve.Refuse(w, r, problem{http.StatusNotFound, "this node has not built the payload of such a block"})
		return
	}
	w.Header().Set(versionHeader, eth.Gloas.String())
	if media == mediaJSON {
		data(w, r, inJSON(gloas.Mainnet.ExecutionPayloadEnvelope.ToJSON(own.envelope)),
			map[string]any{"version": eth.Gloas.String()})
		return
	}
	raw, err := gloas.Mainnet.ExecutionPayloadEnvelope.Encode(own.envelope)
	if err != nil {
		serve.Refuse(w, r, fmt.Errorf("encode envelope: %w", err))
		return
	}
	serve.Bytes(w, http.StatusOK, mediaSSZ, raw)
}
