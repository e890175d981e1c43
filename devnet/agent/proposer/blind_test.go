package proposer

import (
	"testing"

	"github.com/OffchainLabs/go-bitfield"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// fill puts a builder's payload, and what belongs to it, into a local block: the block that a
// blinded block stands for.
func fill(t *testing.T, local *localBlock, built *chain.Built) phase0.Root {
	t.Helper()
	switch block := local.block.(type) {
	case *bellatrix.BeaconBlock:
		block.Body.ExecutionPayload = payload.ToBellatrix(built.Payload)
	case *capella.BeaconBlock:
		block.Body.ExecutionPayload = payload.ToCapella(built.Payload)
	case *deneb.BeaconBlock:
		block.Body.ExecutionPayload, block.Body.BlobKZGCommitments = built.Payload, built.Blobs.Commitments
	case *electra.BeaconBlock:
		block.Body.ExecutionPayload, block.Body.BlobKZGCommitments = built.Payload, built.Blobs.Commitments
		block.Body.ExecutionRequests = built.Requests
	}
	root, err := local.block.HashTreeRoot()
	if err != nil {
		t.Fatal(err)
	}
	return root
}

// newLocal is an empty local block of deneb.
func newLocal(slot phase0.Slot) *localBlock {
	return &localBlock{fork: eth.Deneb, block: &deneb.BeaconBlock{Slot: slot, Body: &deneb.BeaconBlockBody{
		ETH1Data: &phase0.ETH1Data{BlockHash: make([]byte, 32)}, ProposerSlashings: []*phase0.ProposerSlashing{},
		AttesterSlashings: []*phase0.AttesterSlashing{}, Attestations: []*phase0.Attestation{}, Deposits: []*phase0.Deposit{},
		VoluntaryExits: []*phase0.SignedVoluntaryExit{}, BLSToExecutionChanges: []*capella.SignedBLSToExecutionChange{},
		SyncAggregate: &altair.SyncAggregate{SyncCommitteeBits: bitfield.NewBitvector512()},
	}}}
}

// A signature under the blinded block is one under the full block, since both have the same root.
func TestBlindedAndFullBlocksHaveTheSameRoot(t *testing.T) {
	for _, fork := range eth.Forks() {
		t.Run(fork.String(), func(t *testing.T) {
			n := newNetwork(t, fork)
			n.clock.Set(n.spec.SlotStart(1))
			local, err := (&beaconNode{base: n.url}).localBlock(t.Context(), 1, phase0.BLSSignature{0xc0})
			if err != nil {
				t.Fatal(err)
			}
			if local.fork != fork || local.parentHash != phase0.Hash32(n.node.Genesis().Hash()) {
				t.Errorf("a local block of %s on %#x", local.fork, local.parentHash[:])
			}
			before := local.root
			built := n.build(t, 1)
			blinded, err := blindBlock(local, &Bid{Versioned: offer(t, n.spec, relayKey, 1, built)})
			if err != nil {
				t.Fatal(err)
			}
			full := fill(t, local, built)
			if blinded.root != full || full == before {
				t.Errorf("blinded %#x, full %#x, local %#x", blinded.root[:], full[:], before[:])
			}
			signed, err := blinded.signed(phase0.BLSSignature{0xc0, 1})
			if err != nil {
				t.Fatal(err)
			}
			hash, err := signed.ExecutionBlockHash()
			if err != nil || hash != built.Payload.BlockHash {
				t.Errorf("the signed block is for %#x, %v", hash[:], err)
			}
			root, err := signed.Root()
			if err != nil || root != full {
				t.Errorf("the signed block has the root %#x, %v", root[:], err)
			}
			if signature, err := signed.Signature(); err != nil || signature != (phase0.BLSSignature{0xc0, 1}) {
				t.Errorf("signature %#x, %v", signature[:], err)
			}
		})
	}
}

func TestBidsOfAnotherShape(t *testing.T) {
	n := newNetwork(t, eth.Deneb)
	n.clock.Set(n.spec.SlotStart(1))
	local, err := (&beaconNode{base: n.url}).localBlock(t.Context(), 1, phase0.BLSSignature{0xc0})
	if err != nil {
		t.Fatal(err)
	}
	built := n.build(t, 1)
	other := offer(t, n.spec, relayKey, 1, built)
	other.Version = eth.Electra.DataVersion()
	empty := offer(t, n.spec, relayKey, 1, built)
	empty.Deneb = nil
	for name, v := range map[string]*Bid{"electra": {Versioned: other}, "empty": {Versioned: empty}} {
		if blinded, err := blindBlock(local, v); err == nil {
			t.Errorf("%s: %+v", name, blinded)
		}
	}
}

func TestMalformedLocalBlocks(t *testing.T) {
	for _, fork := range append([]eth.Fork{0}, eth.Forks()...) {
		for _, raw := range [][]byte{nil, make([]byte, 100)} {
			if l, err := decodeLocal(fork, new(uint256.Int), raw); err == nil {
				t.Errorf("%s: %d bytes are read as %+v", fork, len(raw), l)
			}
		}
	}
}
