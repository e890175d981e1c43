package beacon

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// schedule says who proposes in a slot. It shuffles all validators again for each round of slots,
// so that every validator proposes once in a round. The order depends on the seed.
type schedule struct {
	validators uint64
	seed       uint64
}

// proposer returns the proposer of a slot.
func (s schedule) proposer(slot phase0.Slot) phase0.ValidatorIndex {
	round, place := uint64(slot)/s.validators, uint64(slot)%s.validators
	order := rand.New(rand.NewPCG(s.seed, round)).Perm(int(s.validators))
	return phase0.ValidatorIndex(order[place])
}

// dependent stands for the root of the last block before an epoch. The schedule depends on no
// block, so this root is a constant of the epoch: clients see it change in each epoch, but never
// because of a re-organisation.
func (s schedule) dependent(epoch phase0.Epoch) phase0.Root {
	text := binary.BigEndian.AppendUint64([]byte("gavel devnet schedule"), s.seed)
	return sha256.Sum256(binary.BigEndian.AppendUint64(text, uint64(epoch)))
}
