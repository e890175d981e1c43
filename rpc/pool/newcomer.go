package pool

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// isNewcomer says whether a signer has no name yet. Without a bound for newcomers, or without
// classes, nobody is one. Newcomers leave room to those who have a name, whatever they do: an order
// that was acknowledged never has to go for another one.
func (p *Pool) isNewcomer(signer common.Address) bool {
	return p.config.MaxNewcomers > 0 && p.config.Class != nil && p.config.Class(signer) == 0
}

// Crowded says whether newcomers have half of what they may have: then it is worth looking closer
// at what comes from one more.
func (p *Pool) Crowded(signer common.Address) bool {
	return p.newcomers*2 >= p.config.MaxNewcomers && p.isNewcomer(signer)
}

// checkNewcomerRoom refuses an order of a newcomer for which there is no room, in all or for its
// network. Keys cost nothing, so that a share of each key is none.
func (p *Pool) checkNewcomerRoom(order *rpc.Order) error {
	if !p.isNewcomer(order.Signer) {
		return nil
	}
	if n := p.sources[order.Source]; order.Source != "" && p.config.MaxPerSource > 0 && n >= p.config.MaxPerSource {
		return rpc.RateLimited.With("%d orders of new signers from this address wait for their blocks", n)
	}
	if p.newcomers >= p.config.MaxNewcomers {
		return rpc.Overloaded.Plain()
	}
	return nil
}

// countNewcomer counts an order that comes to life, or whose life ends.
func (p *Pool) countNewcomer(e *entry, by int) {
	if !e.newcomer {
		return
	}
	p.newcomers += by
	if source := e.order.Source; source != "" {
		if p.sources[source] += by; p.sources[source] == 0 {
			delete(p.sources, source)
		}
	}
}
