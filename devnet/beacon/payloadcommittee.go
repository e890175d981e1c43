package beacon

import (
	"fmt"
	"net/http"
	"slices"

	"github.com/OffchainLabs/go-bitfield"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/serve"
)

// committeeSize is how many places the payload timeliness committee of a slot has (PTC_SIZE).
const committeeSize = 512

// payloadMembers returns the validators at the places of a slot's payload timeliness committee.
// Those who attest in the slot take places in turn; in a slot without attesters, all validators do.
func (s schedule) payloadMembers(slot phase0.Slot, slotsPerEpoch uint64) []phase0.ValidatorIndex {
	attesters, list := s.committee(slot, slotsPerEpoch), make([]phase0.ValidatorIndex, committeeSize)
	for place := range list {
		if len(attesters) == 0 {
			list[place] = phase0.ValidatorIndex(uint64(place) % s.validators)
		} else {
			list[place] = attesters[place%len(attesters)]
		}
	}
	return list
}

// seenPayload is what this node would say of a slot's payload; false if the slot has no block. The
// caller holds mu.
func (b *Beacon) seenPayload(slot phase0.Slot) (*gloas.PayloadAttestationData, bool) {
	block := b.choice.ancestor(b.choice.head(), slot)
	if block.Slot != slot || block.bid == nil {
		return nil, false
	}
	due := b.cfg.Spec.SlotStart(slot).Add(partOf(b.cfg.Spec, payloadDue))
	r := b.market.revealed[block.Root]
	inTime := r != nil && !r.at.After(due)
	return &gloas.PayloadAttestationData{
		BeaconBlockRoot: block.Root, Slot: slot, PayloadPresent: inTime, BlobDataAvailable: inTime && r.available,
	}, true
}

// committeeVotes lets all members say what this node has seen.
func (b *Beacon) committeeVotes(slot phase0.Slot) {
	b.mu.Lock()
	said, ok := b.seenPayload(slot)
	if ok {
		for place := range committeeSize {
			b.choice.tree.testify(place, said.BeaconBlockRoot, said.PayloadPresent, said.BlobDataAvailable)
		}
	}
	b.mu.Unlock()
	if !ok {
		return
	}
	first := b.schedule.payloadMembers(slot, b.cfg.Spec.SlotsPerEpoch)[0]
	message, err := b.payloadVote(first, said)
	if err != nil {
		b.log.Error("sign payload attestation", "slot", slot, "error", err)
		return
	}
	b.tellPayloadVote(message)
}

// payloadVote signs what a member says.
func (b *Beacon) payloadVote(member phase0.ValidatorIndex,
	said *gloas.PayloadAttestationData) (*gloas.PayloadAttestationMessage, error) {
	root, err := gloas.Mainnet.PayloadAttestationData.Root(said)
	if err != nil {
		return nil, fmt.Errorf("hash payload attestation: %w", err)
	}
	signature := b.keys[member].Sign(eth.SigningRoot(root, gloas.CommitteeDomain(b.cfg.Spec, said.Slot)))
	return &gloas.PayloadAttestationMessage{ValidatorIndex: member, Data: said, Signature: signature}, nil
}

func (b *Beacon) tellPayloadVote(message *gloas.PayloadAttestationMessage) {
	b.events.send("payload_attestation_message",
		versioned(inJSON(gloas.Mainnet.PayloadAttestationMessage.ToJSON(message))))
}

// payloadAttestations returns what the committee says of a block, for the next block: one aggregate
// for each opinion. Its signature is the point at infinity, as that of the sync committee. The
// caller holds mu.
func (b *Beacon) payloadAttestations(block *Block, slot phase0.Slot) []*gloas.PayloadAttestation {
	if block.bid == nil || block.Slot+1 != slot {
		return nil
	}
	var list []*gloas.PayloadAttestation
	for place := range committeeSize {
		present, available, ok := b.choice.tree.Vote(place, block.Root)
		if !ok {
			continue
		}
		said := gloas.PayloadAttestationData{
			BeaconBlockRoot: block.Root, Slot: block.Slot, PayloadPresent: present, BlobDataAvailable: available,
		}
		aggregate(&list, said).AggregationBits.SetBitAt(uint64(place), true)
	}
	return list
}

// aggregate returns the aggregate of an opinion, and adds it to the list if it is not there.
func aggregate(list *[]*gloas.PayloadAttestation, said gloas.PayloadAttestationData) *gloas.PayloadAttestation {
	for _, a := range *list {
		if *a.Data == said {
			return a
		}
	}
	added := &gloas.PayloadAttestation{
		AggregationBits: bitfield.NewBitvector512(), Data: &said, Signature: phase0.BLSSignature{0xc0},
	}
	*list = append(*list, added)
	return added
}

// payloadAttestationData answers with what a member signs in its slot; 204 if no block was seen
// (beacon-APIs, producePayloadAttestationData).
func (b *Beacon) payloadAttestationData(w http.ResponseWriter, r *http.Request) {
	slot, err := b.querySlot(r)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	b.mu.RLock()
	said, ok := b.seenPayload(slot)
	b.mu.RUnlock()
	if !ok {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set(versionHeader, eth.Gloas.String())
	data(w, r, inJSON(gloas.Mainnet.PayloadAttestationData.ToJSON(said)), map[string]any{"version": eth.Gloas.String()})
}

// committeeDuties lists in which slots of an epoch validators are in the payload timeliness
// committee (beacon-APIs, getPtcDuties).
func (b *Beacon) committeeDuties(w http.ResponseWriter, r *http.Request) {
	epoch, asked, ok := b.askedDuties(w, r)
	if !ok {
		return
	}
	list := []any{}
	for _, slot := range b.slotsOf(epoch) {
		members := b.schedule.payloadMembers(slot, b.cfg.Spec.SlotsPerEpoch)
		slices.Sort(members)
		for _, index := range slices.Compact(members) {
			if !isGloas(b.cfg.Spec.ForkAt(slot)) || !asked[index] {
				continue
			}
			key := b.keys[index].PublicKey()
			list = append(list, map[string]string{
				"pubkey": hexOf(key[:]), "validator_index": decimal(index), "slot": decimal(slot),
			})
		}
	}
	dependent := b.dependentRoot(b.Head(), max(epoch, 1)-1)
	data(w, r, list, map[string]any{"dependent_root": hexOf(dependent[:]), "execution_optimistic": false})
}

// showPayloadAttestations lists what the committee has said of the head (beacon-APIs,
// getPoolPayloadAttestations).
func (b *Beacon) showPayloadAttestations(w http.ResponseWriter, r *http.Request) {
	list := []any{}
	b.mu.RLock()
	head := b.choice.head()
	for _, a := range b.payloadAttestations(head, head.Slot+1) {
		list = append(list, inJSON(gloas.Mainnet.PayloadAttestation.ToJSON(a)))
	}
	b.mu.RUnlock()
	w.Header().Set(versionHeader, eth.Gloas.String())
	data(w, r, list, map[string]any{"version": eth.Gloas.String()})
}

// takePayloadAttestations takes messages of members (beacon-APIs,
// submitPayloadAttestationMessages). The first word of a member counts.
func (b *Beacon) takePayloadAttestations(w http.ResponseWriter, r *http.Request) {
	messages, err := readList(w, r, gloas.Mainnet.PayloadAttestationMessage.FromJSON)
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	for i, message := range messages {
		if err := b.takePayloadAttestation(message); err != nil {
			serve.Refuse(w, r, bad("message %d: %v", i, err))
			return
		}
	}
	w.WriteHeader(http.StatusOK)
}

func (b *Beacon) takePayloadAttestation(message *gloas.PayloadAttestationMessage) error {
	if uint64(message.ValidatorIndex) >= uint64(len(b.keys)) {
		return fmt.Errorf("there is no validator %d", message.ValidatorIndex)
	}
	slot := message.Data.Slot
	root, err := gloas.Mainnet.PayloadAttestationData.Root(message.Data)
	if err != nil {
		return fmt.Errorf("hash payload attestation: %w", err)
	}
	signed := eth.SigningRoot(root, gloas.CommitteeDomain(b.cfg.Spec, slot))
	if err := bls.Verify(b.keys[message.ValidatorIndex].PublicKey(), signed, message.Signature); err != nil {
		return fmt.Errorf("signature: %w", err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	block := b.choice.blocks[message.Data.BeaconBlockRoot]
	if block == nil || block.Slot != slot || block.bid == nil {
		return fmt.Errorf("slot %d has no such block", slot)
	}
	for place, member := range b.schedule.payloadMembers(slot, b.cfg.Spec.SlotsPerEpoch) {
		if member == message.ValidatorIndex {
			b.choice.tree.testify(place, block.Root, message.Data.PayloadPresent, message.Data.BlobDataAvailable)
		}
	}
	b.tellPayloadVote(message)
	return nil
}
