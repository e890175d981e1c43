package registry

import (
	"time"

	"github.com/gavel-relay/gavel/relay"
)

// Facts stay for ever, so a validator must not be able to write as many as it can sign. Memory has
// the newest registration at once. The journal gets a change at once, but a second change within a
// minute only when the minute is over; and a renewal once a day. What the journal does not get at
// once, other instances are told apart from it.
const (
	changeEvery = time.Minute
	renewEvery  = 24 * time.Hour
	// heardWithin is how long another instance may take to record a change that it has told of.
	// Unless it has died, it does so when its minute is over, and looks for that once a minute.
	heardWithin = 3 * changeEvery
)

// record returns the fact of a row that has just been written; nil if none is due now. The caller
// holds the lock.
func (r *Registry) record(at time.Time, rowIndex uint32, difference difference) *relay.RegistrationStored {
	row := r.table.at(rowIndex)
	last := time.Unix(row.recorded, 0)
	switch {
	case row.recorded == 0, difference == changed && !at.Before(last.Add(changeEvery)), !at.Before(last.Add(renewEvery)):
		return r.fact(at, rowIndex)
	case difference == changed:
		r.unrecorded[rowIndex] = changeEvery
	}
	return nil
}

// fact makes the fact of a validator's present registration. The caller holds the lock.
func (r *Registry) fact(at time.Time, rowIndex uint32) *relay.RegistrationStored {
	row := r.table.at(rowIndex)
	row.recorded = at.Unix()
	delete(r.unrecorded, rowIndex)
	return &relay.RegistrationStored{At: at, Registration: row.signed()}
}

// recordDue records the changes that have waited long enough.
func (r *Registry) recordDue(at time.Time) {
	for _, fact := range r.due(at) {
		r.facts.Record(*fact)
	}
}

func (r *Registry) due(at time.Time) (facts []*relay.RegistrationStored) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for rowIndex, wait := range r.unrecorded {
		if !at.Before(time.Unix(r.table.at(rowIndex).recorded, 0).Add(wait)) {
			facts = append(facts, r.fact(at, rowIndex))
		}
	}
	return facts
}

// Flush records all changes of this instance that wait. It is for the end of the process.
func (r *Registry) Flush(at time.Time) { r.recordDue(at.Add(changeEvery)) }
