package builder

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay/client"
)

// duties are the registered proposers that the relays have told of. The zero value knows none.
type duties struct {
	mu      sync.Mutex // guards all below
	fetched bool
	epoch   phase0.Epoch // of the slot for which they were fetched last
	bySlot  map[phase0.Slot]client.Duty
}

var errNotRegistered = errors.New("the slot's proposer has not registered")

// duty is who proposes in a slot. The relays are asked anew when that is not known, and for each
// epoch, since a registration may have changed. A relay that does not answer is passed over as long
// as another one does.
func (b *Builder) duty(ctx context.Context, slot phase0.Slot) (client.Duty, error) {
	d := &b.duties
	d.mu.Lock()
	defer d.mu.Unlock()
	epoch := b.Spec.EpochOf(slot)
	duty, known := d.bySlot[slot]
	if known && d.fetched && d.epoch == epoch {
		return duty, nil
	}
	bySlot := map[phase0.Slot]client.Duty{}
	var errs []error
	for _, relay := range b.Relays {
		list, err := relay.Duties(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("fetch duties of %s: %w", relay.URL(), err))
			continue
		}
		for _, entry := range list {
			if _, ok := bySlot[entry.Slot]; !ok {
				bySlot[entry.Slot] = entry
			}
		}
	}
	if len(errs) < len(b.Relays) {
		d.bySlot, d.epoch, d.fetched = bySlot, epoch, true
		duty, known = bySlot[slot]
	}
	if !known {
		return client.Duty{}, errors.Join(append(errs, errNotRegistered)...)
	}
	return duty, nil
}
