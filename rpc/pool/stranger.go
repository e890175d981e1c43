package pool

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// isStranger says whether a signer has no name yet. Without a bound for strangers, or without
// classes, nobody is one. Strangers leave room to those who have a name, whatever they do: an order
// that was acknowledged never has to go for another one.
func (p *Pool) isStranger(signer common.Address) bool {
	return p.config.Strangers > 0 && p.config.Class != nil && p.config.Class(signer) == 0
}

// Crowded says whether strangers have half of what they may have: then it is worth looking closer
// at what comes from one more.
func (p *Pool) Crowded(signer common.Address) bool {
	return p.strangers*2 >= p.config.Strangers && p.isStranger(signer)
}

// strangersRoom refuses an order of a stranger for which there is no room, in all or for its
// network. Keys cost nothing, so that a share of each key is none.
func (p *Pool) strangersRoom(order *rpc.Order) error {
	if !p.isStranger(order.Signer) {
		return nil
	}
	if n := p.sources[order.Source]; order.Source != "" && p.config.MaxPerSource > 0 && n >= p.config.MaxPerSource {
		return rpc.RateLimited.With("%d orders of new signers from this address wait for their blocks", n)
	}
	if p.strangers >= p.config.Strangers {
		return rpc.Overloaded.Plain()
	}
	return nil
}

// countStranger counts an order that comes to life, or whose life ends.
func (p *Pool) countStranger(e *entry, by int) {
	if !e.stranger {
		return
	}
	p.strangers += by
	if source := e.order.Source; source != "" {
		if p.sources[source] += by; p.sources[source] == 0 {
			delete(p.sources, source)
		}
	}
}
