package relay

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// errNotFollowed is why a check of suite.Set.Sane looks again.
const errNotFollowed = plainError("nobody has asked the node")

// slotsUnasked is for how many slots nobody may ask the world's beacon node. A relay asks it when
// it starts, at the latest when it learns of the next slot.
const slotsUnasked = 4

// checkWorld ends as inconclusive if the relay does not live in the world: if nobody has asked the
// world's beacon node, if all proposers that the relay lists are of another chain, or if it takes
// the registrations of the world's validators and lists none of them.
func (r *specs) checkWorld(t *suite.T) {
	if t.World == nil {
		return
	}
	err := t.Eventually(t.World.Facts.Slots(slotsUnasked), func() error {
		asked, err := t.World.Followers(t)
		if err == nil && asked.Beacon == 0 {
			return errNotFollowed
		}
		return nil // a world that cannot tell proves nothing
	})
	if err != nil {
		t.Inconclusive("the relay does not follow the world: nobody has asked its beacon node at %s", t.World.Facts.BeaconURL)
	}
	duties, err := listDuties(t)
	if err == nil && len(duties) > 0 && !slices.ContainsFunc(duties, func(d duty) bool { return r.knows(t, d) }) {
		t.Inconclusive("the relay follows another chain than the world's: it lists proposers of slots %s to %s, and none is "+
			"a validator of the world, which is at slot %d", duties[0].Slot, duties[len(duties)-1].Slot,
			t.World.Facts.Newest(t.Now()))
	}
	if !t.World.Facts.ForkOf().HasBlindedBlocks() {
		return // nobody registers any more
	}
	if err := r.registerOnce(t); errors.Is(err, errNoProposer) {
		t.Inconclusive("the relay takes the registrations of the world's validators, and lists none of them as proposer " +
			"within two epochs: it knows no slots or no validators of the world")
	}
}

// knows says whether a duty is of one of the world's validators.
func (r *specs) knows(t *suite.T, d duty) bool {
	index, err := strconv.Atoi(d.Index)
	if err == nil && index >= 0 && index < len(t.World.Facts.ValidatorKeys) {
		return true
	}
	return d.Entry != nil && d.Entry.Message != nil && slices.ContainsFunc(r.validators(t), func(key *probe.BLSKey) bool {
		return key.Public == d.Entry.Message.Pubkey
	})
}

// registerOnce registers the world's validators, unless that has succeeded or failed too often.
func (r *specs) registerOnce(t *suite.T) error {
	keys := r.validators(t)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.registered && r.tries < mostTries {
		r.tries++
		r.failure = r.register(t, keys)
		r.registered = r.failure == nil
	}
	if r.failure != nil {
		return fmt.Errorf("register the world's validators: %w", r.failure)
	}
	return nil
}

// errNoProposer means that the relay lists no proposers, although validators have registered.
const errNoProposer = plainError("the relay lists no registered proposer")
