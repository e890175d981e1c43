package ledger

import (
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/rpc"
)

// Standing is all that is known of a signer at a time.
type Standing struct {
	// AllTime is since the signer was first seen, or seen again after it was forgotten. Week and
	// Day are the last 7 days and the last day, in whole hours and the current one.
	AllTime, Week, Day Sums
	High               bool
}

// Standing returns a signer's standing. For an unknown signer all is zero.
func (v *Reputation) Standing(at time.Time, signer common.Address) Standing {
	v.mu.RLock()
	defer v.mu.RUnlock()
	r := v.of(signer)
	if r == nil {
		return Standing{}
	}
	return Standing{AllTime: r.allTime, Week: r.last(hoursOfWeek, at), Day: r.last(hoursOfDay, at), High: v.isHigh(r)}
}

// Stats is a signer's Standing as flashbots_getUserStatsV2 reports it (docs/spec.md, Statistics).
func (v *Reputation) Stats(at time.Time, signer common.Address) rpc.UserStats {
	s := v.Standing(at, signer)
	return rpc.UserStats{
		High: s.High, Orders: s.AllTime.Orders, FailedOrders: s.AllTime.FailedOrders,
		AllTime: userSums(&s.AllTime), Week: userSums(&s.Week), Day: userSums(&s.Day),
	}
}

func userSums(s *Sums) rpc.UserSums {
	return rpc.UserSums{ValueWei: &s.ValueWei, GasSimulated: s.GasSimulated}
}

// High says whether a signer's simulations come first. In the 7 days before the newest fact its
// orders must have paid something, and enough for what simulating them cost, and not too many of
// their simulations may have failed.
func (v *Reputation) High(signer common.Address) bool {
	v.mu.RLock()
	defer v.mu.RUnlock()
	r := v.of(signer)
	return r != nil && v.isHigh(r)
}

func (v *Reputation) isHigh(r *signerRecord) bool {
	if r.allTime.ValueWei.IsZero() {
		return false
	}
	week := r.last(hoursOfWeek, v.now)
	needWei := new(uint256.Int).Mul(uint256.NewInt(week.GasSimulated), uint256.NewInt(v.cfg.HighWeiPerGas))
	return !week.ValueWei.IsZero() && !week.ValueWei.Lt(needWei) &&
		week.FailedSimulations*100 <= week.Simulations*v.cfg.HighFailedPercent
}
