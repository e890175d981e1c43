package chain

import (
	"crypto/ecdsa"
	"fmt"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/crypto/kzg4844"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// FixedBlobs is how many different blobs there are. Computing cell proofs takes more than a hundred
// milliseconds a blob, so these few blobs are computed once and used again and again.
const FixedBlobs = 3

// material is a blob with the commitment and the proofs that the forks need.
type material struct {
	blob       kzg4844.Blob
	commitment kzg4844.Commitment
	proof      kzg4844.Proof   // deneb, electra
	cells      []kzg4844.Proof // from fulu on
}

var materials [FixedBlobs]struct {
	once sync.Once
	material
}

// materialOf returns the blob with the number i, which it computes on first use. It panics if the
// KZG library cannot commit to a valid blob.
func materialOf(i int) *material {
	m := &materials[i]
	m.once.Do(func() {
		for at := 0; at < len(m.blob); at += 32 {
			// Small field elements are canonical, and different ones make a polynomial whose proofs
			// are not trivial. Two blobs must not differ by a constant only: their cell proofs
			// would be the same.
			m.blob[at+30], m.blob[at+31] = byte(at/32*(i+1)), byte(i+1)
		}
		var err error
		if m.commitment, err = kzg4844.BlobToCommitment(&m.blob); err == nil {
			if m.proof, err = kzg4844.ComputeBlobProof(&m.blob, m.commitment); err == nil {
				m.cells, err = kzg4844.ComputeCellProofs(&m.blob)
			}
		}
		if err != nil {
			panic(fmt.Sprintf("make blob %d: %v", i, err))
		}
	})
	return &m.material
}

// Sidecar returns a sidecar of fixed blobs (0 to FixedBlobs-1) in the form of a fork: with one
// proof for each blob before fulu, one for each cell from then on.
func Sidecar(fork eth.Fork, indices ...int) *types.BlobTxSidecar {
	version := types.BlobSidecarVersion0
	if fork.HasCellProofs() {
		version = types.BlobSidecarVersion1
	}
	var blobs []kzg4844.Blob
	var commitments []kzg4844.Commitment
	var proofs []kzg4844.Proof
	for _, i := range indices {
		m := materialOf(i)
		blobs, commitments = append(blobs, m.blob), append(commitments, m.commitment)
		if version == types.BlobSidecarVersion0 {
			proofs = append(proofs, m.proof)
		} else {
			proofs = append(proofs, m.cells...)
		}
	}
	return types.NewBlobTxSidecar(version, blobs, commitments, proofs)
}

// bundleOf returns the blobs bundle of a block's sidecars, in the order of their transactions.
func bundleOf(sidecars []*types.BlobTxSidecar) *payload.Blobs {
	bundle := &payload.Blobs{Commitments: []deneb.KZGCommitment{}, Proofs: []deneb.KZGProof{}, Blobs: []deneb.Blob{}}
	for _, s := range sidecars {
		for i := range s.Blobs {
			bundle.Blobs = append(bundle.Blobs, deneb.Blob(s.Blobs[i]))
			bundle.Commitments = append(bundle.Commitments, deneb.KZGCommitment(s.Commitments[i]))
		}
		for _, proof := range s.Proofs {
			bundle.Proofs = append(bundle.Proofs, deneb.KZGProof(proof))
		}
	}
	return bundle
}

func addressOf(key *ecdsa.PrivateKey) common.Address { return crypto.PubkeyToAddress(key.PublicKey) }
