package node

import (
	"cmp"
	"maps"
	"slices"

	"github.com/gavel-relay/gavel/internal/exec"
)

// strangersTurn: while blocks of Normal priority wait, each fourth place goes to one of them,
// however many known builders' blocks wait.
const strangersTurn = 4

// fairOrder decides whose block is next. Higher priorities come first. Within a priority the
// sources take fairOrder: strangers by address and then by key, known builders by key. So a source
// that sends more waits longer, and many keys at one address gain nothing. Pool.mu guards it.
type fairOrder struct {
	parties roundRobin // by priority and party
	keys    roundRobin // by priority and key
	// passedOver counts the places that went to other priorities in a row while a block of Normal
	// priority waited.
	passedOver int
}

// member names a source within a priority.
type member struct {
	priority exec.Priority
	name     string
}

// party is what takes turns with others: the address for strangers, whose keys cost nothing, and
// the key for known builders.
func (t *ticket) party() member {
	if t.priority.Stranger() {
		return member{t.priority, t.source.Address}
	}
	return t.key()
}

func (t *ticket) key() member { return member{t.priority, string(t.source.Key[:])} }

// order sorts the waiting blocks, the next one first.
func (o *fairOrder) order(waiting []*ticket) []*ticket {
	// the number of each party's first block, which orders parties with the same turn
	first := map[member]uint64{}
	for _, t := range waiting {
		if number, any := first[t.party()]; !any || t.number < number {
			first[t.party()] = t.number
		}
	}
	rank := func(t *ticket) exec.Priority {
		if t.priority == exec.Normal && o.passedOver >= strangersTurn-1 {
			return exec.High + 1
		}
		return t.priority
	}
	return slices.SortedFunc(slices.Values(waiting), func(a, b *ticket) int {
		return cmp.Or(
			cmp.Compare(rank(b), rank(a)),
			cmp.Compare(o.parties.turn(a.party()), o.parties.turn(b.party())),
			cmp.Compare(first[a.party()], first[b.party()]),
			cmp.Compare(o.keys.turn(a.key()), o.keys.turn(b.key())),
			cmp.Compare(a.number, b.number),
		)
	})
}

// took records that a block has had its turn.
func (o *fairOrder) took(t *ticket, waiting []*ticket) {
	o.parties.took(t.party())
	o.keys.took(t.key())
	switch {
	case t.priority == exec.Normal:
		o.passedOver = 0
	case slices.ContainsFunc(waiting, func(other *ticket) bool { return other.priority == exec.Normal }):
		o.passedOver++
	}
}

// roundRobin counts turns. A member that was away gets the current turn when it comes back, so it
// can't save turns up. The zero value is ready for use.
type roundRobin struct {
	next map[member]uint64
	now  map[exec.Priority]uint64
}

// remembered is how many members a rota keeps before it deletes those that would get the current
// turn without an entry, too.
const remembered = 4096

func (r *roundRobin) turn(m member) uint64 { return max(r.next[m], r.now[m.priority]) }

func (r *roundRobin) took(m member) {
	if r.next == nil {
		r.next, r.now = map[member]uint64{}, map[exec.Priority]uint64{}
	}
	turn := r.turn(m)
	r.now[m.priority], r.next[m] = turn, turn+1
	if len(r.next) > remembered {
		maps.DeleteFunc(r.next, func(m member, next uint64) bool { return next <= r.now[m.priority] })
	}
}
