package proposer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/devnet"
)

// circuit has the client's circuit breaker, which decides whether it may ask relays. It is safe for
// concurrent use.
type circuit struct {
	mu      sync.Mutex // guards breaker, and is held while the beacon node is asked
	breaker *devnet.Breaker
}

// broken says whether the circuit breaker is open for a slot, so that no relay is asked. The
// client's own beacon node says which slots before it have blocks; a slot for which it gives no
// answer counts as one with a block.
func (p *Proposer) broken(ctx context.Context, slot phase0.Slot) bool {
	if p.Breaker.Off() {
		return false
	}
	p.circuit.mu.Lock()
	defer p.circuit.mu.Unlock()
	opens := p.circuit.breaker.Judge(slot, func(before phase0.Slot) bool {
		missed, err := p.beacon.missed(ctx, before)
		if err != nil {
			p.Log.Warn("circuit breaker does not know a slot", "slot", before, "error", err)
		}
		return missed
	})
	if opens {
		p.Log.Warn("circuit breaker opened: blocks are local until the beacon node restarts", "slot", slot)
		if p.BreakerOpened != nil {
			p.BreakerOpened(slot)
		}
	}
	return p.circuit.breaker.Open()
}

// BeaconRestarted says that the beacon node was started again during a slot. That closes the
// circuit breaker, and the count begins anew.
func (p *Proposer) BeaconRestarted(during phase0.Slot) {
	p.circuit.mu.Lock()
	defer p.circuit.mu.Unlock()
	p.circuit.breaker.Restart(during)
}

// missed says whether the chain has no block in a past slot.
func (n *beaconNode) missed(ctx context.Context, slot phase0.Slot) (bool, error) {
	_, _, err := n.do(ctx, http.MethodGet, fmt.Sprintf("/eth/v1/beacon/headers/%d", slot), http.Header{}, nil)
	if refused := (*statusError)(nil); errors.As(err, &refused) && refused.status == http.StatusNotFound {
		return true, nil
	}
	return false, err
}
