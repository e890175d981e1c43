package relay

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apielectra "github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth"
)

// before waits for a slot of the old fork. The spec is not run in a world of one fork, and
// inconclusive if the fork is over.
func (r *specs) before(t *suite.T, propose bool) *auction {
	facts := t.World.Facts
	if facts.NextFork == "" {
		t.NotRun("all slots of the world are of %s: give it a second fork (--fork-at)", facts.Fork)
	}
	a := r.openFor(t, world.Wanted{Kind: world.Registered, Alone: !propose, Propose: propose})
	if a.slot.Slot >= facts.NextForkSlot {
		t.Inconclusive("the fork of slot %d is over", facts.NextForkSlot)
	}
	return a
}

// after waits for the first slot of the new fork that no other spec has.
func (r *specs) after(t *suite.T, propose bool) *auction {
	t.Until(t.World.Facts.At(t.World.Facts.NextForkSlot - 2)) // the question for a slot is answered in time
	return r.openFor(t, world.Wanted{Kind: world.Registered, Alone: !propose, Propose: propose,
		From: t.World.Facts.NextForkSlot})
}

// forks: what holds on both sides of a fork, and changes at its first slot.
func forks(r *specs) {
	r.Slow("REL-FRK-01", "names the fork of the slot, before and after", func(t *suite.T) {
		for _, open := range []func(*suite.T, bool) *auction{r.before, r.after} {
			a := open(t, false)
			a.submitted(a.block("a", gwei(1000)))
			answer := a.preparing().header(jsonType)
			t.Prepared(answer, "get a header", http.StatusOK)
			t.Check(versionOf(answer) == a.fork().String(), "version "+a.fork().String(), answer)
			a.readBid(answer)
		}
	})
	r.Slow("REL-FRK-02", "refuses a submission of the other fork, before and after", func(t *suite.T) {
		other := map[string]string{t.World.Facts.Fork: t.World.Facts.NextFork, t.World.Facts.NextFork: t.World.Facts.Fork}
		for _, open := range []func(*suite.T, bool) *auction{r.before, r.after} {
			a := open(t, false)
			a.ready()
			s := a.block("a", gwei(2000))
			wrong, err := eth.ParseFork(other[a.fork().String()])
			t.Ready(err, "read the world's forks")
			raw, err := probe.Submission(wrong, s.SubmitBlockRequest).MarshalSSZ()
			t.Ready(err, "encode a submission")
			request := post(submitPath, sszType, raw)
			request.Header["Eth-Consensus-Version"] = wrong.String()
			answer := t.Do(builderAPI(t), request)
			optional(t, answer, "SSZ")
			t.Status(answer, http.StatusBadRequest)
			a.notServed(s)
			a.taken(s) // it was refused for its fork alone
		}
	})
	r.Slow("REL-FRK-03", "refuses a block signed under the fork before, and reveals it to the right one",
		func(t *suite.T) {
			r.before(t, false)
			a := r.after(t, true)
			s := a.submitted(a.block("a", gwei(1000)))
			block := a.blind(a.served(s))
			hidden(t, a.ask(payloadPath, a.signAs(block, t.World.Facts.ForkVersion)), s)
			isOf(t, a.readPayload(a.ask(payloadPath, a.signBlind(block, a.proposer))), s)
		})
	r.Slow("REL-FRK-04", "keeps registrations", func(t *suite.T) {
		before := r.before(t, false)
		before.served(before.submitted(before.block("a", gwei(1000))))
		last := t.World.Facts.NextForkSlot - 1
		t.Until(t.World.Facts.At(last))
		listsFrom(t, t.World.Facts.NextForkSlot)
		a := r.after(t, false)
		a.serves(a.submitted(a.block("a", gwei(1000))))
		listsFrom(t, a.slot.Slot)
	})
	r.Slow("REL-FRK-05", "reveals payloads of the slot's fork, before and after", func(t *suite.T) {
		for _, open := range []func(*suite.T, bool) *auction{r.before, r.after} {
			a := open(t, true)
			s := a.submitted(a.block("a", gwei(1000)))
			answer := a.ask(payloadPath, a.signBlind(a.blind(a.served(s)), a.proposer))
			isOf(t, a.readPayload(answer), s)
			t.Check(versionOf(answer) == a.fork().String(), "version "+a.fork().String(), versionOf(answer))
			err := a.published(s)
			t.Check(err == nil, "the block on the chain", err)
		}
	})
}

// versionOf returns the fork that an answer in JSON names.
func versionOf(answer *probe.Answer) string {
	var envelope struct {
		Version string `json:"version"`
	}
	if json.Unmarshal(answer.Body, &envelope) != nil {
		return ""
	}
	return envelope.Version
}

// signAs signs a blinded block in the domain of another fork version.
func (a *auction) signAs(block *apielectra.SignedBlindedBeaconBlock,
	version string) *apielectra.SignedBlindedBeaconBlock {
	root, err := probe.BlindedRoot(a.fork(), block.Message)
	a.t.Ready(err, "hash a blinded block")
	signed := *block
	signed.Signature = a.proposer.Sign(probe.SigningRoot(root, a.domainOf(probe.DomainProposer, version)))
	return &signed
}

// listsFrom fails the spec unless the target lists, from this slot on, a registered proposer for
// each slot of the epoch that has one.
func listsFrom(t *suite.T, from phase0.Slot) {
	duties, err := listDuties(t)
	t.Check(err == nil, "a list of proposers", err)
	var slots []string
	for _, d := range duties {
		slots = append(slots, d.Slot)
	}
	var lacking []string
	chain := proposers(t, uint64(from)/t.World.Facts.SlotsPerEpoch)
	for slot := from; uint64(slot)%t.World.Facts.SlotsPerEpoch != 0 || slot == from; slot++ {
		number := fmt.Sprint(uint64(slot))
		if chain[number] != fmt.Sprint(t.World.Facts.Stranger()) && !slices.Contains(slots, number) {
			lacking = append(lacking, number)
		}
	}
	t.Check(len(lacking) == 0, fmt.Sprintf("all registered proposers from slot %d on", from),
		"a list without slots "+strings.Join(lacking, ", "))
}
