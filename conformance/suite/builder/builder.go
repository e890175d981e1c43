// Package builder has the specs of a block builder, which is a client of relays. The suite plays
// the relays, in a world with a real chain: it judges what comes, and how the builder goes on when
// relays refuse, fail or keep silent.
//
//	world ─attributes, state─▶ builder under test ──submissions──▶ scripted relays a, b, c ◀─script─ spec
//	spec ◀───────────────────────── what came, for which slot, when ────┘
//
// All specs run side by side. Those about what every submission must be look at all that comes
// while they watch. Those about what relays do have slots of their own.
package builder

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Specs adds all specs of builders to a set.
func Specs(s *suite.Set) {
	for _, add := range []func(*suite.Set){describeForm, describeTrace, describeBlocks, describeBidSlots,
		describeCancellations, describeIdentity, describeFailures, describeRefusals} {
		add(s)
	}
}

const (
	jsonType      = "application/json"
	sszType       = "application/octet-stream"
	versionHeader = "Eth-Consensus-Version"
)

// watchedSlots is of how many slots a spec sees submissions before it judges them.
const watchedSlots = 3

// patience is how many slots a builder may let pass until it has bid in as many as a spec wants to
// see: two epochs and what is left of one.
func patience(a *scripted.Auctions) phase0.Slot { return phase0.Slot(3 * a.World.Facts.SlotsPerEpoch) }

// watch waits until submissions have come for some slots that are over, and returns all that came
// for these since the spec began. What has no slot, or one that nobody can know yet, belongs to
// them. It returns nil if none come.
func watch(t *suite.T) (list []*scripted.Submission) {
	a := t.Auctions
	defer a.Watch()()
	first := a.Now() + 2 // the next slot is built for already, without a proposer that is listed
	for at := first; at < first+patience(a); at++ {
		t.Until(a.Network.Start(at + 1))
		list = nil
		slots := map[phase0.Slot]bool{}
		for _, s := range a.Submissions() {
			if s.Slot >= first && s.Slot <= at || s.Slot == 0 || s.Slot > at+patience(a) {
				list = append(list, s)
				slots[s.Slot] = true
			}
		}
		if len(slots) >= watchedSlots {
			return list
		}
	}
	return list
}

// claim returns a slot of the spec's own, whose proposer is registered. The relays list proposers
// until the returned function is called.
func claim(t *suite.T) (phase0.Slot, func()) {
	stop := t.Auctions.Watch()
	slot, err := t.Auctions.Claim(t)
	if err != nil {
		stop()
		t.Inconclusive("no slot of a registered proposer came: %v", err)
	}
	return slot, stop
}

// waitSlotOver waits until a slot is over.
func waitSlotOver(t *suite.T, slot phase0.Slot) { t.Until(t.Auctions.Network.Start(slot + 1)) }

// finding is what is wrong with a submission: what was expected, and what came.
type finding struct{ expected, actual string }

// compareField returns a finding about a field, or nil if both values are the same.
func compareField[V comparable](field string, expected, actual V) *finding {
	if expected == actual {
		return nil
	}
	return &finding{field + " " + describeValue(expected), describeValue(actual)}
}

// describeValue is a value as people read it: bytes as hexadecimal digits.
func describeValue(value any) string {
	if named, is := value.(fmt.Stringer); is {
		return named.String()
	}
	if reflect.TypeOf(value).Kind() == reflect.Array {
		return fmt.Sprintf("%#x", value)
	}
	return fmt.Sprint(value)
}

// judgeEach adds a spec that judges each submission that comes. Without one it is inconclusive.
// Look returns nil for what is as it should be, or what its clause is not about.
func judgeEach(s *suite.Set, clause, title string, look func(t *suite.T, s *scripted.Submission) *finding) {
	s.Slow(clause, title, func(t *suite.T) {
		list := watch(t)
		if len(list) == 0 {
			t.Inconclusive("the builder has submitted nothing")
		}
		for _, one := range list {
			judge(t, one, look(t, one))
		}
	})
}

// judgeContent adds a spec as judgeEach does, which judges the content of submissions that can be
// read. It is inconclusive if none can.
func judgeContent(s *suite.Set, clause, title string, look func(t *suite.T, s *scripted.Submission) *finding) {
	s.Slow(clause, title, func(t *suite.T) {
		for _, one := range watchReadable(t) {
			judge(t, one, look(t, one))
		}
	})
}

// judgeOnAnnounced adds a spec as judgeContent does, about submissions on a parent that the beacon
// node has announced for their slot, with what it has announced.
func judgeOnAnnounced(s *suite.Set, clause, title string,
	look func(*suite.T, eth.PayloadAttributes, *scripted.Submission) *finding) {
	s.Slow(clause, title, func(t *suite.T) {
		judged := 0
		for _, one := range watchReadable(t) {
			if at, known := t.Auctions.AttributesOn(one.Slot, one.Block.ExecutionPayload.ParentHash); known {
				judge(t, one, look(t, at, one))
				judged++
			}
		}
		if judged == 0 {
			t.Inconclusive("the builder has submitted nothing on a parent that was announced for its slot")
		}
	})
}

// judge fails the spec with the submission in the report, if there is a finding.
func judge(t *suite.T, one *scripted.Submission, f *finding) {
	if f == nil {
		return
	}
	show(t, one)
	t.Check(false, f.expected, fmt.Sprintf("%s at relay %s for slot %d", f.actual, one.Relay.Name, one.Slot))
}

// show puts a submission into the report: its message if it can be read, and its body otherwise.
func show(t *suite.T, one *scripted.Submission) {
	header := one.Header.Clone()
	if header.Get(keyHeader) != "" {
		header.Set(keyHeader, "redacted")
	}
	body := probe.ShownBody(one.Body)
	if one.Block != nil {
		if raw, err := json.Marshal(one.Block.Message); err == nil {
			body = string(raw)
		}
	}
	path := one.Path
	if one.Query != "" {
		path += "?" + one.Query
	}
	t.Show(probe.Exchange{Asked: probe.Message{Method: one.Method, URL: "relay " + one.Relay.Name + path, Header: header,
		Body: body, Bytes: len(body)}})
}

// sinceSlotStart is how far a moment is in a slot; below zero it is before the slot.
func sinceSlotStart(a *scripted.Auctions, slot phase0.Slot, at time.Time) time.Duration {
	return at.Sub(a.Network.Start(slot))
}
