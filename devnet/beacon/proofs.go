package beacon

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/ethereum/go-ethereum/crypto/kzg4844"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// proofCache remembers blobs whose proofs were right, because verifying a proof takes tens of
// milliseconds. It never forgets any: the devnet has only a handful of different blobs.
type proofCache struct {
	mu   sync.Mutex // guards good
	good map[[32]byte]bool
}

func newProofCache() *proofCache { return &proofCache{good: map[[32]byte]bool{}} }

// verify checks that each commitment has its blob and the right proofs.
func (c *proofCache) verify(fork eth.Fork, b *payload.Blobs) error {
	each := fork.ProofsPerBlob()
	if len(b.Blobs) != len(b.Commitments) || len(b.Proofs) != each*len(b.Blobs) {
		return fmt.Errorf("%d commitments, %d blobs, %d proofs", len(b.Commitments), len(b.Blobs), len(b.Proofs))
	}
	for i := range b.Blobs {
		if err := c.verifyOne(fork, &b.Blobs[i], b.Commitments[i], b.Proofs[i*each:(i+1)*each]); err != nil {
			return fmt.Errorf("blob %d: %w", i, err)
		}
	}
	return nil
}

func (c *proofCache) verifyOne(fork eth.Fork, blob *deneb.Blob, commitment deneb.KZGCommitment,
	proofs []deneb.KZGProof) error {
	hash := sha256.New()
	hash.Write(blob[:])
	hash.Write(commitment[:])
	cells := make([]kzg4844.Proof, len(proofs))
	for i := range proofs {
		hash.Write(proofs[i][:])
		cells[i] = kzg4844.Proof(proofs[i])
	}
	key := [32]byte(hash.Sum([]byte{}))
	c.mu.Lock()
	known := c.good[key]
	c.mu.Unlock()
	if known {
		return nil
	}
	var err error
	if fork.HasCellProofs() {
		err = kzg4844.VerifyCellProofs([]kzg4844.Blob{kzg4844.Blob(*blob)},
			[]kzg4844.Commitment{kzg4844.Commitment(commitment)}, cells)
	} else {
		raw := kzg4844.Blob(*blob)
		err = kzg4844.VerifyBlobProof(&raw, kzg4844.Commitment(commitment), cells[0])
	}
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.good[key] = true
	return nil
}
