package beacon

import (
	"net/http"
	"strconv"

	"github.com/OffchainLabs/go-bitfield"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
)

// Domains of what committees sign (consensus-specs, "Domain types").
var (
	domainBeaconAttester = phase0.DomainType{1}
	domainSyncCommittee  = phase0.DomainType{7}
)

// attestationOf returns what a slot's committee attests to. The caller holds mu.
func (b *Beacon) attestationOf(slot phase0.Slot) *phase0.AttestationData {
	epoch := b.cfg.Spec.EpochOf(slot)
	head := b.choice.ancestor(b.choice.head(), slot)
	source := max(epoch, 1) - 1
	return &phase0.AttestationData{
		Slot: slot, BeaconBlockRoot: head.Root,
		Source: &phase0.Checkpoint{Epoch: source, Root: b.choice.checkpoint(head, epoch, 1).Root},
		Target: &phase0.Checkpoint{Epoch: epoch, Root: b.choice.checkpoint(head, epoch, 0).Root},
	}
}

// attestationData answers with what a validator signs in its slot (beacon-APIs,
// produceAttestationData).
func (b *Beacon) attestationData(w http.ResponseWriter, r *http.Request) {
	slot, err := b.querySlot(r)
	index := r.URL.Query().Get("committee_index")
	if err == nil && index != "" && index != "0" && !b.cfg.Spec.ForkAt(slot).HasCommitteeBits() {
		err = bad("committee_index is %.40q: this network has one committee a slot, 0", index)
	}
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	b.mu.RLock()
	attestation := b.attestationOf(slot)
	b.mu.RUnlock()
	data(w, r, attestation, nil)
}

// aggregate answers with a slot's attestation, signed by the committee's first member only
// (beacon-APIs, getAggregatedAttestationV2).
func (b *Beacon) aggregate(w http.ResponseWriter, r *http.Request) {
	slot, err := b.querySlot(r)
	var wanted phase0.Root
	if err == nil {
		if parseErr := eth.ParseHex(r.URL.Query().Get("attestation_data_root"), wanted[:]); parseErr != nil {
			err = bad("attestation_data_root: %v", parseErr)
		}
	}
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	b.mu.RLock()
	attestation := b.attestationOf(slot)
	b.mu.RUnlock()
	members := b.schedule.committee(slot, b.cfg.Spec.SlotsPerEpoch)
	root, err := attestation.HashTreeRoot()
	if err == nil && (root != wanted || len(members) == 0) {
		err = problem{http.StatusNotFound, "no attestation with this root is known"}
	}
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	bits := bitfield.NewBitlist(uint64(len(members)))
	bits.SetBitAt(0, true)
	domain := b.domain(slot, domainBeaconAttester)
	signature := b.keys[members[0]].Sign(eth.SigningRoot(root, domain))
	fork := b.cfg.Spec.ForkAt(slot)
	w.Header().Set(versionHeader, fork.String())
	extra := map[string]any{"version": fork.String()}
	if !fork.HasCommitteeBits() {
		data(w, r, &phase0.Attestation{AggregationBits: bits, Data: attestation, Signature: signature}, extra)
		return
	}
	committee := bitfield.NewBitvector64()
	committee.SetBitAt(0, true)
	data(w, r, &electra.Attestation{
		AggregationBits: bits, Data: attestation, Signature: signature, CommitteeBits: committee,
	}, extra)
}

// contribution answers with what the first member of a sync subcommittee signs (beacon-APIs,
// produceSyncCommitteeContribution).
func (b *Beacon) contribution(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	slot, err := b.querySlot(r)
	var root phase0.Root
	if err == nil {
		if parseErr := eth.ParseHex(query.Get("beacon_block_root"), root[:]); parseErr != nil {
			err = bad("beacon_block_root: %v", parseErr)
		} else {
			_, err = b.find(query.Get("beacon_block_root"))
		}
	}
	group, parseErr := strconv.ParseUint(query.Get("subcommittee_index"), 10, 8)
	if err == nil && (parseErr != nil || group >= syncSubcommittees) {
		err = bad("subcommittee_index is %.40q: want 0 to %d", query.Get("subcommittee_index"), syncSubcommittees-1)
	}
	if err != nil {
		serve.Refuse(w, r, err)
		return
	}
	bits := bitfield.NewBitvector128()
	bits.SetBitAt(0, true)
	member := b.schedule.syncMember(group * syncCommitteeSize / syncSubcommittees)
	data(w, r, &altair.SyncCommitteeContribution{
		Slot: slot, BeaconBlockRoot: root, SubcommitteeIndex: group, AggregationBits: bits,
		Signature: b.keys[member].Sign(eth.SigningRoot(root, b.domain(slot, domainSyncCommittee))),
	}, nil)
}

// domain returns the domain of a signature at a slot (consensus-specs, get_domain).
func (b *Beacon) domain(slot phase0.Slot, kind phase0.DomainType) phase0.Domain {
	spec := b.cfg.Spec
	return eth.ComputeDomain(kind, spec.ForkPointAt(spec.EpochOf(slot)).Version, spec.GenesisValidatorsRoot)
}
