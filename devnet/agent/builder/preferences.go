package builder

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay/client"
)

// preferences are what proposers have told the network, from gloas on. It is safe for concurrent
// use; the zero value has none.
type preferences struct {
	mu     sync.Mutex // guards bySlot
	bySlot map[phase0.Slot]*gloas.ProposerPreferences
}

var errNoPreferences = errors.New("the slot's proposer has told the network no preferences")

// preferencesKept is for how many slots preferences are kept: two epochs and more.
const preferencesKept = 1024

// add takes the data of a proposer_preferences event. The beacon node has checked its signature.
func (p *preferences) add(data []byte) error {
	var event struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(data, &event); err != nil {
		return fmt.Errorf("decode preferences: %w", err)
	}
	signed, err := gloas.Mainnet.SignedProposerPreferences.FromJSON(event.Data)
	if err != nil {
		return fmt.Errorf("decode preferences: %w", err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bySlot == nil {
		p.bySlot = map[phase0.Slot]*gloas.ProposerPreferences{}
	}
	newest := signed.Message.ProposalSlot
	p.bySlot[newest] = signed.Message
	for slot := range p.bySlot {
		if slot+preferencesKept < newest {
			delete(p.bySlot, slot)
		}
	}
	return nil
}

// duty returns whom to pay in a slot, and the gas limit to aim at.
func (p *preferences) duty(slot phase0.Slot) (client.Duty, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.bySlot[slot]
	if known == nil {
		return client.Duty{}, errNoPreferences
	}
	return client.Duty{Slot: slot, Index: known.ValidatorIndex, Registration: &builderv1.SignedValidatorRegistration{
		Message: &builderv1.ValidatorRegistration{FeeRecipient: known.FeeRecipient, GasLimit: known.TargetGasLimit},
	}}, nil
}
