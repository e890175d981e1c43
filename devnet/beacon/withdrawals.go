package beacon

import (
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// withdrawalsPerBlock is how many validators get a withdrawal in each block.
const withdrawalsPerBlock = 4

// withdrawals returns those of a block, where next is the number of withdrawals before it.
// Validators take turns; index and amount make each one different.
func withdrawals(next uint64, validators int) []*capella.Withdrawal {
	list := make([]*capella.Withdrawal, min(withdrawalsPerBlock, validators))
	for i := range list {
		index := next + uint64(i)
		validator := phase0.ValidatorIndex(index % uint64(validators))
		list[i] = &capella.Withdrawal{
			Index: capella.WithdrawalIndex(index), ValidatorIndex: validator, Address: withdrawalAddress(validator),
			Amount: phase0.Gwei(1000 + index%7),
		}
	}
	return list
}

// withdrawalAddress returns an account whose key nobody has: 0x57 ("W") and the validator's index.
func withdrawalAddress(validator phase0.ValidatorIndex) (address bellatrix.ExecutionAddress) {
	address[0] = 'W'
	for i := range 8 {
		address[19-i] = byte(validator >> (8 * i))
	}
	return address
}
