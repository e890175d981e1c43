package relay

import (
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// bluff is a block of a trusted builder that pays less than its bid says, which is above all bids
// before.
func (a *auction) bluff(key *probe.BLSKey) *submission {
	s := a.block("a", gwei(1000+100*uint64(a.blocks)))
	s.key, s.Message.BuilderPubkey = key, key.Public
	s.Message.Value.AddUint64(s.Message.Value, 1_000_000)
	return s.sign()
}

// trustedKeys are builders whom the operator trusts, as the target says, in an order of the spec's
// own.
func trustedKeys(t *suite.T) (keys []*probe.BLSKey) {
	list := t.Target.Relay.TrustedBuilders
	for _, i := range t.Random.Perm(len(list)) {
		key, err := probe.ParseBLSKey(unhex(list[i]))
		t.Ready(err, "read the keys of trusted builders")
		keys = append(keys, key)
	}
	return keys
}

// bluffed is the first trusted builder whose bluff is taken; others have lost their trust to specs
// before.
func (a *auction) bluffed() *probe.BLSKey {
	a.ready()
	for _, key := range trustedKeys(a.t) {
		if a.submit(a.bluff(key)).Status == http.StatusOK {
			return key
		}
	}
	return nil
}

// trusted: builders whose bids count before their blocks are executed.
func trusted(r *room) {
	r.It("REL-SUB-39", "takes a trusted builder's bid before its block is executed", func(t *suite.T) {
		t.Check(r.openAlone(t).bluffed() != nil, "a bid to be taken although its block pays less", "all refused")
	})
	r.It("REL-SUB-40", "trusts a builder no more whose block pays less than its bid", func(t *suite.T) {
		a := r.openAlone(t)
		key := a.bluffed()
		if key == nil {
			t.Check(false, "a trusted builder's bid to be taken before its block is executed", "all refused")
		}
		a.losesTrust(func() *submission { return a.bluff(key) })
	})
	r.It("REL-SUB-40", "trusts a builder no more who raises the bid for a block that was found to pay what it said before",
		func(t *suite.T) {
			a := r.openAlone(t)
			a.ready()
			for _, key := range trustedKeys(t) {
				s := a.block("a", gwei(1000))
				s.key, s.Message.BuilderPubkey = key, key.Public
				a.submitted(s.sign())
				t.Until(time.Now().Add(executedWithin))
				raised := func() *submission { // no other block: what it pays was found already
					s.Message.Value.AddUint64(s.Message.Value, 1_000_000)
					return s.sign()
				}
				if a.submit(raised()).Status == http.StatusOK {
					a.losesTrust(raised)
					return
				}
			}
			t.Check(false, "a trusted builder's bid to be taken before its block is executed", "all refused")
		})
}

// executedWithin is how long a relay may take to execute a block that counts already, if a spec
// wants to speak of the time afterwards.
const executedWithin = 100 * time.Millisecond

// losesTrust fails the spec unless further bids of a builder, above what their blocks pay, are
// refused, soon; others are still taken.
func (a *auction) losesTrust(bluff func() *submission) {
	var answer *probe.Answer
	_ = a.t.Eventually(executedWithin, func() error {
		if answer = a.submit(bluff()); answer.Status != http.StatusBadRequest {
			return errStillTrusted
		}
		return nil
	})
	a.t.Status(answer, http.StatusBadRequest)
	a.submitted(a.block("b", gwei(90_000))) // else the slot is over, and everything is refused
}

const errStillTrusted = plainError("it is taken before it is executed")

// literal: the relay's row of docs/differences.md, at the target's literal instance.
func literal(r *room) {
	r.It("REL-LIT-01", "takes no bid before its block is executed", func(t *suite.T) {
		keys := trustedKeys(t)
		if len(keys) == 0 {
			t.NotRun("the target does not declare relay.trustedBuilders: whom its relays trust")
		}
		a := r.openAlone(t)
		a.ready()
		for _, key := range keys[:min(len(keys), 4)] {
			a.refused(a.bluff(key))
		}
	})
}
