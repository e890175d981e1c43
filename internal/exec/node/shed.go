package node

import (
	"cmp"
	"slices"
)

// How many blocks may wait for a node. Further blocks of a stranger are sent away at once, whatever
// they claim to pay. When too many blocks of strangers wait, the address with the most of them
// loses its newest. Of known builders' blocks the one of least value is sent away, because known
// builders' claims can be believed.
const (
	waitingOfKey       = 8
	waitingOfAddress   = 32
	waitingOfStrangers = 256
	waitingOfBuilder   = 128
	waitingOfKnown     = 512
)

// shedOne sends a block away if the newest one made them too many. The caller holds mu.
func (p *Pool) shedOne(newest *ticket) {
	if len(newest.tried) > 0 { // it was accepted before its first try
		return
	}
	if victim := p.oneTooMany(newest); victim != nil && p.remove(victim) {
		victim.shed = true
		victim.granted <- nil
	}
}

// oneTooMany is the block to send away, or nil.
func (p *Pool) oneTooMany(newest *ticket) *ticket {
	if !slices.Contains(p.waiting, newest) {
		return nil
	}
	like := func(same func(t *ticket) bool) (list []*ticket) {
		for _, t := range p.waiting {
			if t.priority.Stranger() == newest.priority.Stranger() && same(t) {
				list = append(list, t)
			}
		}
		return list
	}
	ofKey := like(func(t *ticket) bool { return t.source.Key == newest.source.Key })
	all := like(func(*ticket) bool { return true })
	if newest.priority.Stranger() {
		ofAddress := like(func(t *ticket) bool { return t.source.Address == newest.source.Address })
		switch {
		case len(ofKey) > waitingOfKey, len(ofAddress) > waitingOfAddress:
			return newest
		case len(all) > waitingOfStrangers:
			return newestOfMost(all)
		}
		return nil
	}
	switch {
	case len(ofKey) > waitingOfBuilder:
		return leastValue(ofKey)
	case len(all) > waitingOfKnown:
		return leastValue(all)
	}
	return nil
}

// newestOfMost is the newest block of the address from which most blocks wait.
func newestOfMost(list []*ticket) *ticket {
	count := map[string]int{}
	for _, t := range list {
		count[t.source.Address]++
	}
	return slices.MaxFunc(list, func(a, b *ticket) int {
		return cmp.Or(cmp.Compare(count[a.source.Address], count[b.source.Address]), cmp.Compare(a.number, b.number))
	})
}

func leastValue(list []*ticket) *ticket {
	return slices.MinFunc(list, func(a, b *ticket) int { return a.valueWei.Cmp(b.valueWei) })
}
