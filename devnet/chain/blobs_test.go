package chain

import (
	"testing"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto/kzg4844"

	"github.com/gavel-relay/gavel/internal/eth"
)

// The fixed blobs differ, and their proofs are right in the form of each fork.
func TestSidecarsProveTheirBlobs(t *testing.T) {
	for fork, version := range map[eth.Fork]byte{
		eth.Deneb: types.BlobSidecarVersion0, eth.Electra: types.BlobSidecarVersion0, eth.Fulu: types.BlobSidecarVersion1,
	} {
		s := Sidecar(fork, 0, 1, 2)
		if s.Version != version {
			t.Errorf("%s: version %d", fork, s.Version)
		}
		hashes := s.BlobHashes()
		if hashes[0] == hashes[1] || hashes[1] == hashes[2] || hashes[0] == hashes[2] {
			t.Errorf("%s: blobs repeat", fork)
		}
		if version == types.BlobSidecarVersion1 {
			if err := kzg4844.VerifyCellProofs(s.Blobs, s.Commitments, s.Proofs); err != nil {
				t.Errorf("%s: %v", fork, err)
			}
			continue
		}
		for i := range s.Blobs {
			if err := kzg4844.VerifyBlobProof(&s.Blobs[i], s.Commitments[i], s.Proofs[i]); err != nil {
				t.Errorf("%s blob %d: %v", fork, i, err)
			}
		}
	}
}
