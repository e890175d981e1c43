package pool

import (
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// isNewcomer says whether a signer has no reputation yet. Without a limit for newcomers, or without
// classes, no signer is one. The limit leaves room for signers with a reputation, so that an
// accepted order never has to be removed for another one.
func (p *Pool) isNewcomer(signer common.Address) bool {
	return p.config.MaxNewcomers > 0 && p.config.Class != nil && p.config.Class(signer) == 0
}

// Crowded says whether newcomers have half of their places. Then it is worth checking a newcomer's
// next order more closely.
func (p *Pool) Crowded(signer common.Address) bool {
	return p.newcomers*2 >= p.config.MaxNewcomers && p.isNewcomer(signer)
}

// checkNewcomerRoom refuses a newcomer's order if there is no place for it, in all or for its
// network. The limit is per network and not per key, because keys cost nothing.
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

// countNewcomer counts a newcomer's order that becomes live (+1) or ends (-1).
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
