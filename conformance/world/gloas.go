package world

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Staked is the world's staked builder, which a relay under test bids as from gloas on.
type Staked struct {
	Index gloas.BuilderIndex `json:"index"`
	// SecretKey is 0x and 64 digits.
	SecretKey string `json:"secretKey"`
}

// FeeRecipient returns where a validator wants to be paid: what the suite registers before gloas,
// and what the world tells as its preference from gloas on.
func FeeRecipient(index int) (address bellatrix.ExecutionAddress) {
	sum := sha256.Sum256(fmt.Appendf(nil, "fee recipient %d", index))
	copy(address[:], sum[:])
	return address
}

// GasTarget returns the gas limit that a validator wants from gloas on. It differs from one to the
// next, so that a relay that ignores it is noticed.
func GasTarget(index int) uint64 {
	if index%2 == 1 {
		return 45_000_000
	}
	return 60_000_000
}

// isGloas says whether a slot is of gloas.
func (w *World) isGloas(slot phase0.Slot) bool { return !w.Spec().ForkAt(slot).HasBlindedBlocks() }

// ofGloas returns the headers of a request with a body of gloas.
func ofGloas(media string) map[string]string {
	return map[string]string{"Content-Type": media, "Accept": sszMedia, "Eth-Consensus-Version": eth.Gloas.String()}
}

const (
	sszMedia  = "application/octet-stream"
	jsonMedia = "application/json"
)

// ask sends a request to the beacon node. An answer other than 200 is an error.
func (w *World) ask(ctx context.Context, what string, r probe.Request) ([]byte, error) {
	answer, err := w.client.Do(ctx, r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	if answer.Status != http.StatusOK {
		return nil, fmt.Errorf("%s: %v", what, answer)
	}
	return answer.Body, nil
}

// proposeGloas makes, signs and publishes the local block of a slot of gloas, and then its payload,
// unless a spec wants the next slot on an empty parent.
func (w *World) proposeGloas(ctx context.Context, slot phase0.Slot) error {
	index, _ := w.network.Beacon.Duty(slot)
	key := w.keys[index]
	config, err := gloas.Mainnet.BuilderConfig.Encode(&gloas.BuilderConfig{BuilderBoostFactor: 0})
	if err != nil {
		return fmt.Errorf("encode the builder config: %w", err)
	}
	raw, err := w.ask(ctx, "make a local block", probe.Request{
		Method: http.MethodPost, Body: config, Header: ofGloas(sszMedia),
		Path: fmt.Sprintf("/eth/v4/validator/blocks/%d?randao_reveal=%#x", slot, w.reveal(key, slot)),
	})
	if err != nil {
		return err
	}
	block, err := gloas.Mainnet.BeaconBlock.Decode(raw)
	if err != nil {
		return fmt.Errorf("decode the local block: %w", err)
	}
	root, err := gloas.Mainnet.BeaconBlock.Root(block)
	if err != nil {
		return fmt.Errorf("hash the local block: %w", err)
	}
	withheld := w.withhold(root, block.Body.SignedExecutionPayloadBid.Message.BlockHash)
	signed, err := gloas.Mainnet.SignedBeaconBlock.Encode(&gloas.SignedBeaconBlock{
		Message: block, Signature: key.Sign(probe.SigningRoot(root, w.domain(probe.DomainProposer, slot))),
	})
	if err != nil {
		return fmt.Errorf("encode the local block: %w", err)
	}
	if _, err := w.ask(ctx, "publish a local block", probe.Request{
		Method: http.MethodPost, Path: "/eth/v2/beacon/blocks", Body: signed, Header: ofGloas(sszMedia),
	}); err != nil || withheld {
		return err
	}
	return w.revealOwn(ctx, slot, root, key)
}

// revealOwn publishes the payload of a local block, whose blobs the beacon node has.
func (w *World) revealOwn(ctx context.Context, slot phase0.Slot, root phase0.Root, key *probe.BLSKey) error {
	raw, err := w.ask(ctx, "fetch an own payload", probe.Request{
		Method: http.MethodGet, Header: map[string]string{"Accept": sszMedia},
		Path: fmt.Sprintf("/eth/v1/validator/execution_payload_envelopes/%d/%#x", slot, root[:]),
	})
	if err != nil {
		return err
	}
	envelope, err := gloas.Mainnet.ExecutionPayloadEnvelope.Decode(raw)
	if err != nil {
		return fmt.Errorf("decode an own payload: %w", err)
	}
	hash, err := gloas.Mainnet.ExecutionPayloadEnvelope.Root(envelope)
	if err != nil {
		return fmt.Errorf("hash an own payload: %w", err)
	}
	signed, err := gloas.Mainnet.SignedExecutionPayloadEnvelope.Encode(&gloas.SignedExecutionPayloadEnvelope{
		Message: envelope, Signature: key.Sign(probe.SigningRoot(hash, w.domain(probe.DomainBeaconBuilder, slot))),
	})
	if err != nil {
		return fmt.Errorf("encode an own payload: %w", err)
	}
	header := ofGloas(sszMedia)
	header[blobsHeader] = "false"
	_, err = w.ask(ctx, "publish an own payload", probe.Request{
		Method: http.MethodPost, Path: envelopesPath, Body: signed, Header: header,
	})
	return err
}

// withhold says whether the payload of a local block is to be withheld, and notes it.
func (w *World) withhold(root phase0.Root, hash phase0.Hash32) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.emptyWanted == 0 {
		return false
	}
	w.withheld[root] = hash
	return true
}

// errNoDependentRoot means that the beacon node does not say what duties depend on.
var errNoDependentRoot = errors.New("the duties have no dependent root")

// prefer tells the beacon node, once in an epoch, what the validators ask for in the slots of this
// epoch and the next that are of gloas. The Stranger asks for nothing.
func (w *World) prefer(ctx context.Context) error {
	spec := w.Spec()
	if !w.cfg.HasGloas() {
		return nil
	}
	for epoch := phase0.Epoch(0); ; epoch++ {
		if w.cfg.Clock.Until(ctx, spec.SlotStart(spec.FirstSlot(epoch))) != nil {
			return nil
		}
		for _, of := range []phase0.Epoch{epoch, epoch + 1} {
			if err := w.preferIn(ctx, of); err != nil && ctx.Err() == nil {
				w.cfg.Log.Warn("the world told no preferences", "epoch", of, "error", err)
			}
		}
	}
}

// preferIn tells the preferences for the slots of an epoch that are not over.
func (w *World) preferIn(ctx context.Context, epoch phase0.Epoch) error {
	if !w.isGloas(w.Spec().FirstSlot(epoch)) {
		return nil
	}
	raw, err := w.ask(ctx, "read duties", probe.Request{
		Method: http.MethodGet, Path: fmt.Sprintf("/eth/v2/validator/duties/proposer/%d", epoch),
	})
	if err != nil {
		return err
	}
	var duties struct {
		Dependent phase0.Root `json:"dependent_root"`
		Data      []struct {
			Slot  phase0.Slot           `json:"slot"`
			Index phase0.ValidatorIndex `json:"validator_index"`
		} `json:"data"`
	}
	if err := json.Unmarshal(raw, &duties); err != nil {
		return fmt.Errorf("read duties: %w", err)
	}
	if duties.Dependent == (phase0.Root{}) {
		return errNoDependentRoot
	}
	var list []json.RawMessage
	now := w.Spec().SlotAt(w.cfg.Clock.Now())
	for _, d := range duties.Data {
		if KindOf(d.Index, w.cfg.Validators) == Stranger || d.Slot < now {
			continue
		}
		entry, err := w.preference(d.Slot, d.Index, duties.Dependent)
		if err != nil {
			return err
		}
		list = append(list, entry)
	}
	body, err := json.Marshal(list)
	if err != nil {
		return fmt.Errorf("encode preferences: %w", err)
	}
	_, err = w.ask(ctx, "tell preferences", probe.Request{
		Method: http.MethodPost, Path: "/eth/v1/validator/proposer_preferences", Body: body, Header: ofGloas(jsonMedia),
	})
	return err
}

// preference signs what a validator asks for in its slot.
func (w *World) preference(slot phase0.Slot, index phase0.ValidatorIndex,
	dependent phase0.Root) (json.RawMessage, error) {
	message := &gloas.ProposerPreferences{
		DependentRoot: dependent, ProposalSlot: slot, ValidatorIndex: index, FeeRecipient: FeeRecipient(int(index)),
		TargetGasLimit: GasTarget(int(index)),
	}
	root, err := gloas.Mainnet.ProposerPreferences.Root(message)
	if err != nil {
		return nil, fmt.Errorf("hash preferences: %w", err)
	}
	domain := w.domain(probe.DomainProposerPreferences, slot)
	return gloas.Mainnet.SignedProposerPreferences.ToJSON(&gloas.SignedProposerPreferences{
		Message: message, Signature: w.keys[index].Sign(probe.SigningRoot(root, domain)),
	})
}
