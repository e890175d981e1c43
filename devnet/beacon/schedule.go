package beacon

import (
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
