package proposer

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Gloas is what validators ask of builders from gloas on, and how they behave.
type Gloas struct {
	// Builders are asked for bids by the beacon node.
	Builders []BuilderAddress
	// Conduct says what is done in a slot; nil means honest. Of its fields Requests and Replay do not
	// count.
	Conduct func(phase0.Slot) Conduct
	// Tell receives an event for each block that has a builder's bid; it may be nil.
	Tell func(devnet.Event)
}

// BuilderAddress is a builder, or a relay that bids, as validators know it.
type BuilderAddress struct {
	Name, URL string
	// Pubkey is the only key whose bids are taken; a zero key means any.
	Pubkey phase0.BLSPubKey
}

// conduct returns what is done in a slot.
func (g *Gloas) conduct(slot phase0.Slot) Conduct {
	if g.Conduct == nil {
		return Conduct{}
	}
	return g.Conduct(slot)
}

// authData returns the data by which a builder is addressed: the host of its URL (builder-specs,
// gloas).
func authData(address string) ([]byte, error) {
	parsed, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("builder %q: %w", address, err)
	}
	return []byte(parsed.Hostname()), nil
}

// auth signs a request for a bid.
func (p *Proposer) auth(slot phase0.Slot, index phase0.ValidatorIndex,
	builder BuilderAddress) (*gloas.SignedBuilderRequestAuth, error) {
	data, err := authData(builder.URL)
	if err != nil {
		return nil, err
	}
	if p.Gloas.conduct(slot).StaleAuth {
		data = []byte(builder.URL) // as clients did before the specification said host
	}
	message := &gloas.BuilderRequestAuth{Data: data, Slot: slot}
	root, err := gloas.Mainnet.BuilderRequestAuth.Root(message)
	if err != nil {
		return nil, fmt.Errorf("hash auth: %w", err)
	}
	signature := p.Keys[index].Sign(eth.SigningRoot(root, gloas.RequestAuthDomain(p.Spec)))
	return &gloas.SignedBuilderRequestAuth{Message: message, Signature: signature}, nil
}

// config says which builders the beacon node asks in a slot: none if the breaker is open, or if
// the conduct is to ask nobody.
func (p *Proposer) config(ctx context.Context, slot phase0.Slot, index phase0.ValidatorIndex) (*gloas.BuilderConfig,
	error) {
	conduct, boost := p.Gloas.conduct(slot), p.BuilderBoostFactor
	if conduct.Boost != nil {
		boost = *conduct.Boost
	}
	config := &gloas.BuilderConfig{MinBid: conduct.MinBid, BuilderBoostFactor: boost}
	if conduct.Local || p.broken(ctx, slot) {
		config.BuilderBoostFactor = 0
		return config, nil
	}
	for _, builder := range p.Gloas.Builders {
		auth, err := p.auth(slot, index, builder)
		if err != nil {
			return nil, err
		}
		entry := &gloas.BuilderEntry{
			URL: builder.URL, Auth: auth, MaxExecutionPayment: ^phase0.Gwei(0), MinBid: conduct.MinBid,
			BuilderBoostFactor: boost,
		}
		if conduct.MaxPayment != nil {
			entry.MaxExecutionPayment = *conduct.MaxPayment
		}
		if builder.Pubkey != (phase0.BLSPubKey{}) {
			entry.BuilderPubkeys = []phase0.BLSPubKey{builder.Pubkey}
		}
		config.Builders = append(config.Builders, entry)
	}
	return config, nil
}

// proposalWithBid proposes a slot of gloas: a block with the bid that the beacon node has chosen,
// or with one of its own payload, which is then revealed.
func (p *Proposer) proposalWithBid(ctx context.Context, slot phase0.Slot, index phase0.ValidatorIndex) error {
	conduct := p.Gloas.conduct(slot)
	if err := p.untilInSlot(ctx, slot, conduct.RequestAt); err != nil {
		return err
	}
	config, err := p.config(ctx, slot, index)
	if err != nil {
		return err
	}
	epoch := p.Spec.EpochOf(slot)
	reveal := p.Keys[index].Sign(eth.SigningRoot(epochRoot(epoch), p.Spec.RandaoDomain(epoch)))
	block, builder, err := p.beacon.blockWithBid(ctx, slot, reveal, config)
	if err != nil {
		return fmt.Errorf("fetch block: %w", err)
	}
	p.tellBid(slot, builder)
	root, err := gloas.Mainnet.BeaconBlock.Root(block)
	if err != nil {
		return fmt.Errorf("hash block: %w", err)
	}
	signature, err := p.sign(slot, index, root)
	if err != nil {
		return fmt.Errorf("sign block: %w", err)
	}
	if err := p.untilInSlot(ctx, slot, conduct.SubmitAt); err != nil || conduct.Silent {
		return err
	}
	signed := &gloas.SignedBeaconBlock{Message: block, Signature: signature}
	if conduct.Unbundle {
		return p.unbundle(ctx, signed, builder)
	}
	if err := p.beacon.publishBlock(ctx, signed, builder, "consensus_and_equivocation"); err != nil {
		return fmt.Errorf("publish block: %w", err)
	}
	if conduct.Equivocate {
		p.secondBlock(ctx, signed, builder, conduct.EquivocateAt)
	}
	if block.Body.SignedExecutionPayloadBid.Message.BuilderIndex != gloas.SelfBuild || conduct.Withhold {
		return nil
	}
	return p.revealOwn(ctx, slot, index, root)
}

// untilInSlot waits for a time in a slot. A zero moment does not wait, whatever the clock says.
func (p *Proposer) untilInSlot(ctx context.Context, slot phase0.Slot, moment time.Duration) error {
	if moment == 0 {
		return nil
	}
	return p.Clock.Until(ctx, p.Spec.SlotStart(slot).Add(moment))
}

func (p *Proposer) tellBid(slot phase0.Slot, url string) {
	for _, builder := range p.Gloas.Builders {
		if builder.URL == url && p.Gloas.Tell != nil {
			p.Gloas.Tell(devnet.Event{Actor: devnet.ProposersName, At: builder.Name, Subject: devnet.HeaderReceived,
				Slot: int(slot)})
		}
	}
}

// secondBlock signs and publishes another block with the same bid. It ignores the answer: whether a
// second block is taken is the network's affair.
func (p *Proposer) secondBlock(ctx context.Context, first *gloas.SignedBeaconBlock, builder string, at time.Duration) {
	second, err := p.another(first)
	if err != nil || p.untilInSlot(ctx, first.Message.Slot, at) != nil {
		return
	}
	err = p.beacon.publishBlock(ctx, second, builder, "gossip")
	p.Log.Info("a second block was published", "slot", first.Message.Slot, "error", err)
}

// another signs another block with the same bid. A validator must never sign such a second block.
func (p *Proposer) another(first *gloas.SignedBeaconBlock) (*gloas.SignedBeaconBlock, error) {
	message, body := *first.Message, *first.Message.Body
	copy(body.Graffiti[:], "a second block")
	message.Body = &body
	root, err := gloas.Mainnet.BeaconBlock.Root(&message)
	if err != nil {
		return nil, fmt.Errorf("hash second block: %w", err)
	}
	signature := p.Keys[message.ProposerIndex].Sign(eth.SigningRoot(root, p.Spec.ProposerDomain(message.Slot)))
	return &gloas.SignedBeaconBlock{Message: &message, Signature: signature}, nil
}

// revealOwn signs the envelope of the beacon node's own payload and publishes it. The node has the
// blobs.
func (p *Proposer) revealOwn(ctx context.Context, slot phase0.Slot, index phase0.ValidatorIndex,
	root phase0.Root) error {
	envelope, err := p.beacon.ownEnvelope(ctx, slot, root)
	if err != nil {
		return fmt.Errorf("fetch own payload: %w", err)
	}
	hash, err := gloas.Mainnet.ExecutionPayloadEnvelope.Root(envelope)
	if err != nil {
		return fmt.Errorf("hash envelope: %w", err)
	}
	raw, err := gloas.Mainnet.SignedExecutionPayloadEnvelope.Encode(&gloas.SignedExecutionPayloadEnvelope{
		Message: envelope, Signature: p.Keys[index].Sign(eth.SigningRoot(hash, gloas.BuilderDomain(p.Spec, slot))),
	})
	if err != nil {
		return fmt.Errorf("encode envelope: %w", err)
	}
	header := ofGloas(mediaSSZ)
	header.Set("Eth-Blob-Data-Included", "false")
	if _, _, err = p.beacon.do(ctx, http.MethodPost, "/eth/v1/beacon/execution_payload_envelopes", header,
		raw); err != nil {
		return fmt.Errorf("publish own payload: %w", err)
	}
	return nil
}

// ofGloas returns the headers of a request with a body of gloas.
func ofGloas(media string) http.Header {
	return http.Header{
		"Content-Type": {media}, "Accept": {mediaSSZ}, "Eth-Consensus-Version": {eth.Gloas.String()},
	}
}

// blockWithBid fetches an unsigned block, and the URL of the builder whose bid it has (beacon-APIs,
// produceBlockV4).
func (n *beaconNode) blockWithBid(ctx context.Context, slot phase0.Slot, reveal phase0.BLSSignature,
	config *gloas.BuilderConfig) (*gloas.BeaconBlock, string, error) {
	body, err := gloas.Mainnet.BuilderConfig.Encode(config)
	if err != nil {
		return nil, "", fmt.Errorf("encode builder config: %w", err)
	}
	path := fmt.Sprintf("/eth/v4/validator/blocks/%d?randao_reveal=%#x", slot, reveal[:])
	header, raw, err := n.do(ctx, http.MethodPost, path, ofGloas(mediaSSZ), body)
	if err != nil {
		return nil, "", err
	}
	block, err := gloas.Mainnet.BeaconBlock.Decode(raw)
	if err != nil {
		return nil, "", fmt.Errorf("decode block: %w", err)
	}
	return block, header.Get("Eth-Builder-Url"), nil
}

// publishBlock sends a signed block, which the beacon node hands on to the builder at the URL.
func (n *beaconNode) publishBlock(ctx context.Context, signed *gloas.SignedBeaconBlock, builder, level string) error {
	raw, err := gloas.Mainnet.SignedBeaconBlock.Encode(signed)
	if err != nil {
		return fmt.Errorf("encode block: %w", err)
	}
	header := ofGloas(mediaSSZ)
	if builder != "" {
		header.Set("Eth-Builder-Url", builder)
	}
	_, _, err = n.do(ctx, http.MethodPost, "/eth/v2/beacon/blocks?broadcast_validation="+level, header, raw)
	return err
}

// ownEnvelope fetches the payload of a block that the beacon node has built.
func (n *beaconNode) ownEnvelope(ctx context.Context, slot phase0.Slot,
	root phase0.Root) (*gloas.ExecutionPayloadEnvelope, error) {
	path := fmt.Sprintf("/eth/v1/validator/execution_payload_envelopes/%d/%#x", slot, root[:])
	_, raw, err := n.do(ctx, http.MethodGet, path, http.Header{"Accept": {mediaSSZ}}, nil)
	if err != nil {
		return nil, err
	}
	return gloas.Mainnet.ExecutionPayloadEnvelope.Decode(raw)
}

// prefer tells the beacon node what our validators ask for in their slots of this epoch and the
// next, and builders what counts of their payments. Before the epoch ahead of gloas it does
// nothing. Preferences are those of a branch: with onlyChanged, just those epochs are told of whose
// duties depend on another root than when they were told last.
func (p *Proposer) prefer(ctx context.Context, onlyChanged bool) error {
	now := p.Spec.SlotAt(p.Clock.Now())
	var list, caps []json.RawMessage
	preferred := map[phase0.Epoch]phase0.Root{}
	for epoch := p.Spec.EpochOf(now); epoch <= p.Spec.EpochOf(now)+1; epoch++ {
		if p.Spec.ForkAt(p.Spec.FirstSlot(epoch)).HasBlindedBlocks() {
			continue
		}
		duties, dependent, err := p.beacon.dependentDuties(ctx, epoch)
		if err != nil {
			return fmt.Errorf("fetch duties of epoch %d: %w", epoch, err)
		}
		preferred[epoch] = dependent
		if told, ok := p.preferred[epoch]; onlyChanged && ok && told == dependent {
			continue
		}
		for slot, index := range duties {
			if p.Keys[index] == nil || slot < now || p.Gloas.conduct(slot).Unheard {
				continue
			}
			entry, err := p.preference(slot, index, dependent)
			if err != nil {
				return err
			}
			list = append(list, entry)
			if caps, err = p.appendCaps(caps, slot, index); err != nil {
				return err
			}
		}
	}
	if err := p.beacon.postList(ctx, "/eth/v1/validator/proposer_preferences", list); err != nil {
		return fmt.Errorf("tell the beacon node preferences: %w", err)
	}
	if err := p.beacon.postList(ctx, "/eth/v1/validator/builder_preferences", caps); err != nil {
		return fmt.Errorf("tell builders preferences: %w", err)
	}
	p.preferred = preferred
	return nil
}

// preference signs what a validator asks for in its slot.
func (p *Proposer) preference(slot phase0.Slot, index phase0.ValidatorIndex,
	dependent phase0.Root) (json.RawMessage, error) {
	message := &gloas.ProposerPreferences{
		DependentRoot: dependent, ProposalSlot: slot, ValidatorIndex: index, FeeRecipient: p.FeeRecipient(index),
		TargetGasLimit: p.GasLimit,
	}
	if p.Gloas.conduct(slot).Contradict {
		copy(message.FeeRecipient[:], dependent[:])
	}
	root, err := gloas.Mainnet.ProposerPreferences.Root(message)
	if err != nil {
		return nil, fmt.Errorf("hash preferences: %w", err)
	}
	return gloas.Mainnet.SignedProposerPreferences.ToJSON(&gloas.SignedProposerPreferences{
		Message: message, Signature: p.Keys[index].Sign(eth.SigningRoot(root, gloas.PreferencesDomain(p.Spec, slot))),
	})
}

// appendCaps adds what a validator wants of each builder in its slot, if it does not count all.
func (p *Proposer) appendCaps(list []json.RawMessage, slot phase0.Slot,
	index phase0.ValidatorIndex) ([]json.RawMessage, error) {
	conduct := p.Gloas.conduct(slot)
	most := conduct.MaxPayment
	if most == nil || conduct.Secret {
		return list, nil
	}
	for _, builder := range p.Gloas.Builders {
		auth, err := p.auth(slot, index, builder)
		if err != nil {
			return nil, err
		}
		entry, err := gloas.Mainnet.BuilderPreferencesEntry.ToJSON(&gloas.BuilderPreferencesEntry{
			ProposerPubkey: p.Keys[index].PublicKey(), URL: builder.URL, Auth: auth, MaxExecutionPayment: *most,
		})
		if err != nil {
			return nil, fmt.Errorf("encode builder preferences: %w", err)
		}
		list = append(list, entry)
	}
	return list, nil
}

// postList sends a list in JSON, unless it is empty.
func (n *beaconNode) postList(ctx context.Context, path string, list []json.RawMessage) error {
	if len(list) == 0 {
		return nil
	}
	body, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode list: %w", err)
	}
	_, _, err = n.do(ctx, http.MethodPost, path, ofGloas(mediaJSON), body)
	return err
}

// dependentDuties returns an epoch's proposers by slot, and the root that they depend on
// (beacon-APIs, getProposerDutiesV2).
func (n *beaconNode) dependentDuties(ctx context.Context, epoch phase0.Epoch) (
	duties map[phase0.Slot]phase0.ValidatorIndex, dependent phase0.Root, err error,
) {
	path := "/eth/v2/validator/duties/proposer/" + strconv.FormatUint(uint64(epoch), 10)
	_, raw, err := n.do(ctx, http.MethodGet, path, http.Header{}, nil)
	if err != nil {
		return nil, dependent, err
	}
	if duties, err = readDuties(raw); err != nil {
		return nil, dependent, err
	}
	var document struct {
		Dependent string `json:"dependent_root"`
	}
	if err := json.Unmarshal(raw, &document); err != nil {
		return nil, dependent, fmt.Errorf("decode duties: %w", err)
	}
	return duties, dependent, eth.ParseHex(document.Dependent, dependent[:])
}
