package beacon

import (
	"context"
	"fmt"

	"github.com/OffchainLabs/go-bitfield"
	apideneb "github.com/attestantio/go-eth2-client/api/v1/deneb"
	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	apifulu "github.com/attestantio/go-eth2-client/api/v1/fulu"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// localGasLimit is the gas limit that locally built blocks aim at.
const localGasLimit = 60_000_000

// produced is an unsigned local block.
type produced struct {
	fork     eth.Fork
	block    codec // BeaconBlock before deneb, BlockContents from deneb on
	built    *chain.Built
	template template
}

// produce builds a block for a slot from the pool's transactions, on the head that the proposer
// sees. Validators use such a block if they get none from a relay.
func (b *Beacon) produce(ctx context.Context, slot phase0.Slot, reveal phase0.BLSSignature,
	graffiti [32]byte) (*produced, error) {
	if isGloas(b.cfg.Spec.ForkAt(slot)) {
		return nil, bad("slot %d is of gloas: use POST /eth/v4/validator/blocks", slot)
	}
	b.mu.RLock()
	parent, status := b.choice.proposerHead(slot)
	a := b.attributesOf(slot, parent, status)
	b.mu.RUnlock()
	if slot <= parent.Slot {
		return nil, problem{400, fmt.Sprintf("slot %d is not after the head's %d", slot, parent.Slot)}
	}
	txs := b.cfg.Execution.Pending()
	built, err := b.cfg.Execution.Build(ctx, chain.BuildArgs{
		Parent: parent.BlockHash, Slot: slot, PrevRandao: parent.randao, Withdrawals: a.withdrawals,
		ParentBeaconRoot: parent.Root,
		Coinbase:         common.Address(a.feeRecipient), GasLimitTarget: localGasLimit, ExtraData: []byte("local"),
		Transactions: txs[:min(len(txs), b.cfg.LocalTxLimit)],
	})
	if err != nil {
		return nil, fmt.Errorf("produce block: %w", err)
	}
	form, err := forms.Of(built.Fork, "blocks")
	if err != nil {
		return nil, fmt.Errorf("produce block: %w", err)
	}
	t := template{slot, a.proposer, parent.Root, stateRoot(parent.Root, slot), reveal, graffiti}
	return &produced{fork: built.Fork, block: form.local(t, built), built: built, template: t}, nil
}

// template has the fields besides the payload that the blocks of all forks have.
type template struct {
	slot       phase0.Slot
	proposer   phase0.ValidatorIndex
	parentRoot phase0.Root
	stateRoot  phase0.Root
	reveal     phase0.BLSSignature
	graffiti   [32]byte
}

func (t template) eth1() *phase0.ETH1Data { return &phase0.ETH1Data{BlockHash: make([]byte, 32)} }

// sync returns an aggregate without participants; its signature is the point at infinity.
func (t template) sync() *altair.SyncAggregate {
	return &altair.SyncAggregate{SyncCommitteeBits: bitfield.NewBitvector512(),
		SyncCommitteeSignature: phase0.BLSSignature{0xc0}}
}

func (t template) bellatrix(built *chain.Built) codec {
	return &bellatrix.BeaconBlock{
		Slot: t.slot, ProposerIndex: t.proposer, ParentRoot: t.parentRoot, StateRoot: t.stateRoot,
		Body: &bellatrix.BeaconBlockBody{
			RANDAOReveal: t.reveal, ETH1Data: t.eth1(), Graffiti: t.graffiti, ProposerSlashings: []*phase0.ProposerSlashing{},
			AttesterSlashings: []*phase0.AttesterSlashing{}, Attestations: []*phase0.Attestation{},
			Deposits:       []*phase0.Deposit{},
			VoluntaryExits: []*phase0.SignedVoluntaryExit{}, SyncAggregate: t.sync(),
			ExecutionPayload: payload.ToBellatrix(built.Payload),
		},
	}
}

func (t template) capella(built *chain.Built) codec {
	return &capella.BeaconBlock{
		Slot: t.slot, ProposerIndex: t.proposer, ParentRoot: t.parentRoot, StateRoot: t.stateRoot,
		Body: &capella.BeaconBlockBody{
			RANDAOReveal: t.reveal, ETH1Data: t.eth1(), Graffiti: t.graffiti, ProposerSlashings: []*phase0.ProposerSlashing{},
			AttesterSlashings: []*phase0.AttesterSlashing{}, Attestations: []*phase0.Attestation{},
			Deposits:       []*phase0.Deposit{},
			VoluntaryExits: []*phase0.SignedVoluntaryExit{}, SyncAggregate: t.sync(),
			ExecutionPayload:      payload.ToCapella(built.Payload),
			BLSToExecutionChanges: []*capella.SignedBLSToExecutionChange{},
		},
	}
}

func (t template) deneb(built *chain.Built) codec {
	return &apideneb.BlockContents{KZGProofs: built.Blobs.Proofs, Blobs: built.Blobs.Blobs, Block: &deneb.BeaconBlock{
		Slot: t.slot, ProposerIndex: t.proposer, ParentRoot: t.parentRoot, StateRoot: t.stateRoot,
		Body: &deneb.BeaconBlockBody{
			RANDAOReveal: t.reveal, ETH1Data: t.eth1(), Graffiti: t.graffiti, ProposerSlashings: []*phase0.ProposerSlashing{},
			AttesterSlashings: []*phase0.AttesterSlashing{}, Attestations: []*phase0.Attestation{},
			Deposits:       []*phase0.Deposit{},
			VoluntaryExits: []*phase0.SignedVoluntaryExit{}, SyncAggregate: t.sync(), ExecutionPayload: built.Payload,
			BLSToExecutionChanges: []*capella.SignedBLSToExecutionChange{}, BlobKZGCommitments: built.Blobs.Commitments,
		},
	}}
}

// electra returns the block of electra and of fulu.
func (t template) electra(built *chain.Built) *electra.BeaconBlock {
	return &electra.BeaconBlock{
		Slot: t.slot, ProposerIndex: t.proposer, ParentRoot: t.parentRoot, StateRoot: t.stateRoot,
		Body: &electra.BeaconBlockBody{
			RANDAOReveal: t.reveal, ETH1Data: t.eth1(), Graffiti: t.graffiti, ProposerSlashings: []*phase0.ProposerSlashing{},
			AttesterSlashings: []*electra.AttesterSlashing{}, Attestations: []*electra.Attestation{},
			Deposits:       []*phase0.Deposit{},
			VoluntaryExits: []*phase0.SignedVoluntaryExit{}, SyncAggregate: t.sync(), ExecutionPayload: built.Payload,
			BLSToExecutionChanges: []*capella.SignedBLSToExecutionChange{}, BlobKZGCommitments: built.Blobs.Commitments,
			ExecutionRequests: built.Requests,
		},
	}
}

// sign returns a local block with a signature, as it is published, without its blobs.
func sign(local codec, signature phase0.BLSSignature) (codec, error) {
	switch block := local.(type) {
	case *bellatrix.BeaconBlock:
		return &bellatrix.SignedBeaconBlock{Message: block, Signature: signature}, nil
	case *capella.BeaconBlock:
		return &capella.SignedBeaconBlock{Message: block, Signature: signature}, nil
	case *apideneb.BlockContents:
		return &deneb.SignedBeaconBlock{Message: block.Block, Signature: signature}, nil
	case *apielectra.BlockContents:
		return &electra.SignedBeaconBlock{Message: block.Block, Signature: signature}, nil
	case *apifulu.BlockContents:
		return &electra.SignedBeaconBlock{Message: block.Block, Signature: signature}, nil
	case unsignedGloas:
		return gloasBlock{&gloas.SignedBeaconBlock{Message: block.BeaconBlock, Signature: signature}}, nil
	default:
		return nil, fmt.Errorf("a %T is no local block", local)
	}
}
