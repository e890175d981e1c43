package beacon

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/api"
	apiv1 "github.com/attestantio/go-eth2-client/api/v1"
	apibellatrix "github.com/attestantio/go-eth2-client/api/v1/bellatrix"
	apicapella "github.com/attestantio/go-eth2-client/api/v1/capella"
	apideneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	apifulu "github.com/attestantio/go-eth2-client/api/v1/fulu"
	eth2http "github.com/attestantio/go-eth2-client/http"
	clientspec "github.com/attestantio/go-eth2-client/spec"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/rs/zerolog"

	"github.com/gavel-relay/gavel/internal/eth"
)

// caller asks a network through go-eth2-client, as validator clients and explorers do.
type caller struct {
	*network
	*eth2http.Service
	ctx  context.Context
	fork eth.Fork
}

// wants is the error of an answer that says something else than it should.
func wants(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// answered looks into an answer that came without an error.
func answered[T any](response *api.Response[T], err error, ok func(T) bool) error {
	if err != nil {
		return err
	}
	return wants(ok(response.Data), "says %+v", response.Data)
}

// reveal is what the proposer of a slot signs for its epoch.
func (c *caller) reveal(slot phase0.Slot) phase0.BLSSignature {
	index, _ := c.beacon.Duty(slot)
	epoch := c.spec.EpochOf(slot)
	return c.beacon.ValidatorKey(index).Sign(eth.SigningRoot(epochRoot(epoch), c.spec.RandaoDomain(epoch)))
}

// seal signs a block's root as its proposer.
func (c *caller) seal(slot phase0.Slot, root phase0.Root) phase0.BLSSignature {
	index, _ := c.beacon.Duty(slot)
	return c.beacon.ValidatorKey(index).Sign(eth.SigningRoot(root, c.spec.ProposerDomain(slot)))
}

// next begins the next slot and asks for a block of it.
func (c *caller) next() (phase0.Slot, *api.VersionedProposal, error) {
	slot := c.spec.SlotAt(c.clock.now) + 1
	c.begin(slot)
	response, err := c.Proposal(c.ctx, &api.ProposalOpts{Slot: slot, RandaoReveal: c.reveal(slot)})
	if err != nil {
		return slot, nil, err
	}
	return slot, response.Data, nil
}

// propose makes a block and hands it to the node.
func (c *caller) propose() error {
	slot, proposal, err := c.next()
	if err != nil {
		return err
	}
	root, err := proposal.Root()
	if err != nil {
		return err
	}
	signature := c.seal(slot, root)
	signed := &api.VersionedSignedProposal{Version: proposal.Version}
	switch c.fork {
	case eth.Bellatrix:
		signed.Bellatrix = &bellatrix.SignedBeaconBlock{Message: proposal.Bellatrix, Signature: signature}
	case eth.Capella:
		signed.Capella = &capella.SignedBeaconBlock{Message: proposal.Capella, Signature: signature}
	case eth.Deneb:
		signed.Deneb = &apideneb.SignedBlockContents{SignedBlock: &deneb.SignedBeaconBlock{Message: proposal.Deneb.Block,
			Signature: signature}}
	case eth.Electra:
		signed.Electra = &apielectra.SignedBlockContents{
			SignedBlock: &electra.SignedBeaconBlock{Message: proposal.Electra.Block, Signature: signature},
		}
	default:
		signed.Fulu = &apifulu.SignedBlockContents{SignedBlock: &electra.SignedBeaconBlock{Message: proposal.Fulu.Block,
			Signature: signature}}
	}
	if err := c.SubmitProposal(c.ctx, &api.SubmitProposalOpts{Proposal: signed}); err != nil {
		return err
	}
	return wants(c.beacon.Head().Root == root, "the block is not the head")
}

// proposeBlinded makes a block without its payload, and hands it back signed.
func (c *caller) proposeBlinded(submit func(*api.VersionedSignedBlindedProposal) error) error {
	slot := c.spec.SlotAt(c.clock.now) + 1
	c.begin(slot)
	response, err := c.BlindedProposal(c.ctx, //nolint:staticcheck // old clients call it
		&api.BlindedProposalOpts{Slot: slot, RandaoReveal: c.reveal(slot)})
	if err != nil {
		return err
	}
	proposal := response.Data
	root, err := proposal.Root()
	if err != nil {
		return err
	}
	signature := c.seal(slot, root)
	signed := &api.VersionedSignedBlindedProposal{Version: proposal.Version}
	switch c.fork {
	case eth.Bellatrix:
		signed.Bellatrix = &apibellatrix.SignedBlindedBeaconBlock{Message: proposal.Bellatrix, Signature: signature}
	case eth.Capella:
		signed.Capella = &apicapella.SignedBlindedBeaconBlock{Message: proposal.Capella, Signature: signature}
	case eth.Deneb:
		signed.Deneb = &apideneb.SignedBlindedBeaconBlock{Message: proposal.Deneb, Signature: signature}
	case eth.Electra:
		signed.Electra = &apielectra.SignedBlindedBeaconBlock{Message: proposal.Electra, Signature: signature}
	default:
		signed.Fulu = &apielectra.SignedBlindedBeaconBlock{Message: proposal.Fulu, Signature: signature}
	}
	if err := submit(signed); err != nil {
		return err
	}
	return wants(c.beacon.Head().Root == root, "the block is not the head")
}

// proposeV1 publishes as clients did before blobs.
func (c *caller) proposeV1() error {
	slot, proposal, err := c.next()
	if err != nil {
		return err
	}
	root, err := proposal.Root()
	if err != nil {
		return err
	}
	signature := c.seal(slot, root)
	signed := &clientspec.VersionedSignedBeaconBlock{Version: proposal.Version}
	switch c.fork {
	case eth.Bellatrix:
		signed.Bellatrix = &bellatrix.SignedBeaconBlock{Message: proposal.Bellatrix, Signature: signature}
	case eth.Capella:
		signed.Capella = &capella.SignedBeaconBlock{Message: proposal.Capella, Signature: signature}
	default:
		return nil // the call has no blobs, and blocks have come with them since deneb
	}
	if err := c.SubmitBeaconBlock(c.ctx, signed); err != nil { //nolint:staticcheck // old clients call it
		return err
	}
	return wants(c.beacon.Head().Root == root, "the block is not the head")
}

// attestation is what a slot's committee says, and who may send it.
func (c *caller) attestation(slot phase0.Slot) (*phase0.AttestationData, *clientspec.VersionedAttestation, error) {
	said, err := c.AttestationData(c.ctx, &api.AttestationDataOpts{Slot: slot})
	if err != nil {
		return nil, nil, err
	}
	root, err := said.Data.HashTreeRoot()
	if err != nil {
		return nil, nil, err
	}
	aggregate, err := c.AggregateAttestation(c.ctx, &api.AggregateAttestationOpts{Slot: slot, AttestationDataRoot: root})
	if err != nil {
		return nil, nil, err
	}
	return said.Data, aggregate.Data, nil
}

var (
	exit = &phase0.SignedVoluntaryExit{Message: &phase0.VoluntaryExit{Epoch: 1, ValidatorIndex: 3}}
	both = []phase0.ValidatorIndex{2, 5}
)

// header is one of two that an equivocating proposer signed.
func header(graffiti byte) *phase0.SignedBeaconBlockHeader {
	return &phase0.SignedBeaconBlockHeader{Message: &phase0.BeaconBlockHeader{Slot: 1, BodyRoot: phase0.Root{graffiti}}}
}

// indexed is one of two attestations that contradict each other.
func indexed(target byte) *phase0.IndexedAttestation {
	return &phase0.IndexedAttestation{AttestingIndices: []uint64{1}, Data: &phase0.AttestationData{
		Source: &phase0.Checkpoint{}, Target: &phase0.Checkpoint{Root: phase0.Root{target}},
	}}
}

// calls are all that the library can ask a node for, with what the answer has to say.
var calls = map[string]func(c *caller) error{
	"AggregateAttestation": func(c *caller) error {
		_, aggregate, err := c.attestation(1)
		if err != nil {
			return err
		}
		data, err := aggregate.Data()
		return errors.Join(err, wants(data != nil && data.Slot == 1, "of %v", data))
	},
	"AttestationData": func(c *caller) error {
		data, _, err := c.attestation(1)
		if err != nil {
			return err
		}
		block, _ := c.beacon.Canonical(1)
		return wants(data.BeaconBlockRoot == block.Root && data.Target.Root == c.beacon.choice.genesis.Root, "says %v", data)
	},
	"AttestationPool": func(c *caller) error {
		response, err := c.AttestationPool(c.ctx, &api.AttestationPoolOpts{})
		return answered(response, err, func(list []*clientspec.VersionedAttestation) bool { return len(list) == 0 })
	},
	"AttestationRewards": func(c *caller) error {
		response, err := c.AttestationRewards(c.ctx, &api.AttestationRewardsOpts{Epoch: 0, Indices: both})
		return answered(response, err, func(r *apiv1.AttestationRewards) bool { return len(r.TotalRewards) == 2 })
	},
	"AttesterDuties": func(c *caller) error {
		response, err := c.AttesterDuties(c.ctx, &api.AttesterDutiesOpts{Epoch: 1, Indices: both})
		return answered(response, err, func(list []*apiv1.AttesterDuty) bool {
			return len(list) == 2 && list[0].PubKey == c.beacon.ValidatorKey(list[0].ValidatorIndex).PublicKey()
		})
	},
	"BeaconBlockHeader": func(c *caller) error {
		response, err := c.BeaconBlockHeader(c.ctx, &api.BeaconBlockHeaderOpts{Block: "0"})
		return answered(response, err, func(h *apiv1.BeaconBlockHeader) bool {
			return h.Canonical && h.Header.Message.Slot == 0
		})
	},
	"BeaconBlockRoot": func(c *caller) error {
		response, err := c.BeaconBlockRoot(c.ctx, &api.BeaconBlockRootOpts{Block: "head"})
		return answered(response, err, func(root *phase0.Root) bool { return *root == c.beacon.Head().Root })
	},
	"BeaconCommitteeSelections": func(c *caller) error {
		response, err := c.BeaconCommitteeSelections(c.ctx, &api.BeaconCommitteeSelectionsOpts{
			Selections: []*apiv1.BeaconCommitteeSelection{{ValidatorIndex: 1, Slot: 2}},
		})
		return answered(response, err, func(list []*apiv1.BeaconCommitteeSelection) bool {
			return len(list) == 1 && list[0].Slot == 2
		})
	},
	"BeaconCommittees": func(c *caller) error {
		response, err := c.BeaconCommittees(c.ctx, &api.BeaconCommitteesOpts{State: "head"})
		return answered(response, err, func(list []*apiv1.BeaconCommittee) bool {
			seen := map[phase0.ValidatorIndex]bool{}
			for _, committee := range list {
				for _, index := range committee.Validators {
					seen[index] = true
				}
			}
			return len(list) == 4 && len(seen) == 8 // everybody, once an epoch
		})
	},
	"BeaconState": func(c *caller) error {
		response, err := c.BeaconState(c.ctx, &api.BeaconStateOpts{State: "head"})
		return answered(response, err, func(state *clientspec.VersionedBeaconState) bool {
			slot, slotErr := state.Slot()
			validators, err := state.Validators()
			return errors.Join(slotErr, err) == nil && slot == c.beacon.Head().Slot && len(validators) == 8 &&
				validators[7].PublicKey == c.beacon.ValidatorKey(7).PublicKey()
		})
	},
	"BeaconStateRandao": func(c *caller) error {
		response, err := c.BeaconStateRandao(c.ctx, &api.BeaconStateRandaoOpts{State: "head"})
		return answered(response, err, func(mix *phase0.Root) bool { return *mix == c.beacon.Head().randao })
	},
	"BeaconStateRoot": func(c *caller) error {
		response, err := c.BeaconStateRoot(c.ctx, &api.BeaconStateRootOpts{State: "head"})
		return answered(response, err, func(root *phase0.Root) bool {
			return *root == c.beacon.Head().header.Message.StateRoot
		})
	},
	"BlindedProposal": func(c *caller) error {
		slot := c.spec.SlotAt(c.clock.now) + 1
		c.begin(slot)
		response, err := c.BlindedProposal(c.ctx, //nolint:staticcheck // old clients call it
			&api.BlindedProposalOpts{Slot: slot, RandaoReveal: c.reveal(slot)})
		return answered(response, err, func(p *api.VersionedBlindedProposal) bool {
			at, err := p.Slot()
			return err == nil && at == slot
		})
	},
	"BlobSidecars": func(c *caller) error {
		response, err := c.BlobSidecars(c.ctx, &api.BlobSidecarsOpts{Block: "head"})
		return answered(response, err, func(list []*deneb.BlobSidecar) bool { return len(list) == 0 })
	},
	"Blobs": func(c *caller) error {
		response, err := c.Blobs(c.ctx, &api.BlobsOpts{Block: "head"})
		return answered(response, err, func(list apiv1.Blobs) bool { return len(list) == 0 })
	},
	"BlockRewards": func(c *caller) error {
		response, err := c.BlockRewards(c.ctx, &api.BlockRewardsOpts{Block: "head"})
		return answered(response, err, func(r *apiv1.BlockRewards) bool {
			return r.ProposerIndex == c.beacon.Head().ProposerIndex
		})
	},
	"CheckConnectionState": func(c *caller) error {
		c.CheckConnectionState(c.ctx)
		return wants(c.IsActive() && c.IsSynced(), "the node counts as away")
	},
	"DepositContract": func(c *caller) error {
		response, err := c.DepositContract(c.ctx, &api.DepositContractOpts{})
		return answered(response, err, func(d *apiv1.DepositContract) bool { return d.ChainID == 0 })
	},
	"Domain": func(c *caller) error {
		domain, err := c.Domain(c.ctx, domainBeaconAttester, 1)
		return errors.Join(err, wants(domain == c.beacon.domain(4, domainBeaconAttester), "is %#x", domain))
	},
	"EpochFromStateID": func(c *caller) error { _, err := c.EpochFromStateID(c.ctx, "4"); return err },
	"Events": func(c *caller) error {
		events := make(chan *apiv1.Event, 4)
		handler := func(e *apiv1.Event) { events <- e }
		if err := c.Events(c.ctx, &api.EventsOpts{Topics: []string{"finalized_checkpoint"}, Handler: handler}); err != nil {
			return err
		}
		c.connected()
		first := (c.spec.SlotAt(c.clock.now)/4 + 3) * 4
		c.begin(first - 1)
		if err := c.propose(); err != nil { // the block of slot first
			return err
		}
		c.begin(first + 8) // the block is two epochs old now
		for {              // the first slot made older blocks final
			select {
			case event := <-events:
				checkpoint := event.Data.(*apiv1.FinalizedCheckpointEvent)
				if checkpoint.Epoch == c.spec.EpochOf(first) {
					return wants(checkpoint.Block == c.beacon.choice.final.Root, "%+v", checkpoint)
				}
			case <-c.ctx.Done():
				return c.ctx.Err()
			}
		}
	},
	"FarFutureEpoch": func(c *caller) error { _, err := c.FarFutureEpoch(c.ctx); return err },
	"Finality": func(c *caller) error {
		response, err := c.Finality(c.ctx, &api.FinalityOpts{State: "head"})
		return answered(response, err, func(f *apiv1.Finality) bool { return f.Finalized != nil && f.Justified != nil })
	},
	"Fork": func(c *caller) error {
		response, err := c.Fork(c.ctx, &api.ForkOpts{State: "head"})
		return answered(response, err, func(f *phase0.Fork) bool { return f.CurrentVersion == c.spec.Forks[0].Version })
	},
	"ForkChoice": func(c *caller) error {
		response, err := c.ForkChoice(c.ctx, &api.ForkChoiceOpts{})
		return answered(response, err, func(f *apiv1.ForkChoice) bool {
			return slices.ContainsFunc(f.ForkChoiceNodes, func(n *apiv1.ForkChoiceNode) bool {
				return n.BlockRoot == c.beacon.Head().Root
			})
		})
	},
	"ForkSchedule": func(c *caller) error {
		response, err := c.ForkSchedule(c.ctx, &api.ForkScheduleOpts{})
		// phase0 and altair come first, whatever comes at genesis
		return answered(response, err, func(list []*phase0.Fork) bool {
			return len(list) == 2+int(c.fork) && list[len(list)-1].CurrentVersion == c.spec.Forks[0].Version
		})
	},
	"Genesis": func(c *caller) error {
		response, err := c.Genesis(c.ctx, &api.GenesisOpts{})
		return answered(response, err, func(g *apiv1.Genesis) bool { return g.GenesisTime.Equal(c.spec.GenesisTime) })
	},
	"GenesisDomain": func(c *caller) error {
		domain, err := c.GenesisDomain(c.ctx, eth.DomainApplicationBuilder)
		return errors.Join(err, wants(domain == c.spec.BuilderDomain(), "is %#x", domain))
	},
	"GenesisTime": func(c *caller) error { _, err := c.GenesisTime(c.ctx); return err },
	"NodeClient":  func(c *caller) error { _, err := c.NodeClient(c.ctx); return err },
	"NodePeers": func(c *caller) error {
		response, err := c.NodePeers(c.ctx, &api.NodePeersOpts{})
		return answered(response, err, func(list []*apiv1.Peer) bool { return len(list) == 0 })
	},
	"NodeSyncing": func(c *caller) error {
		response, err := c.NodeSyncing(c.ctx, &api.NodeSyncingOpts{})
		return answered(response, err, func(s *apiv1.SyncState) bool { return !s.IsSyncing })
	},
	"NodeVersion": func(c *caller) error { _, err := c.NodeVersion(c.ctx, &api.NodeVersionOpts{}); return err },
	"PendingConsolidations": func(c *caller) error {
		response, err := c.PendingConsolidations(c.ctx, &api.PendingConsolidationsOpts{State: "head"})
		return answered(response, err, func(list []*electra.PendingConsolidation) bool { return len(list) == 0 })
	},
	"PendingDeposits": func(c *caller) error {
		response, err := c.PendingDeposits(c.ctx, &api.PendingDepositsOpts{State: "head"})
		return answered(response, err, func(list []*electra.PendingDeposit) bool { return len(list) == 0 })
	},
	"PendingPartialWithdrawals": func(c *caller) error {
		response, err := c.PendingPartialWithdrawals(c.ctx, &api.PendingPartialWithdrawalsOpts{State: "head"})
		return answered(response, err, func(list []*electra.PendingPartialWithdrawal) bool { return len(list) == 0 })
	},
	"Proposal": func(c *caller) error { return c.propose() },
	"ProposerDuties": func(c *caller) error {
		response, err := c.ProposerDuties(c.ctx, &api.ProposerDutiesOpts{Epoch: 0})
		return answered(response, err, func(list []*apiv1.ProposerDuty) bool { return len(list) == 4 })
	},
	"SignedBeaconBlock": func(c *caller) error {
		for _, id := range []string{"head", "genesis", "0", "finalized", "1"} {
			response, err := c.SignedBeaconBlock(c.ctx, &api.SignedBeaconBlockOpts{Block: id})
			if err != nil {
				return fmt.Errorf("block %s: %w", id, err)
			}
			want, err := c.beacon.find(id)
			if err != nil {
				return err
			}
			if root, err := response.Data.Root(); err != nil || root != want.Root {
				return fmt.Errorf("block %s has root %#x, not %#x: %w", id, root, want.Root, err)
			}
		}
		return nil
	},
	"SlotDuration":    func(c *caller) error { _, err := c.SlotDuration(c.ctx); return err },
	"SlotFromStateID": func(c *caller) error { _, err := c.SlotFromStateID(c.ctx, "4"); return err },
	"SlotsPerEpoch":   func(c *caller) error { _, err := c.SlotsPerEpoch(c.ctx); return err },
	"Spec": func(c *caller) error {
		response, err := c.Spec(c.ctx, &api.SpecOpts{})
		return answered(response, err, func(table map[string]any) bool {
			return table["ALTAIR_FORK_VERSION"] != table["BELLATRIX_FORK_VERSION"]
		})
	},
	"SubmitAggregateAttestations": func(c *caller) error {
		_, aggregate, err := c.attestation(1)
		if err != nil {
			return err
		}
		return c.SubmitAggregateAttestations(c.ctx, &api.SubmitAggregateAttestationsOpts{
			SignedAggregateAndProofs: []*clientspec.VersionedSignedAggregateAndProof{aggregateAndProof(aggregate)},
		})
	},
	"SubmitAttestations": func(c *caller) error {
		_, aggregate, err := c.attestation(1)
		if err != nil {
			return err
		}
		if c.fork >= eth.Electra {
			index := phase0.ValidatorIndex(0)
			aggregate.ValidatorIndex = &index
		}
		return c.SubmitAttestations(c.ctx,
			&api.SubmitAttestationsOpts{Attestations: []*clientspec.VersionedAttestation{aggregate}})
	},
	"SubmitAttesterSlashing": func(c *caller) error {
		return c.SubmitAttesterSlashing(c.ctx, &phase0.AttesterSlashing{Attestation1: indexed(1), Attestation2: indexed(2)})
	},
	"SubmitBLSToExecutionChanges": func(c *caller) error {
		return c.SubmitBLSToExecutionChanges(c.ctx,
			[]*capella.SignedBLSToExecutionChange{{Message: &capella.BLSToExecutionChange{ValidatorIndex: 1}}})
	},
	"SubmitBeaconBlock": func(c *caller) error { return c.proposeV1() },
	"SubmitBeaconCommitteeSubscriptions": func(c *caller) error {
		return c.SubmitBeaconCommitteeSubscriptions(c.ctx,
			[]*apiv1.BeaconCommitteeSubscription{{ValidatorIndex: 1, Slot: 2, CommitteesAtSlot: 1}})
	},
	"SubmitBlindedBeaconBlock": func(c *caller) error {
		return c.proposeBlinded(func(p *api.VersionedSignedBlindedProposal) error {
			return c.SubmitBlindedBeaconBlock(c.ctx, //nolint:staticcheck // old clients call it
				&api.VersionedSignedBlindedBeaconBlock{
					Version: p.Version, Bellatrix: p.Bellatrix, Capella: p.Capella, Deneb: p.Deneb, Electra: p.Electra, Fulu: p.Fulu,
				})
		})
	},
	"SubmitBlindedProposal": func(c *caller) error {
		return c.proposeBlinded(func(p *api.VersionedSignedBlindedProposal) error {
			return c.SubmitBlindedProposal(c.ctx, &api.SubmitBlindedProposalOpts{Proposal: p})
		})
	},
	"SubmitProposal": func(c *caller) error { return c.propose() },
	"SubmitProposalPreparations": func(c *caller) error {
		return c.SubmitProposalPreparations(c.ctx, []*apiv1.ProposalPreparation{{ValidatorIndex: 1}})
	},
	"SubmitProposalSlashing": func(c *caller) error {
		return c.SubmitProposalSlashing(c.ctx, &phase0.ProposerSlashing{SignedHeader1: header(1), SignedHeader2: header(2)})
	},
	"SubmitSyncCommitteeContributions": func(c *caller) error {
		response, err := c.contributed()
		if err != nil {
			return err
		}
		return c.SubmitSyncCommitteeContributions(c.ctx, []*altair.SignedContributionAndProof{{
			Message: &altair.ContributionAndProof{Contribution: response.Data},
		}})
	},
	"SubmitSyncCommitteeMessages": func(c *caller) error {
		return c.SubmitSyncCommitteeMessages(c.ctx, []*altair.SyncCommitteeMessage{{Slot: 1}})
	},
	"SubmitSyncCommitteeSubscriptions": func(c *caller) error {
		return c.SubmitSyncCommitteeSubscriptions(c.ctx, []*apiv1.SyncCommitteeSubscription{{ValidatorIndex: 1}})
	},
	"SubmitValidatorRegistrations": func(c *caller) error {
		return c.SubmitValidatorRegistrations(c.ctx, []*api.VersionedSignedValidatorRegistration{{
			Version: clientspec.BuilderVersionV1, V1: &apiv1.SignedValidatorRegistration{Message: &apiv1.ValidatorRegistration{
				Timestamp: time.Unix(1, 0)}},
		}})
	},
	"SubmitVoluntaryExit": func(c *caller) error { return c.SubmitVoluntaryExit(c.ctx, exit) },
	"SyncCommittee": func(c *caller) error {
		response, err := c.SyncCommittee(c.ctx, &api.SyncCommitteeOpts{State: "head"})
		return answered(response, err, func(s *apiv1.SyncCommittee) bool {
			return len(s.Validators) == 512 && len(s.ValidatorAggregates) == 4
		})
	},
	"SyncCommitteeContribution": func(c *caller) error { _, err := c.contributed(); return err },
	"SyncCommitteeDuties": func(c *caller) error {
		response, err := c.SyncCommitteeDuties(c.ctx, &api.SyncCommitteeDutiesOpts{Epoch: 0, Indices: both})
		return answered(response, err, func(list []*apiv1.SyncCommitteeDuty) bool {
			return len(list) == 2 && len(list[0].ValidatorSyncCommitteeIndices) == 64
		})
	},
	"SyncCommitteeRewards": func(c *caller) error {
		response, err := c.SyncCommitteeRewards(c.ctx, &api.SyncCommitteeRewardsOpts{Block: "head", Indices: both})
		return answered(response, err, func(list []*apiv1.SyncCommitteeReward) bool { return len(list) == 2 })
	},
	"TargetAggregatorsPerCommittee": func(c *caller) error {
		_, err := c.TargetAggregatorsPerCommittee(c.ctx)
		return err
	},
	"ValidatorBalances": func(c *caller) error {
		response, err := c.ValidatorBalances(c.ctx, &api.ValidatorBalancesOpts{State: "head", Indices: both})
		return answered(response, err, func(table map[phase0.ValidatorIndex]phase0.Gwei) bool {
			return len(table) == 2 && table[5] == validatorGwei
		})
	},
	"ValidatorLiveness": func(c *caller) error {
		response, err := c.ValidatorLiveness(c.ctx, &api.ValidatorLivenessOpts{Epoch: 0, Indices: both})
		return answered(response, err, func(list []*apiv1.ValidatorLiveness) bool { return len(list) == 2 && list[0].IsLive })
	},
	"Validators": func(c *caller) error { // without indices, which the library reads from the whole state
		response, err := c.Validators(c.ctx, &api.ValidatorsOpts{State: "head"})
		return answered(response, err, func(table map[phase0.ValidatorIndex]*apiv1.Validator) bool {
			return len(table) == 8 && table[3].Status == apiv1.ValidatorStateActiveOngoing
		})
	},
	"VoluntaryExitPool": func(c *caller) error {
		if err := c.SubmitVoluntaryExit(c.ctx, exit); err != nil {
			return err
		}
		response, err := c.VoluntaryExitPool(c.ctx, &api.VoluntaryExitPoolOpts{})
		return answered(response, err, func(list []*phase0.SignedVoluntaryExit) bool {
			return len(list) > 0 && list[0].Message.ValidatorIndex == 3
		})
	},
}

func (c *caller) contributed() (*api.Response[*altair.SyncCommitteeContribution], error) {
	return c.SyncCommitteeContribution(c.ctx, &api.SyncCommitteeContributionOpts{
		Slot: 1, SubcommitteeIndex: 2, BeaconBlockRoot: c.beacon.Head().Root,
	})
}

// connected returns when the node has a listener: the library subscribes behind the caller's back.
func (c *caller) connected() {
	for {
		c.beacon.events.mu.Lock()
		count := len(c.beacon.events.listeners)
		c.beacon.events.mu.Unlock()
		if count > 0 || c.ctx.Err() != nil {
			return
		}
	}
}

func aggregateAndProof(aggregate *clientspec.VersionedAttestation) *clientspec.VersionedSignedAggregateAndProof {
	signed := &clientspec.VersionedSignedAggregateAndProof{Version: aggregate.Version}
	old := func(a *phase0.Attestation) *phase0.SignedAggregateAndProof {
		return &phase0.SignedAggregateAndProof{Message: &phase0.AggregateAndProof{Aggregate: a}}
	}
	now := func(a *electra.Attestation) *electra.SignedAggregateAndProof {
		return &electra.SignedAggregateAndProof{Message: &electra.AggregateAndProof{Aggregate: a}}
	}
	switch aggregate.Version {
	case clientspec.DataVersionBellatrix:
		signed.Bellatrix = old(aggregate.Bellatrix)
	case clientspec.DataVersionCapella:
		signed.Capella = old(aggregate.Capella)
	case clientspec.DataVersionDeneb:
		signed.Deneb = old(aggregate.Deneb)
	case clientspec.DataVersionElectra:
		signed.Electra = now(aggregate.Electra)
	default:
		signed.Fulu = now(aggregate.Fulu)
	}
	return signed
}

// Whatever go-eth2-client can ask a node for, in whatever fork, is answered: all methods of its
// service that take a context, so that those of a newer version are missed here first.
func TestEveryCallOfTheRealClient(t *testing.T) {
	for _, fork := range eth.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // so that what never comes is named
			defer cancel()
			n := newNetworkIn(t, fork)
			service, err := eth2http.New(ctx, eth2http.WithAddress(n.url), eth2http.WithTimeout(time.Minute),
				eth2http.WithLogLevel(zerolog.Disabled))
			if err != nil {
				t.Fatal(err)
			}
			c := &caller{n, service.(*eth2http.Service), ctx, fork}
			if err := c.propose(); err != nil {
				t.Fatal(err)
			}
			for _, name := range asked(c.Service) {
				if call := calls[name]; call == nil {
					t.Errorf("%s has no row", name)
				} else if err := call(c); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// asked are the names of all methods that take a context.
func asked(service *eth2http.Service) (names []string) {
	kind := reflect.TypeOf(service)
	wanted := reflect.TypeFor[context.Context]()
	for i := range kind.NumMethod() {
		if method := kind.Method(i); method.Type.NumIn() > 1 && method.Type.In(1) == wanted {
			names = append(names, method.Name)
		}
	}
	return names
}
