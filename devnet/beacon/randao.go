package beacon

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// mixReveal returns the RANDAO mix after a block (consensus-specs, process_randao): the mix before,
// xor the hash of the reveal.
func mixReveal(mix [32]byte, reveal phase0.BLSSignature) [32]byte {
	hash := sha256.Sum256(reveal[:])
	for i := range mix {
		mix[i] ^= hash[i]
	}
	return mix
}

// epochRoot returns what a proposer signs as its RANDAO reveal: the hash tree root of the epoch.
func epochRoot(epoch phase0.Epoch) (root phase0.Root) {
	binary.LittleEndian.PutUint64(root[:], uint64(epoch))
	return root
}
