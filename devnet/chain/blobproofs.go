package chain

import (
	"crypto/sha256"
	"fmt"
	"sync"
	"unsafe"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/ethereum/go-ethereum/common/lru"
	"github.com/ethereum/go-ethereum/crypto/kzg4844"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// verifiedBlobs verifies blobs and remembers valid ones by a hash over commitment, proofs and blob.
// Builders send the same blobs in bid after bid, and verifying a proof costs a hundred times as
// much as the hash.
type verifiedBlobs struct {
	mu   sync.Mutex // guards good
	good *lru.BasicLRU[[32]byte, struct{}]
}

func newVerifiedBlobs(capacity int) *verifiedBlobs {
	good := lru.NewBasicLRU[[32]byte, struct{}](capacity)
	return &verifiedBlobs{good: &good}
}

// verify checks that the lists fit together (REL-SUB-28) and that the proofs are right. A fork
// without blobs has nothing to verify.
func (v *verifiedBlobs) verify(fork eth.Fork, b *payload.Blobs) error {
	if !fork.HasBlobs() {
		return nil
	}
	if b == nil {
		return fmt.Errorf("no blobs bundle")
	}
	each := fork.ProofsPerBlob()
	if len(b.Commitments) != len(b.Blobs) || len(b.Proofs) != each*len(b.Blobs) {
		return fmt.Errorf("%d blobs, %d commitments, %d proofs", len(b.Blobs), len(b.Commitments), len(b.Proofs))
	}
	for i := range b.Blobs {
		proofs := b.Proofs[i*each : (i+1)*each]
		key := blobKey(fork, &b.Blobs[i], b.Commitments[i], proofs)
		if v.known(key) {
			continue
		}
		if err := verifyBlob(fork, &b.Blobs[i], b.Commitments[i], proofs); err != nil {
			return fmt.Errorf("blob %d: %w", i, err)
		}
		v.remember(key)
	}
	return nil
}

func verifyBlob(fork eth.Fork, blob *deneb.Blob, commitment deneb.KZGCommitment, proofs []deneb.KZGProof) error {
	raw := (*kzg4844.Blob)(blob)
	if !fork.HasCellProofs() {
		return kzg4844.VerifyBlobProof(raw, kzg4844.Commitment(commitment), kzg4844.Proof(proofs[0]))
	}
	cells := make([]kzg4844.Proof, len(proofs))
	for i := range proofs {
		cells[i] = kzg4844.Proof(proofs[i])
	}
	// The library takes a slice of blobs. unsafe.Slice makes one of this blob without copying its
	// 128 KiB.
	return kzg4844.VerifyCellProofs(unsafe.Slice(raw, 1), []kzg4844.Commitment{kzg4844.Commitment(commitment)}, cells)
}

func blobKey(fork eth.Fork, blob *deneb.Blob, commitment deneb.KZGCommitment, proofs []deneb.KZGProof) (key [32]byte) {
	h := sha256.New()
	if fork.HasCellProofs() {
		h.Write([]byte{1}) // a blob with cell proofs must not have the key of one with a blob proof
	} else {
		h.Write([]byte{0})
	}
	h.Write(commitment[:])
	for i := range proofs {
		h.Write(proofs[i][:])
	}
	h.Write(blob[:])
	return [32]byte(h.Sum(nil))
}

func (v *verifiedBlobs) known(key [32]byte) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	_, ok := v.good.Get(key)
	return ok
}

func (v *verifiedBlobs) remember(key [32]byte) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.good.Add(key, struct{}{})
}
