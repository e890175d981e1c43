package submit

import (
	"bytes"
	"slices"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// Remember keeps the transactions and blobs of a builder's whole submission. It hashes all
// transactions, so it should be called after the answer was sent. Blobs are left out if they, their
// commitments and proofs do not have matching numbers.
func (c *HydrationCache) Remember(builder string, s *relay.Submission) {
	hashes := make([][32]byte, len(s.Payload.Transactions))
	for i, tx := range s.Payload.Transactions {
		if len(tx) > wire.HashBytes {
			hashes[i] = wire.TransactionHash(tx)
		}
	}
	shelf := c.cacheOf(builder)
	shelf.mu.Lock()
	defer shelf.mu.Unlock()
	for i, tx := range s.Payload.Transactions {
		if len(tx) > wire.HashBytes {
			shelf.rememberTransaction(hashes[i], tx)
		}
	}
	each := s.Fork.ProofsPerBlob()
	if s.Blobs == nil || len(s.Blobs.Blobs) != len(s.Blobs.Commitments) || len(s.Blobs.Proofs) != each*len(s.Blobs.Blobs) {
		return
	}
	for i := range s.Blobs.Blobs {
		shelf.rememberBlob(s.Blobs.Commitments[i], &s.Blobs.Blobs[i], s.Blobs.Proofs[i*each:(i+1)*each])
	}
}

func (s *builderCache) rememberTransaction(hash [32]byte, tx bellatrix.Transaction) {
	if k := txKey(hash); s.find(k) == nil {
		s.put(&item{key: k, tx: bytes.Clone(tx)})
	}
}

// rememberBlob replaces a blob that was kept under the same commitment, because commitments are
// verified only later and the first blob may have been wrong. It copies the blob, which is part of
// its bundle's array and would keep all of that in memory.
func (s *builderCache) rememberBlob(commitment deneb.KZGCommitment, blob *deneb.Blob, proofs []deneb.KZGProof) {
	k := blobKey(commitment)
	if known := s.find(k); known != nil && *known.blob == *blob && slices.Equal(known.proofs, proofs) {
		return
	}
	kept := *blob
	s.put(&item{key: k, blob: &kept, proofs: slices.Clone(proofs)})
}
