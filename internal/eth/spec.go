package eth

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// Spec is what is needed of a network to compute times of slots and to sign for it. It is read from
// a beacon node or made by the devnet, and never changes afterwards.
type Spec struct {
	GenesisTime           time.Time
	GenesisValidatorsRoot phase0.Root
	GenesisForkVersion    phase0.Version
	// DepositChainID is the id of the execution chain; 0 if the beacon node does not tell it.
	DepositChainID uint64
	// SlotDuration is chain time. A devnet whose clock runs faster still counts whole chain seconds
	// here.
	SlotDuration  time.Duration
	SlotsPerEpoch uint64
	// Forks are the scheduled forks, oldest first; the first one is active from its epoch, usually 0.
	Forks []ForkPoint
	// Blobs are the blob limits, oldest first. Empty means the limits of the forks: 6 in deneb, 9 from
	// electra on.
	Blobs []BlobLimit
}

// Validate returns an error that says what is missing or out of order.
func (s *Spec) Validate() error {
	switch {
	case s.GenesisTime.IsZero():
		return errors.New("spec: no genesis time")
	case s.SlotDuration <= 0:
		return fmt.Errorf("spec: slot duration %v is not positive", s.SlotDuration)
	case s.SlotsPerEpoch == 0:
		return errors.New("spec: no slots per epoch")
	case len(s.Forks) == 0:
		return errors.New("spec: no fork")
	}
	for i := 1; i < len(s.Forks); i++ {
		if s.Forks[i].Fork <= s.Forks[i-1].Fork || s.Forks[i].Epoch < s.Forks[i-1].Epoch {
			return fmt.Errorf("spec: fork %s at epoch %d comes after %s at epoch %d",
				s.Forks[i].Fork, s.Forks[i].Epoch, s.Forks[i-1].Fork, s.Forks[i-1].Epoch)
		}
	}
	return nil
}

// SlotStart returns the time at which a slot begins. Slots beyond the range of a time.Duration
// (more than a century) all begin at its end. They come only from hostile requests, and it is
// enough that they are far in the future.
func (s *Spec) SlotStart(slot phase0.Slot) time.Time {
	farthest := phase0.Slot(math.MaxInt64 / 2 / s.SlotDuration)
	return s.GenesisTime.Add(time.Duration(min(slot, farthest)) * s.SlotDuration)
}

// SlotAt returns the slot that runs at a time; 0 before genesis.
func (s *Spec) SlotAt(at time.Time) phase0.Slot {
	if at.Before(s.GenesisTime) {
		return 0
	}
	return phase0.Slot(at.Sub(s.GenesisTime) / s.SlotDuration)
}

// Timestamp returns the execution block timestamp of a slot, in seconds since the Unix epoch.
func (s *Spec) Timestamp(slot phase0.Slot) uint64 {
	return uint64(s.SlotStart(slot).Unix())
}

// EpochOf returns the epoch of a slot.
func (s *Spec) EpochOf(slot phase0.Slot) phase0.Epoch {
	return phase0.Epoch(uint64(slot) / s.SlotsPerEpoch)
}

// FirstSlot returns the first slot of an epoch.
func (s *Spec) FirstSlot(epoch phase0.Epoch) phase0.Slot {
	return phase0.Slot(uint64(epoch) * s.SlotsPerEpoch)
}

// ForkPointAt returns the fork that is active in an epoch. In epochs before the first scheduled
// fork, it returns that one.
func (s *Spec) ForkPointAt(epoch phase0.Epoch) ForkPoint {
	active := s.Forks[0]
	for _, point := range s.Forks[1:] {
		if point.Epoch <= epoch {
			active = point
		}
	}
	return active
}

// ForkAt returns the fork that is active in a slot.
func (s *Spec) ForkAt(slot phase0.Slot) Fork {
	return s.ForkPointAt(s.EpochOf(slot)).Fork
}
