package beacon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet/beacon/epbs"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Deadlines of a slot of gloas, in basis points (consensus-specs, configs).
const (
	attestationDue        = 2500
	payloadDue            = 5000
	payloadAttestationDue = 7500
	basisPoints           = 10_000
)

// partOf is a part of the slot.
func partOf(spec *eth.Spec, points int) time.Duration {
	return spec.SlotDuration * time.Duration(points) / basisPoints
}

// isGloas says whether blocks of a fork have bids, and payloads come in envelopes.
func isGloas(f eth.Fork) bool { return !f.HasBlindedBlocks() }

// hasGloas says whether the network's schedule has gloas.
func (b *Beacon) hasGloas() bool {
	for _, point := range b.cfg.Spec.Forks {
		if isGloas(point.Fork) {
			return true
		}
	}
	return false
}

// market is what the node knows of builders' offers and of payloads, from gloas on.
type market struct {
	revealed    map[phase0.Root]*revealed // by block
	own         map[phase0.Root]*selfBuilt
	preferences map[phase0.Slot]map[phase0.Root]*gloas.SignedProposerPreferences // by dependent root
	bids        epbs.Pool
	urls        map[string]bool // of the builders that proposers have named
}

// revealed is a payload that came in time or not.
type revealed struct {
	envelope  *gloas.SignedExecutionPayloadEnvelope
	at        time.Time
	available bool // its blobs are here
}

func newMarket() market {
	return market{
		revealed: map[phase0.Root]*revealed{}, own: map[phase0.Root]*selfBuilt{},
		preferences: map[phase0.Slot]map[phase0.Root]*gloas.SignedProposerPreferences{}, urls: map[string]bool{},
	}
}

// forget drops what is of slots that are over: payloads when they are final.
func (m *market) forget(slot, final phase0.Slot) {
	for root, r := range m.revealed {
		if r.envelope.Message.Payload.SlotNumber < final {
			delete(m.revealed, root)
		}
	}
	for root, own := range m.own {
		if own.envelope.Payload.SlotNumber+1 < slot {
			delete(m.own, root)
		}
	}
	for of := range m.preferences {
		if of+1 < slot {
			delete(m.preferences, of)
		}
	}
	m.bids.Forget(slot)
}

// rules are what epbs decides by.
func (b *Beacon) rules() *epbs.Rules {
	return &epbs.Rules{
		Spec: b.cfg.Spec, SlotStake: slotStake(b.schedule.validators, b.cfg.Spec.SlotsPerEpoch),
		ValidatorWithdrawals: func(next uint64) []*capella.Withdrawal { return withdrawals(next, b.cfg.Validators) },
	}
}

// stateAt returns what builders own and owe after a block. After one of an earlier fork, builders
// have what they had at genesis.
func (b *Beacon) stateAt(block *Block) (*epbs.State, error) {
	if block.builders != nil {
		return block.builders, nil
	}
	return epbs.First(b.rules(), block.Slot, block.BlockHash, block.nextWithdrawal, b.cfg.Builders)
}

// requestsOf returns the requests of a block's payload that a block on it must repeat. The caller
// holds mu.
func (b *Beacon) requestsOf(block *Block, status epbs.Status) *gloas.ExecutionRequests {
	if r := b.market.revealed[block.Root]; r != nil && status == epbs.Full {
		return r.envelope.Message.ExecutionRequests
	}
	return new(gloas.ExecutionRequests)
}

// withdrawalsOf returns what a payload of gloas must have. The caller holds mu.
func (b *Beacon) withdrawalsOf(slot phase0.Slot, parent *Block, status epbs.Status) []*capella.Withdrawal {
	state, err := b.stateAt(parent)
	if err != nil {
		return nil // cannot happen: New has made the first state
	}
	return state.Withdrawals(b.rules(), slot, status == epbs.Full, b.requestsOf(parent, status))
}

// finalEpoch is the newest final epoch when an epoch runs. On networks with gloas it is never below
// 1, so that builders of genesis, whose deposits are of epoch 0, may bid from the first slot on.
func (b *Beacon) finalEpoch(epoch phase0.Epoch) phase0.Epoch {
	final := max(epoch, finalAfter) - finalAfter
	if b.hasGloas() {
		return max(final, 1)
	}
	return final
}

// runPayload goes through the rest of a slot of gloas: builders of the next slot learn when the
// payload is overdue, and the payload timeliness committee votes. It returns false if the context
// has ended.
func (b *Beacon) runPayload(ctx context.Context, slot phase0.Slot) bool {
	start := b.cfg.Spec.SlotStart(slot)
	if b.cfg.Clock.Until(ctx, start.Add(partOf(b.cfg.Spec, payloadDue))) != nil {
		return false
	}
	b.announce(slot + 1)
	if b.cfg.Clock.Until(ctx, start.Add(partOf(b.cfg.Spec, payloadAttestationDue))) != nil {
		return false
	}
	if b.cfg.CommitteeAbsent == nil || !b.cfg.CommitteeAbsent(slot) {
		b.committeeVotes(slot)
	}
	b.followAfter(ctx, slot)
	return true
}

// expectedParent returns the block on which builders of a slot are to build, and whether on its
// payload. It is the one of the slot's proposer, but as long as the committee of the slot before
// has not voted, a payload that this node has seen in time is expected to be built on. The caller
// holds mu.
func (b *Beacon) expectedParent(slot phase0.Slot) (*Block, epbs.Status) {
	parent, status := b.choice.proposerHead(slot)
	if status == epbs.Full || parent.bid == nil || parent.Slot+1 != slot || parent != b.choice.head() {
		return parent, status
	}
	votes := b.cfg.Spec.SlotStart(parent.Slot).Add(partOf(b.cfg.Spec, payloadAttestationDue))
	seen, ok := b.seenPayload(parent.Slot)
	if ok && seen.PayloadPresent && seen.BlobDataAvailable && b.cfg.Clock.Now().Before(votes) {
		return parent, epbs.Full
	}
	return parent, status
}

// awaitsPayload says whether the payload of the head may still come in time, so that it is too
// early to announce a slot that is built without it. The caller holds mu.
func (b *Beacon) awaitsPayload(head *Block, slot phase0.Slot) bool {
	due := b.cfg.Spec.SlotStart(head.Slot).Add(partOf(b.cfg.Spec, payloadDue))
	return head.bid != nil && head.Slot+1 == slot && !b.choice.tree.Revealed(head.Root) && b.cfg.Clock.Now().Before(due)
}

// gloasBlock is a signed block of gloas in the form in which blocks of the other forks are.
type gloasBlock struct{ *gloas.SignedBeaconBlock }

var errNotForReading = errors.New("blocks of gloas are read by their description")

// MarshalSSZ implements codec.
func (g gloasBlock) MarshalSSZ() ([]byte, error) {
	return gloas.Mainnet.SignedBeaconBlock.Encode(g.SignedBeaconBlock)
}

// MarshalJSON implements codec.
func (g gloasBlock) MarshalJSON() ([]byte, error) {
	return gloas.Mainnet.SignedBeaconBlock.ToJSON(g.SignedBeaconBlock)
}

// UnmarshalSSZ implements codec. It is never called: decodeGloas reads blocks.
func (g gloasBlock) UnmarshalSSZ([]byte) error { return errNotForReading }

// UnmarshalJSON implements codec, as UnmarshalSSZ.
func (g gloasBlock) UnmarshalJSON([]byte) error { return errNotForReading }

// unsignedGloas is a block of gloas before its signature.
type unsignedGloas struct{ *gloas.BeaconBlock }

// MarshalSSZ implements codec.
func (u unsignedGloas) MarshalSSZ() ([]byte, error) {
	return gloas.Mainnet.BeaconBlock.Encode(u.BeaconBlock)
}

// MarshalJSON implements codec.
func (u unsignedGloas) MarshalJSON() ([]byte, error) {
	return gloas.Mainnet.BeaconBlock.ToJSON(u.BeaconBlock)
}

// UnmarshalSSZ implements codec, as that of gloasBlock.
func (u unsignedGloas) UnmarshalSSZ([]byte) error { return errNotForReading }

// UnmarshalJSON implements codec, as that of gloasBlock.
func (u unsignedGloas) UnmarshalJSON([]byte) error { return errNotForReading }

// decodeGloas reads a published block of gloas, which has no blobs.
func decodeGloas(json bool, body []byte) (*signedBlock, error) {
	read := gloas.Mainnet.SignedBeaconBlock.Decode
	if json {
		read = gloas.Mainnet.SignedBeaconBlock.FromJSON
	}
	signed, err := read(body)
	if err != nil {
		return nil, err
	}
	return viewGloas(signed)
}

// viewGloas reads the fields of a signed block that importing needs.
func viewGloas(signed *gloas.SignedBeaconBlock) (*signedBlock, error) {
	m := signed.Message
	s := &signedBlock{
		fork: eth.Gloas, slot: m.Slot, proposer: m.ProposerIndex, parentRoot: m.ParentRoot, stateRoot: m.StateRoot,
		reveal: m.Body.RANDAOReveal, signature: signed.Signature, block: gloasBlock{signed}, gloas: signed,
	}
	var err error
	if s.root, err = gloas.Mainnet.BeaconBlock.Root(m); err != nil {
		return nil, fmt.Errorf("hash block: %w", err)
	}
	if s.bodyRoot, err = gloas.Mainnet.BeaconBlockBody.Root(m.Body); err != nil {
		return nil, fmt.Errorf("hash block body: %w", err)
	}
	return s, nil
}

// versioned encodes the data of an event with the fork's name.
func versioned(data any) []byte {
	return mustJSON(map[string]any{"version": eth.Gloas.String(), "data": data})
}

// inJSON encodes a container of gloas.
func inJSON(raw []byte, err error) json.RawMessage {
	if err != nil {
		return json.RawMessage("null") // cannot happen: the container was decoded or made here
	}
	return raw
}
