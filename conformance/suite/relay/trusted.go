package relay

import (
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// makeBluff makes a block of a trusted builder that pays less than its bid says. The bid is above
// all bids before it.
func (a *auction) makeBluff(key *probe.BLSKey) *submission {
	s := a.block("a", gwei(1000+100*uint64(a.blocks)))
	s.key, s.Message.BuilderPubkey = key, key.Public
	s.Message.Value.AddUint64(s.Message.Value, 1_000_000)
	return s.sign()
}

// trustedKeys returns the keys of the builders that the target declares as trusted (optimistic), in
// a random order, so that specs begin with different ones.
func trustedKeys(t *suite.T) (keys []*probe.BLSKey) {
	list := t.Target.Relay.TrustedBuilders
	for _, i := range t.Random.Perm(len(list)) {
		key, err := probe.ParseBLSKey(unhex(list[i]))
		t.Ready(err, "read the keys of trusted builders")
		keys = append(keys, key)
	}
	return keys
}

// findBluffed submits bluffs and returns the key of the first trusted builder whose bluff is
// accepted; nil if there is none. Builders before it were demoted because of earlier specs.
func (a *auction) findBluffed() *probe.BLSKey {
	a.prepareBid()
	for _, key := range trustedKeys(a.t) {
		if a.submit(a.makeBluff(key)).Status == http.StatusOK {
			return key
		}
	}
	return nil
}

// describeTrustedBuilders adds specs about builders whose bids count before their blocks are
// executed.
func describeTrustedBuilders(r *specs) {
	r.It("REL-SUB-39", "takes a trusted builder's bid before its block is executed", func(t *suite.T) {
		t.Check(r.openAlone(t).findBluffed() != nil, "a bid to be taken although its block pays less", "all refused")
	})
	r.It("REL-SUB-40", "trusts a builder no more whose block pays less than its bid", func(t *suite.T) {
		a := r.openAlone(t)
		key := a.findBluffed()
		if key == nil {
			t.Check(false, "a trusted builder's bid to be taken before its block is executed", "all refused")
		}
		a.checkLosesTrust(func() *submission { return a.makeBluff(key) })
	})
	r.It("REL-SUB-40", "trusts a builder no more who raises the bid for a block that was found to pay what it said before",
		func(t *suite.T) {
			a := r.openAlone(t)
			a.prepareBid()
			for _, key := range trustedKeys(t) {
				s := a.block("a", gwei(1000))
				s.key, s.Message.BuilderPubkey = key, key.Public
				a.prepareSubmitted(s.sign())
				t.Until(t.Now().Add(executedWithin))
				raised := func() *submission { // the same block, whose payment the relay already knows
					s.Message.Value.AddUint64(s.Message.Value, 1_000_000)
					return s.sign()
				}
				if a.submit(raised()).Status == http.StatusOK {
					a.checkLosesTrust(raised)
					return
				}
			}
			t.Check(false, "a trusted builder's bid to be taken before its block is executed", "all refused")
		})
}

// executedWithin is how long a spec waits until the relay has executed an optimistic block.
const executedWithin = 100 * time.Millisecond

// checkLosesTrust fails the spec unless the relay soon refuses further bluffs of a builder. It also
// needs the relay to accept another builder's valid block.
func (a *auction) checkLosesTrust(bluff func() *submission) {
	var answer *probe.Answer
	_ = a.t.Eventually(executedWithin, func() error {
		if answer = a.submit(bluff()); answer.Status != http.StatusBadRequest {
			return errStillTrusted
		}
		return nil
	})
	a.t.Status(answer, http.StatusBadRequest)
	a.prepareSubmitted(a.block("b", gwei(90_000))) // otherwise the slot is over, and all is refused
}

const errStillTrusted = plainError("it is taken before it is executed")

// describeLiteral adds specs about the relay's row of docs/differences.md, judged at the target's
// literal instance.
func describeLiteral(r *specs) {
	r.It("REL-LIT-01", "takes no bid before its block is executed", func(t *suite.T) {
		keys := trustedKeys(t)
		if len(keys) == 0 {
			t.NotRun("the target does not declare relay.trustedBuilders: whom its relays trust")
		}
		a := r.openAlone(t)
		a.prepareBid()
		for _, key := range keys[:min(len(keys), 4)] {
			a.checkRefused(a.makeBluff(key))
		}
	})
}
