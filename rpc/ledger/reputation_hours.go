package ledger

import (
	"slices"
	"time"

	"github.com/holiman/uint256"
)

// Hours of the two windows. A window is the current hour until now, and the whole hours before it.
const (
	hoursOfDay  = 24
	hoursOfWeek = 7 * hoursOfDay
)

// Sums are what happened to a signer's orders in a period. They are JSON on disk: a field may be
// added, never renamed.
type Sums struct {
	// Orders is how many were accepted; FailedOrders, how many ended as failed.
	Orders       uint64 `json:"orders,omitempty"`
	FailedOrders uint64 `json:"failed_orders,omitempty"`
	// Simulations counts the simulations of orders, each at one head. FailedSimulations counts
	// those that did not succeed.
	Simulations       uint64 `json:"simulations,omitempty"`
	FailedSimulations uint64 `json:"failed_simulations,omitempty"`
	// GasSimulated is the gas that these simulations used, and that the signer's own calls of
	// eth_callBundle and mev_simBundle used.
	GasSimulated uint64 `json:"gas_simulated,omitempty"`
	// ValueWei is what landed orders paid to fee recipients.
	ValueWei uint256.Int `json:"value,omitzero"`
}

func (s *Sums) add(o *Sums) {
	s.Orders += o.Orders
	s.FailedOrders += o.FailedOrders
	s.Simulations += o.Simulations
	s.FailedSimulations += o.FailedSimulations
	s.GasSimulated += o.GasSimulated
	s.ValueWei.Add(&s.ValueWei, &o.ValueWei)
}

// hour has the sums of one hour; number counts hours since 1970.
type signerHour struct {
	number int64
	Sums
}

func hourNumber(at time.Time) int64 { return at.Unix() / int64(time.Hour/time.Second) }

// signerRecord is what is known of one signer.
type signerRecord struct {
	allTime Sums
	// hours are the hours with any activity in the 7 days before the newest one, oldest first.
	hours []signerHour
}

// add counts what happened at a time, and returns by how many the hours have grown. What is older
// than 7 days counts for all time only.
func (r *signerRecord) add(at time.Time, s *Sums) int {
	r.allTime.add(s)
	before, number := len(r.hours), hourNumber(at)
	i, known := r.find(number)
	switch {
	case known:
		r.hours[i].add(s)
	case i < before && number <= r.hours[before-1].number-hoursOfWeek:
	default:
		r.hours = slices.Insert(r.hours, i, signerHour{number, *s})
	}
	newest := len(r.hours) - 1
	first, _ := r.find(r.hours[newest].number - hoursOfWeek + 1)
	r.hours = slices.Delete(r.hours, 0, first)
	return len(r.hours) - before
}

// takeBack subtracts what landed at a time, because its block is not part of the chain any more.
func (r *signerRecord) takeBack(at time.Time, valueWei *uint256.Int) {
	r.allTime.ValueWei.Sub(&r.allTime.ValueWei, valueWei)
	if i, known := r.find(hourNumber(at)); known {
		r.hours[i].ValueWei.Sub(&r.hours[i].ValueWei, valueWei)
	}
}

// find returns the index of an hour, or the index at which to insert it.
func (r *signerRecord) find(number int64) (int, bool) {
	return slices.BinarySearchFunc(r.hours, number, func(h signerHour, n int64) int {
		switch {
		case h.number < n:
			return -1
		case h.number > n:
			return 1
		}
		return 0
	})
}

// last returns the sums of a window that ends at a time.
func (r *signerRecord) last(hours int64, at time.Time) Sums {
	var sum Sums
	now := hourNumber(at)
	first, _ := r.find(now - hours + 1)
	for i := first; i < len(r.hours) && r.hours[i].number <= now; i++ {
		sum.add(&r.hours[i].Sums)
	}
	return sum
}
