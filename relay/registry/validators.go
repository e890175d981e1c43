package registry

import (
	"slices"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// SetValidators updates the validator table with that of a beacon node. Registrations stay; those
// of validators that are not in the table do not count.
//
// The table is changed in place and a page at a time, so that no reader waits for a million
// validators, and memory never holds two tables. Readers may see new validators while old ones are
// not gone yet.
//
// If the node's table lacks more than a tenth of the known validators, or is empty, the node is not
// synced, or lists only active ones. Then its new validators are added and none is forgotten. This
// does no harm, since validators that have exited have no duties. missing is how many the node's
// table lacks then. The next complete table removes them.
func (r *Registry) SetValidators(validators []relay.Validator) (missing int) {
	r.replacing.Lock()
	defer r.replacing.Unlock()
	var seen rowSet
	for page := range slices.Chunk(validators, pageRows) {
		r.know(page, &seen)
	}
	if known, lacks := r.Validators(), r.Validators()-len(validators); lacks > 0 &&
		(len(validators) == 0 || known >= leastNetwork && lacks > known/10) {
		return lacks
	}
	for first := uint32(0); r.forgetUnseen(first, seen); first += pageRows {
	}
	return 0
}

// leastNetwork is the size from which on a network cannot lose a tenth of its validators in an
// epoch.
const leastNetwork = 1000

func (r *Registry) know(validators []relay.Validator, seen *rowSet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, v := range validators {
		rowIndex, changed := r.table.know(v)
		seen.add(rowIndex)
		if changed {
			r.touch(v.Pubkey)
		}
	}
}

// forgetUnseen forgets the validators of one page that are no longer in the beacon chain's table,
// and says whether more pages follow.
func (r *Registry) forgetUnseen(first uint32, seen rowSet) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	end := min(first+pageRows, r.table.rows)
	for rowIndex := first; rowIndex < end; rowIndex++ {
		if row := r.table.at(rowIndex); row.known && !seen.has(rowIndex) {
			r.table.forget(rowIndex)
			r.touch(row.pubkey)
		}
	}
	return end < r.table.rows
}

// Validators returns how many validators are known.
func (r *Registry) Validators() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.table.known
}

// Pubkey returns the public key of a validator; false if it is not known.
func (r *Registry) Pubkey(index phase0.ValidatorIndex) (phase0.BLSPubKey, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	rowIndex, ok := r.table.byIndex[index]
	if !ok {
		return phase0.BLSPubKey{}, false
	}
	return r.table.at(rowIndex).pubkey, true
}

// rowSet is a set of rowSet in the table, with a bit for each.
type rowSet []uint64

func (p *rowSet) add(rowIndex uint32) {
	if missing := int(rowIndex/64) + 1 - len(*p); missing > 0 {
		*p = append(*p, make([]uint64, missing)...)
	}
	(*p)[rowIndex/64] |= 1 << (rowIndex % 64)
}

func (p rowSet) has(rowIndex uint32) bool {
	return int(rowIndex/64) < len(p) && p[rowIndex/64]&(1<<(rowIndex%64)) != 0
}
