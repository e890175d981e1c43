package beacon

import (
	"crypto/sha256"
	"net/http"
	"slices"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/crypto/kzg4844"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// carrying is a block of a fork with some blobs. Nobody has executed it: what is tested is how it
// is shown.
func carrying(t *testing.T, fork eth.Fork, count int) (*Block, *payload.Blobs) {
	t.Helper()
	blobs := &payload.Blobs{}
	for i := range count {
		blob := kzg4844.Blob{31: byte(i + 1)}
		commitment, err := kzg4844.BlobToCommitment(&blob)
		if err != nil {
			t.Fatal(err)
		}
		proof, err := kzg4844.ComputeBlobProof(&blob, commitment)
		if err != nil {
			t.Fatal(err)
		}
		blobs.Blobs = append(blobs.Blobs, deneb.Blob(blob))
		blobs.Commitments = append(blobs.Commitments, deneb.KZGCommitment(commitment))
		blobs.Proofs = append(blobs.Proofs, deneb.KZGProof(proof))
	}
	built := &chain.Built{Fork: fork, Blobs: blobs, Requests: payload.EmptyRequests(), Payload: &payload.Payload{
		BaseFeePerGas: uint256.NewInt(7), Transactions: []bellatrix.Transaction{{1, 2, 3}},
		Withdrawals: []*capella.Withdrawal{},
	}}
	signed, err := sign(forms[fork].local(template{slot: 9}, built), phase0.BLSSignature{1})
	if err != nil {
		t.Fatal(err)
	}
	seen, err := viewSigned(fork, signed)
	if err != nil {
		t.Fatal(err)
	}
	return &Block{Slot: 9, Root: seen.root, Fork: fork, header: seen.header(), signed: signed}, blobs
}

// A sidecar proves by itself that the block's body has its commitment (consensus-specs, deneb,
// verify_blob_sidecar_inclusion_proof), and that the commitment is the blob's.
func TestSidecarsProveThemselves(t *testing.T) {
	for _, fork := range []eth.Fork{eth.Deneb, eth.Electra, eth.Fulu} {
		block, blobs := carrying(t, fork, 3)
		list, err := sidecars(block, blobs, nil)
		if err != nil || len(list) != 3 {
			t.Fatalf("%s: %d sidecars, %v", fork, len(list), err)
		}
		for i, sidecar := range list {
			var padded [64]byte
			copy(padded[:], sidecar.KZGCommitment[:])
			at, place := sha256.Sum256(padded[:]), firstCommitment+i
			for _, beside := range sidecar.KZGCommitmentInclusionProof {
				left, right := at[:], beside[:]
				if place%2 == 1 {
					left, right = right, left
				}
				at, place = sha256.Sum256(slices.Concat(left, right)), place/2
			}
			if at != sidecar.SignedBlockHeader.Message.BodyRoot {
				t.Errorf("%s: the branch of blob %d ends at %#x, not at the body's root", fork, i, at)
			}
			blob := kzg4844.Blob(sidecar.Blob)
			if err := kzg4844.VerifyBlobProof(&blob, kzg4844.Commitment(sidecar.KZGCommitment),
				kzg4844.Proof(sidecar.KZGProof)); err != nil {
				t.Errorf("%s: blob %d: %v", fork, i, err)
			}
		}
		if some, err := sidecars(block, blobs, []string{"1"}); err != nil || len(some) != 1 || some[0].Index != 1 {
			t.Errorf("%s: of index 1: %v, %v", fork, some, err)
		}
	}
}

// Blobs are there until a later block is final.
func TestBlobsAreForgottenOnceFinal(t *testing.T) {
	n := newNetwork(t)
	n.begin(1)
	if status, body := n.publish(n.local(1), false); status != http.StatusOK {
		t.Fatal(status, body)
	}
	first := n.beacon.Head()
	n.beacon.blobs[first.Root] = &payload.Blobs{}
	n.begin(5)
	if status, body := n.publish(n.local(5), false); status != http.StatusOK {
		t.Fatal(status, body)
	}
	n.begin(11)
	if len(n.beacon.blobs) != 1 {
		t.Error("forgotten before the block was final")
	}
	n.begin(20)
	if len(n.beacon.blobs) != 0 {
		t.Errorf("final is slot %d, and the blobs of slot 1 are still there", n.beacon.choice.final.Slot)
	}
}
