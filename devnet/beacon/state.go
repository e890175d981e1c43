package beacon

import (
	"reflect"

	"github.com/OffchainLabs/go-bitfield"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/fulu"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Lengths of a state's vectors in the mainnet preset, which this node says that it uses
// (consensus-specs, "State list lengths"; fulu, proposer_lookahead).
const (
	slotsPerHistoricalRoot    = 8192
	epochsPerHistoricalVector = 65536
	epochsPerSlashingsVector  = 8192
	lookaheadSlots            = 64
)

// stateAfter returns a state in the standard's form, filled with what the emulation knows: the
// chain, the fork, checkpoints, validators, their balances and committees. Its hash is not the
// emulated state root in the blocks.
func (b *Beacon) stateAfter(block *Block) codec {
	return forms[block.Fork].state(b.fuluState(block)) // every block is of a fork that has a form
}

// copyFields copies the fields that have the same name and type in two structs. Forks add fields
// and keep most others.
func copyFields(from, to any) {
	source, target := reflect.ValueOf(from).Elem(), reflect.ValueOf(to).Elem()
	for i := range target.NumField() {
		field := source.FieldByName(target.Type().Field(i).Name)
		if field.IsValid() && field.Type() == target.Field(i).Type() {
			target.Field(i).Set(field)
		}
	}
}

// fuluState returns a state of fulu, which has the fields of all forks.
func (b *Beacon) fuluState(block *Block) *fulu.BeaconState {
	spec, count := b.cfg.Spec, len(b.keys)
	epoch := spec.EpochOf(block.Slot)
	point, previous := spec.ForkPointAt(epoch), spec.GenesisForkVersion
	for _, earlier := range spec.Forks {
		if !earlier.Fork.Includes(point.Fork) {
			previous = earlier.Version
		}
	}
	state := &fulu.BeaconState{
		GenesisTime: spec.Timestamp(0), GenesisValidatorsRoot: spec.GenesisValidatorsRoot, Slot: block.Slot,
		Fork:              &phase0.Fork{PreviousVersion: previous, CurrentVersion: point.Version, Epoch: point.Epoch},
		LatestBlockHeader: block.header.Message, HistoricalRoots: []phase0.Root{}, ETH1Data: template{}.eth1(),
		ETH1DataVotes: []*phase0.ETH1Data{}, Slashings: make([]phase0.Gwei, epochsPerSlashingsVector),
		PreviousEpochParticipation: make([]altair.ParticipationFlags, count),
		CurrentEpochParticipation:  make([]altair.ParticipationFlags, count), InactivityScores: make([]uint64, count),
		JustificationBits: bitfield.Bitvector4{0}, CurrentSyncCommittee: b.syncMembers(), NextSyncCommittee: b.syncMembers(),
		LatestExecutionPayloadHeader: latestHeader(block), NextWithdrawalIndex: capella.WithdrawalIndex(block.nextWithdrawal),
		NextWithdrawalValidatorIndex: phase0.ValidatorIndex(block.nextWithdrawal % uint64(count)),
		HistoricalSummaries:          []*capella.HistoricalSummary{}, PendingDeposits: []*electra.PendingDeposit{},
		PendingPartialWithdrawals: []*electra.PendingPartialWithdrawal{},
		PendingConsolidations:     []*electra.PendingConsolidation{},
	}
	for i := range count {
		key := b.keys[i].PublicKey()
		state.Validators = append(state.Validators, &phase0.Validator{
			PublicKey: key, WithdrawalCredentials: credentialsOf(i), EffectiveBalance: validatorGwei,
			ExitEpoch: farFuture, WithdrawableEpoch: farFuture,
		})
		state.Balances = append(state.Balances, validatorGwei)
	}
	for i := range phase0.Slot(lookaheadSlots) {
		state.ProposerLookahead = append(state.ProposerLookahead, b.schedule.proposer(spec.FirstSlot(epoch)+i))
	}
	b.fillHistory(state, block)
	return state
}

// fillHistory fills in the chain that led to a block: roots, RANDAO mixes and checkpoints.
func (b *Beacon) fillHistory(state *fulu.BeaconState, block *Block) {
	state.BlockRoots = make([]phase0.Root, slotsPerHistoricalRoot)
	state.StateRoots = make([]phase0.Root, slotsPerHistoricalRoot)
	state.RANDAOMixes = make([]phase0.Root, epochsPerHistoricalVector)
	spec, epoch := b.cfg.Spec, b.cfg.Spec.EpochOf(block.Slot)
	b.mu.RLock()
	defer b.mu.RUnlock()
	at := block
	for slot := block.Slot; slot > 0 && block.Slot-slot < slotsPerHistoricalRoot; {
		slot--
		at = b.choice.ancestor(at, slot)
		state.BlockRoots[slot%slotsPerHistoricalRoot] = at.Root
		state.StateRoots[slot%slotsPerHistoricalRoot] = at.header.Message.StateRoot
	}
	at = block
	for e := epoch + 1; e > 0 && epoch-(e-1) < epochsPerHistoricalVector; {
		e--
		at = b.choice.ancestor(at, spec.FirstSlot(e+1)-1)
		state.RANDAOMixes[e%epochsPerHistoricalVector] = at.randao
	}
	state.PreviousJustifiedCheckpoint = b.checkpointOf(block, epoch, finalAfter)
	state.CurrentJustifiedCheckpoint = b.checkpointOf(block, epoch, 1)
	state.FinalizedCheckpoint = b.checkpointOf(block, epoch, finalAfter)
}

// syncMembers returns the public keys of the sync committee. No aggregate signature of it is ever
// checked, so its aggregate key is the point at infinity.
func (b *Beacon) syncMembers() *altair.SyncCommittee {
	committee := &altair.SyncCommittee{AggregatePubkey: phase0.BLSPubKey{0xc0}}
	for place := range uint64(syncCommitteeSize) {
		committee.Pubkeys = append(committee.Pubkeys, b.keys[b.schedule.syncMember(place)].PublicKey())
	}
	return committee
}

// latestHeader returns the header of a block's payload. For genesis it has only the hash of the
// execution chain's genesis block.
func latestHeader(block *Block) *payload.Header {
	header := &payload.Header{BaseFeePerGas: new(uint256.Int), ExtraData: []byte{}, BlockHash: block.BlockHash}
	if block.Slot == 0 {
		return header
	}
	if seen, err := viewSigned(block.Fork, block.signed); err == nil {
		if full, err := payload.HeaderOf(block.Fork, seen.payload); err == nil {
			return full
		}
	}
	return header
}
