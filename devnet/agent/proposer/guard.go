package proposer

import (
	"errors"
	"fmt"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

var errSigned = errors.New("a block of this slot or a later one is signed already")

// guard keeps validators from signing two blocks of one slot, for which they would be slashed
// (consensus-specs, process_proposer_slashing). Like EIP-3076's minimal strategy, it remembers only
// the last signed slot of each validator. The zero value has no signatures.
type guard struct {
	mu   sync.Mutex // guards last
	last map[phase0.ValidatorIndex]phase0.Slot
}

// take allows a validator one signature in a slot. Afterwards it returns errSigned for that slot
// and all earlier ones.
func (g *guard) take(index phase0.ValidatorIndex, slot phase0.Slot) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if last, ok := g.last[index]; ok && slot <= last {
		return fmt.Errorf("validator %d, slot %d: %w", index, slot, errSigned)
	}
	if g.last == nil {
		g.last = map[phase0.ValidatorIndex]phase0.Slot{}
	}
	g.last[index] = slot
	return nil
}
