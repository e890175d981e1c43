package reputation

import (
	"time"

	"github.com/holiman/uint256"
)

// Tally is what came of a signer's orders in some time. The zero value is nothing.
type Tally struct {
	Orders uint64
	// GasSimulated is what simulations of orders and calls used together.
	GasSimulated uint64
	// Simulations that succeeded and failed, of orders only: anybody may try whatever he wants with a call.
	Succeeded, Failed uint64
	Landed            uint64
	// ValueLandedWei is what fee recipients earned by landed orders.
	ValueLandedWei uint256.Int
}

func (t *Tally) add(u *Tally) {
	t.Orders += u.Orders
	t.GasSimulated += u.GasSimulated
	t.Succeeded += u.Succeeded
	t.Failed += u.Failed
	t.Landed += u.Landed
	t.ValueLandedWei.Add(&t.ValueLandedWei, &u.ValueLandedWei)
}

// takeBack subtracts landings, at most all of them: a signer who was forgotten meanwhile begins with nothing.
func (t *Tally) takeBack(u *Tally) {
	t.Landed -= min(t.Landed, u.Landed)
	if t.ValueLandedWei.Lt(&u.ValueLandedWei) {
		t.ValueLandedWei.Clear()
		return
	}
	t.ValueLandedWei.Sub(&t.ValueLandedWei, &u.ValueLandedWei)
}

// The periods that statistics tell, in hours.
const (
	dayHours  = 24
	weekHours = 7 * dayHours
)

// record is one signer's. hours are those of the last week in which anything happened, oldest first.
type record struct {
	total Tally
	hours []hour
}

type hour struct {
	// number counts hours since 1970.
	number int64
	Tally
}

func hourOf(at time.Time) int64 { return at.Unix() / int64(time.Hour/time.Second) }

// note adds what happened at a time, and says by how many the hours grew. What comes a little late counts for the newest hour; what is older than a
// week only in total.
func (r *record) note(at time.Time, change *Tally) (grown int) {
	r.total.add(change)
	number := hourOf(at)
	if n := len(r.hours); n > 0 && number <= r.hours[n-1].number {
		if r.hours[n-1].number-number < weekHours {
			r.hours[n-1].add(change)
		}
		return 0
	}
	before := len(r.hours)
	r.drop(number)
	r.hours = append(r.hours, hour{number: number, Tally: *change})
	return len(r.hours) - before
}

// takeBack undoes the landing of an order that was noted at a time.
func (r *record) takeBack(at time.Time, change *Tally) {
	r.total.takeBack(change)
	for i := len(r.hours) - 1; i >= 0; i-- {
		if r.hours[i].number <= hourOf(at) || i == 0 {
			r.hours[i].takeBack(change)
			return
		}
	}
}

// drop lets go of hours that are more than a week before.
func (r *record) drop(number int64) {
	old := 0
	for old < len(r.hours) && r.hours[old].number+weekHours <= number {
		old++
	}
	if old > 0 {
		r.hours = append(r.hours[:0], r.hours[old:]...)
	}
}

// since sums the newest hours up to a time.
func (r *record) since(at time.Time, hours int64) Tally {
	var sum Tally
	for i := range r.hours {
		if h := &r.hours[i]; h.number+hours > hourOf(at) {
			sum.add(&h.Tally)
		}
	}
	return sum
}
