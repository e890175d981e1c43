package eth

import "github.com/attestantio/go-eth2-client/spec/phase0"

// BlobLimit says from which epoch on how many blobs a block may carry (the BLOB_SCHEDULE of the
// fulu fork, and the limits of the forks before it).
type BlobLimit struct {
	Epoch    phase0.Epoch
	MaxBlobs uint64
}

// MaxBlobs returns how many blobs a block of the slot may carry; 0 before deneb.
func (s *Spec) MaxBlobs(slot phase0.Slot) uint64 {
	limit := s.ForkAt(slot).row().Blobs.PerBlock
	if limit == 0 {
		return 0
	}
	for _, b := range s.Blobs {
		if b.Epoch <= s.EpochOf(slot) {
			limit = b.MaxBlobs
		}
	}
	return limit
}
