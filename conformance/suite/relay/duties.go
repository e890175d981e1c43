package relay

import (
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

const dutiesPath = "/relay/v1/builder/validators"

// list returns the target's list of proposers. It fails the spec unless the answer is a JSON array.
func list(t *suite.T) []duty {
	answer := t.Get(builderAPI(t), dutiesPath)
	t.Status(answer, http.StatusOK)
	var entries []duty
	err := answer.JSON(&entries)
	t.Check(err == nil && entries != nil, "a JSON array", answer)
	return entries
}

// epoch returns the number of the current epoch.
func epoch(t *suite.T) uint64 {
	f := t.World.Facts
	elapsed := t.Now().Sub(time.Unix(f.GenesisTime, 0)).Milliseconds()
	return uint64(max(elapsed, 0)/f.SlotMs) / f.SlotsPerEpoch
}

// proposers returns the chain's proposers of some epochs: indices of validators by slot, both in
// decimal digits.
func proposers(t *suite.T, epochs ...uint64) map[string]string {
	chain := map[string]string{}
	for _, number := range epochs {
		answer, err := probe.NewClient(t.World.Facts.BeaconURL, nil, 5*time.Second).Do(t, probe.Request{
			Method: http.MethodGet, Path: fmt.Sprintf("/eth/v1/validator/duties/proposer/%d", number),
		})
		t.Ready(err, "ask the beacon node")
		var known struct {
			Data []struct {
				Slot  string `json:"slot"`
				Index string `json:"validator_index"`
			} `json:"data"`
		}
		t.Ready(answer.JSON(&known), "ask the beacon node")
		for _, d := range known.Data {
			chain[d.Slot] = d.Index
		}
	}
	return chain
}

// listsAll returns an error unless the target lists all coming slots of the current and the next
// epoch whose proposers have registered.
func listsAll(t *suite.T) error {
	now := epoch(t)
	listed := map[string]bool{}
	for _, d := range list(t) {
		listed[d.Slot] = true
	}
	facts := t.World.Facts
	elapsed := uint64(t.Now().Sub(time.Unix(facts.GenesisTime, 0)) / facts.Slots(1))
	for slot, validator := range proposers(t, now, now+1) {
		number, err := strconv.ParseUint(slot, 10, 64)
		t.Ready(err, "read the beacon node's duties")
		index, err := strconv.ParseUint(validator, 10, 64)
		t.Ready(err, "read the beacon node's duties")
		stranger := index == uint64(facts.Stranger())
		if !stranger && number > elapsed && !listed[slot] {
			return fmt.Errorf("slot %s of epoch %d is not listed; the current epoch is %d", slot,
				number/facts.SlotsPerEpoch, now)
		}
	}
	return nil
}

// describeDuties adds specs about GET /relay/v1/builder/validators.
func describeDuties(r *specs) {
	r.It("REL-DUT-01", "lists each slot once", func(t *suite.T) {
		r.registerAll(t)
		seen := map[string]bool{}
		for _, d := range list(t) {
			t.Check(!seen[d.Slot], "each slot once", "slot "+d.Slot+" twice")
			seen[d.Slot] = true
		}
		t.Check(len(seen) > 0, "the registered proposers", "an empty list")
	})
	r.It("REL-DUT-01", "lists every registered proposer of two epochs", func(t *suite.T) {
		r.registerAll(t)
		// A relay may read the duties of an epoch some slots after it has begun.
		err := t.Eventually(t.Epochs(1), func() error { return listsAll(t) })
		t.Check(err == nil, "all slots of the current and the next epoch whose proposers have registered", err)
	})
	r.It("REL-DUT-01", "lists the slot that is being bid for", func(t *suite.T) {
		a := r.open(t)
		for _, d := range list(t) {
			if d.Slot == strconv.FormatUint(uint64(a.slot.Slot), 10) {
				t.Check(d.Entry.Message.Pubkey == a.proposer.Public, "the proposer of the slot", d.Entry.Message.Pubkey)
				return
			}
		}
		t.Check(false, fmt.Sprintf("an entry for slot %d", a.slot.Slot), "none")
	})
	r.It("REL-DUT-01", "lists a slot of this epoch also when it is over", func(t *suite.T) {
		r.registerAll(t)
		per := t.World.Facts.SlotsPerEpoch
		var slot uint64
		t.Ready(t.Eventually(t.Epochs(2), func() error {
			duties, err := listDuties(t)
			if err != nil {
				return err
			}
			for _, d := range duties {
				slot, err = strconv.ParseUint(d.Slot, 10, 64)
				if start := t.World.Facts.At(phase0.Slot(slot)); err == nil && slot%per < per-2 && t.Now().Before(start) {
					return nil
				}
			}
			return fmt.Errorf("the list has no slot to come that does not end its epoch")
		}), "find a registered slot")
		t.Until(t.World.Facts.At(phase0.Slot(slot + 1)).Add(news)) // the slot is over, and its epoch is not
		duties, err := listDuties(t)
		t.Check(err == nil, "a list of duties", err)
		if t.Now().After(t.World.Facts.At(phase0.Slot(slot - slot%per + per))) {
			t.Inconclusive("the epoch was over before the list was asked for")
		}
		for _, d := range duties {
			if d.Slot == strconv.FormatUint(slot, 10) {
				return
			}
		}
		t.Check(false, fmt.Sprintf("slot %d, which was listed before it began", slot), "it is gone")
	})
	r.It("REL-DUT-02", "carries registrations with their signatures, also after a newer one", func(t *suite.T) {
		newest := r.freshRegistration(t) // readies all others
		checkTakes(t, sendRegistrations(t, newest), newest)
		err := dutyNames(t, newest)
		t.Ready(err, "wait for a duty with the newest registration")
		for _, d := range list(t) {
			t.Check(d.Entry != nil && d.Entry.Message != nil, "an entry with a registration", d)
			root, err := d.Entry.Message.HashTreeRoot()
			t.Ready(err, "hash a registration")
			err = probe.VerifyBLS(d.Entry.Message.Pubkey, probe.SigningRoot(root, builderDomain(t.World.Facts)),
				d.Entry.Signature)
			t.Check(err == nil, "a registration that its validator signed", err)
		}
	})
	r.It("REL-DUT-03", "leaves out who never registered", func(t *suite.T) {
		r.registerAll(t)
		stranger := r.validators(t)[t.World.Facts.Stranger()].Public
		for _, d := range list(t) {
			t.Check(d.Entry.Message.Pubkey != stranger, "no duty of a validator that never registered", "slot "+d.Slot)
		}
	})
	r.It("REL-DUT-04", "answers an array", func(t *suite.T) {
		answer := t.Get(builderAPI(t), dutiesPath)
		t.Status(answer, http.StatusOK)
		var entries []any
		err := answer.JSON(&entries)
		t.Check(err == nil && entries != nil, "a JSON array", answer)
	})
	r.It("REL-DUT-05", "agrees with the chain's duties", func(t *suite.T) {
		r.registerAll(t)
		chain := proposers(t, epoch(t), epoch(t)+1)
		for _, d := range list(t) {
			if want, known := chain[d.Slot]; known {
				t.Check(d.Index == want, "validator "+want+" in slot "+d.Slot, "validator "+d.Index)
			}
		}
	})
	r.It("REL-DUT-06", "lists the current and the next epoch only", func(t *suite.T) {
		r.registerAll(t)
		before := epoch(t)
		entries := list(t)
		after := epoch(t)
		for _, d := range entries {
			slot, err := strconv.ParseUint(d.Slot, 10, 64)
			t.Check(err == nil, "a slot in decimal digits", d.Slot)
			of := slot / t.World.Facts.SlotsPerEpoch
			// The list may be a moment late when an epoch has just begun.
			t.Check(of+1 >= before && of <= after+1, fmt.Sprintf("slots of epochs %d and %d", after, after+1), "slot "+d.Slot)
		}
	})
}
