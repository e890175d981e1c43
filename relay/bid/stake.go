package bid

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Stake says what of a bid the relay's builder pays from its stake: that part is the proposer's
// even if the payload is never revealed. The block pays all of the bid as well, so that it is what
// the relay's operator gives to have proposers trust its bids.
type Stake struct {
	// SharePercent is the part of a bid that is its value: 0 to 100.
	SharePercent uint64
	// Most is the highest value that the stake covers.
	Most phase0.Gwei
}

// value is what a bid of so much promises from the stake.
func (s Stake) value(total phase0.Gwei) phase0.Gwei {
	percent := phase0.Gwei(min(s.SharePercent, 100))
	return min(total/100*percent+total%100*percent/100, s.Most)
}

// Covered is the highest value of each bid for which a stake lasts, whatever becomes of all the
// bids before it. A value is owed for up to two epochs before it is due, and then until a payload
// has the withdrawal, for which an epoch is allowed; the balance itself is that of an epoch ago at
// most. So each of the slots of four epochs may owe as much, and nothing needs to be remembered,
// neither over a restart nor between the instances of a cluster.
func Covered(balance phase0.Gwei, slotsPerEpoch uint64) phase0.Gwei {
	if balance <= gloas.MinDeposit || slotsPerEpoch == 0 {
		return 0
	}
	return (balance - gloas.MinDeposit) / phase0.Gwei(4*slotsPerEpoch)
}
