package pool

import (
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// Status is what is known of a signer's newest order with a hash; nil if there is none.
func (p *Pool) Status(signer common.Address, hash common.Hash) *rpc.OrderStatus {
	list := p.byHash[title{signer, hash}]
	if len(list) == 0 {
		return nil
	}
	return list[len(list)-1].status()
}

func (e *entry) status() *rpc.OrderStatus {
	s := &rpc.OrderStatus{Order: e.order, State: e.state, Simulations: slices.Clone(e.simulations), Deliveries: slices.Clone(e.deliveries)}
	if e.end != nil {
		s.Reason, s.Block, s.BlockHash, s.EndedAt = e.end.Reason, e.end.Block, e.end.BlockHash, e.end.At
		s.ValueWei = e.end.ValueWei
	}
	return s
}
