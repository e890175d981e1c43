package pool

import "slices"

// blockIndex holds the orders that a block may include, in the order in which they came. Ended
// orders stay in it until they are half of it, so that ending an order is cheap.
type blockIndex struct {
	handles []handle
	dead    int
}

// index adds an order to the blocks from first to last.
func (p *Pool) index(e *entry, first, last uint64) {
	handle := p.slab.handleOf(e.cell)
	for block := first; block <= last; block++ {
		at := p.blocks[block]
		if at == nil {
			at = new(blockIndex)
			p.blocks[block] = at
		}
		at.handles = append(at.handles, handle)
	}
}

// unindex counts an order that has just ended as dead in all its blocks.
func (p *Pool) unindex(e *entry) {
	for block := e.from; block <= e.order.Bundle.Window.LastBlock; block++ {
		at := p.blocks[block]
		if at == nil {
			continue // that block is long past
		}
		at.dead++
		if at.dead*2 <= len(at.handles) {
			continue
		}
		at.handles = slices.DeleteFunc(at.handles, func(t handle) bool { return p.slab.get(t) == nil })
		at.dead = 0
		if len(at.handles) == 0 {
			delete(p.blocks, block)
		}
	}
}
