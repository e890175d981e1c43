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

// waitBeforeFork waits for a slot of the old fork. The spec is not run in a world of one fork, and
// inconclusive if the fork is over.
func (r *specs) waitBeforeFork(t *suite.T, propose bool) *auction {
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

// waitAfterFork waits for the first slot of the new fork that no other spec has.
func (r *specs) waitAfterFork(t *suite.T, propose bool) *auction {
	t.Until(t.World.Facts.At(t.World.Facts.NextForkSlot - 2)) // the question for a slot is answered in time
	return r.openFor(t, world.Wanted{Kind: world.Registered, Alone: !propose, Propose: propose,
		From: t.World.Facts.NextForkSlot})
}

// describeForks adds specs about what holds on both sides of a fork, and changes at its first slot.
func describeForks(r *specs) {
	r.Slow("REL-FRK-01", "names the fork of the slot, before and after", func(t *suite.T) {
		for _, open := range []func(*suite.T, bool) *auction{r.waitBeforeFork, r.waitAfterFork} {
			a := open(t, false)
			a.prepareSubmitted(a.block("a", gwei(1000)))
			answer := a.prepare().header(jsonType)
			t.Prepared(answer, "get a header", http.StatusOK)
			t.Check(versionOf(answer) == a.fork().String(), "version "+a.fork().String(), answer)
			a.readBid(answer)
		}
	})
	r.Slow("REL-FRK-02", "refuses a submission of the other fork, before and after", func(t *suite.T) {
		other := map[string]string{t.World.Facts.Fork: t.World.Facts.NextFork, t.World.Facts.NextFork: t.World.Facts.Fork}
		for _, open := range []func(*suite.T, bool) *auction{r.waitBeforeFork, r.waitAfterFork} {
			a := open(t, false)
			a.prepareBid()
			s := a.block("a", gwei(2000))
			wrong, err := eth.ParseFork(other[a.fork().String()])
			t.Ready(err, "read the world's forks")
			raw, err := probe.Submission(wrong, s.SubmitBlockRequest).MarshalSSZ()
			t.Ready(err, "encode a submission")
			request := post(submitPath, sszType, raw)
			request.Header["Eth-Consensus-Version"] = wrong.String()
			answer := t.Do(builderAPI(t), request)
			allowUnsupported(t, answer, "SSZ")
			t.Status(answer, http.StatusBadRequest)
			a.checkNotServed(s)
			a.checkTaken(s) // it was refused for its fork alone
		}
	})
	r.Slow("REL-FRK-03", "refuses a block signed under the fork before, and reveals it to the right one",
		func(t *suite.T) {
			r.waitBeforeFork(t, false)
			a := r.waitAfterFork(t, true)
			s := a.prepareSubmitted(a.block("a", gwei(1000)))
			block := a.makeBlinded(a.prepareServed(s))
			checkHidden(t, a.ask(payloadPath, a.signAs(block, t.World.Facts.ForkVersion)), s)
			checkPayloadOf(t, a.readPayload(a.ask(payloadPath, a.signBlind(block, a.proposer))), s)
		})
	r.Slow("REL-FRK-04", "keeps registrations", func(t *suite.T) {
		before := r.waitBeforeFork(t, false)
		before.prepareServed(before.prepareSubmitted(before.block("a", gwei(1000))))
		last := t.World.Facts.NextForkSlot - 1
		t.Until(t.World.Facts.At(last))
		checkListsFrom(t, t.World.Facts.NextForkSlot)
		a := r.waitAfterFork(t, false)
		a.checkServed(a.prepareSubmitted(a.block("a", gwei(1000))))
		checkListsFrom(t, a.slot.Slot)
	})
	r.Slow("REL-FRK-05", "reveals payloads of the slot's fork, before and after", func(t *suite.T) {
		for _, open := range []func(*suite.T, bool) *auction{r.waitBeforeFork, r.waitAfterFork} {
			a := open(t, true)
			s := a.prepareSubmitted(a.block("a", gwei(1000)))
			answer := a.ask(payloadPath, a.signBlind(a.makeBlinded(a.prepareServed(s)), a.proposer))
			checkPayloadOf(t, a.readPayload(answer), s)
			t.Check(versionOf(answer) == a.fork().String(), "version "+a.fork().String(), versionOf(answer))
			err := a.waitPublished(s)
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

// checkListsFrom fails the spec unless the target lists, from this slot on, a registered proposer
// for each slot of the epoch that has one.
func checkListsFrom(t *suite.T, from phase0.Slot) {
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
