package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// newInstances runs two relays on one journal's cluster, in one network and with one configuration.
// The second one is given no registration: it has heard of those of the first one.
func newInstances(t *testing.T) (a, b *relayUnderTest) {
	t.Helper()
	nats := startCluster(t)
	a = newRelay(t, eth.Fulu, relayOptions{configure: func(c *app.Config) {
		trusting(c)
		onCluster(c, nats.server.ClientURL())
	}})
	other := *a
	b = &other
	b.built += 1000 // no block is equal to one of a
	b.startRelay(t)
	t.Cleanup(func() { must(t, b.stopRelay()) })
	b.await(t)
	return a, b
}

// onCluster configures a relay as an instance on a journal's cluster.
func onCluster(c *app.Config, url string) {
	c.Journal.URL = url
	c.Journal.EscrowBytes, c.Journal.FactsBytes, c.Journal.EvidenceBytes = 256<<20, 64<<20, 64<<20
}

// killSwitch is the position that an instance shows to the operator.
func (h *relayUnderTest) killSwitch(t testing.TB) bool {
	t.Helper()
	return strings.Contains(string(h.admin(t, "GET /admin/v1/status", "").body), `"kill_switch":true`)
}

// record is how an instance treats alpha.
func (h *relayUnderTest) record(t testing.TB) (b relay.Builder) {
	t.Helper()
	got := h.admin(t, "GET /admin/v1/builders/alpha", "")
	must(t, json.Unmarshal(got.body, &b))
	return b
}

// The operator turns the kill switch at any instance, and all obey; also one that starts later.
func TestKillSwitchStopsAllInstances(t *testing.T) {
	a, b := newInstances(t)
	a.submitted(t, a.worth(t, 1, 1000))
	b.submitted(t, b.worth(t, 1, 1000))
	a.admin(t, "PUT /admin/v1/kill-switch", `{"on":true,"why":"a bug"}`).wantStatus(t, http.StatusOK)
	poll(t, "the other instance serves no header", func() bool { return b.header(t) == nil })
	if !b.killSwitch(t) || !strings.Contains(string(b.admin(t, "GET /metrics", "").body), "gavel_relay_kill_switch 1") {
		t.Error("the other instance does not tell that the switch is on")
	}
	b.restart(t)
	if !b.killSwitch(t) {
		t.Error("an instance that starts does not know that the switch is on")
	}
	b.await(t)
	b.submitted(t, b.worth(t, 1, 2000))
	b.admin(t, "PUT /admin/v1/kill-switch", `{"on":false,"why":"fixed"}`).wantStatus(t, http.StatusOK)
	poll(t, "the first instance serves again", func() bool { return a.header(t) != nil })
	if b.header(t) == nil {
		t.Error("the instance that was told does not serve")
	}
}

// A builder that one instance demotes is demoted at all: its bids that were not executed are taken
// out everywhere, and the demotion is listed everywhere once. A promotion reaches all, too.
func TestDemotionReachesAllInstances(t *testing.T) {
	a, b := newInstances(t)
	waits := b.worth(t, 0, 2000)
	held := b.gate.hold(waits.payload.BlockHash)
	b.submitted(t, waits)
	b.wantTop(t, waits)

	bad := a.worth(t, 0, 1000)
	bad.trace.Value = uint256.NewInt(900_000) // promised, not paid
	bad.sign()
	a.submitted(t, bad)
	poll(t, "the builder is demoted", func() bool { return len(a.demotions(t)) == 1 })
	poll(t, "the other instance knows", func() bool { return len(b.demotions(t)) == 1 && !b.record(t).Optimistic })
	poll(t, "its bid is taken out of the other auction", func() bool { return b.header(t) == nil })
	if d := b.demotions(t)[0]; d.Rule != "payment" || d.BlockHash != bad.payload.BlockHash {
		t.Errorf("%+v", d)
	}
	evidence := b.admin(t, fmt.Sprintf("GET /admin/v1/demotions/%#x/submission", bad.payload.BlockHash[:]), "")
	evidence.wantStatus(t, http.StatusOK)
	close(held.open)
	<-held.arrived

	b.admin(t, "POST /admin/v1/builders/alpha/promote", `{"why":"paid"}`).wantStatus(t, http.StatusOK)
	poll(t, "the first instance trusts it again", func() bool { return a.record(t).Optimistic })
	b.restart(t)
	if got := len(b.demotions(t)); got != 1 || !b.record(t).Optimistic {
		t.Errorf("after a restart: %d demotions, %+v", got, b.record(t))
	}
}

// A registration at one instance counts at all.
func TestRegistrationReachesAllInstances(t *testing.T) {
	a, b := newInstances(t)
	index, _ := a.duty(unregisteredSlot)
	later := *b
	later.slot = unregisteredSlot
	if got := later.registered(t); got != nil {
		t.Fatalf("registered before: %+v", got)
	}
	first := a.registration(index)
	a.register(t, first).wantStatus(t, http.StatusOK)
	wantAtOther := func(want *builderv1.SignedValidatorRegistration) {
		t.Helper()
		poll(t, "builders at the other instance are told", func() bool {
			got := later.registered(t)
			return got != nil && got.Signature == want.Signature
		})
	}
	wantAtOther(first)

	// The journal gets none of these within the next minute.
	for i, gasLimit := range []uint64{network.GasLimit + 1, network.GasLimit + 2, network.GasLimit + 2} {
		next := a.registration(index)
		next.Message.GasLimit = gasLimit
		next.Message.Timestamp = first.Message.Timestamp.Add(time.Duration(i+1) * time.Second)
		a.signRegistration(next, a.beacon.ValidatorKey(index))
		a.register(t, next).wantStatus(t, http.StatusOK)
		wantAtOther(next)
	}
	b.register(t, first).wantStatus(t, http.StatusOK) // older: changes nothing
	if got := later.registered(t); got.Message.GasLimit != network.GasLimit+2 {
		t.Errorf("after an older one: %+v", got.Message)
	}
}

// A slot that was delivered by one instance is over at the other: builders are refused, and no
// header is served. What the first one has served is delivered by the second one, at the value that
// was served.
func TestDeliveryEndsTheSlotAtAllInstances(t *testing.T) {
	a, b := newInstances(t)
	for _, f := range a.fronts {
		f.answers(status(http.StatusOK)) // taken, but not yet the head
	}
	first := a.worth(t, 1, 1000)
	first.trace.Value = uint256.NewInt(500)
	first.sign()
	dearer, trace := *first, *first.trace
	dearer.trace, dearer.key = &trace, builderKeys[0]
	dearer.trace.Value = uint256.NewInt(1000)
	dearer.sign()
	a.submitted(t, first)
	block := a.offered(t, &dearer)
	// A proposer needs longer to sign than the other instance to hear what it was given.
	poll(t, "the other instance hears of the header", func() bool {
		return b.app.HasServed(b.slot, first.trace.BlockHash, 1000)
	})
	b.reveal(t, v2Path, block).wantStatus(t, http.StatusAccepted)
	poll(t, "the first instance sells no more", func() bool { return a.header(t) == nil })
	a.submit(t, a.worth(t, 1, 3000)).wantRefusal(t, relay.SubmissionDelivered, "")
	a.reveal(t, v2Path, block).wantStatus(t, http.StatusAccepted) // the same block again: mev-boost asks all relays
	var list []struct {
		Value         string `json:"value"`
		BuilderPubkey string `json:"builder_pubkey"`
	}
	poll(t, "the delivery is listed", func() bool {
		must(t, json.Unmarshal(b.get(t, deliveredPath, nil).body, &list))
		return len(list) > 0
	})
	if len(list) != 1 || list[0].Value != "1000" || list[0].BuilderPubkey != builderKeys[0].PublicKey().String() {
		t.Errorf("listed as %+v, want one delivery of alpha's 1000", list)
	}
}

// Changes at two instances at the same time: whichever the journal has last counts at both, and
// after a restart.
func TestChangesAtOnceEndAlike(t *testing.T) {
	a, b := newInstances(t)
	var changes sync.WaitGroup
	for i, h := range []*relayUnderTest{a, b} {
		changes.Go(func() {
			for round := range 30 {
				on := (round+i)%2 == 0
				h.admin(t, "PUT /admin/v1/kill-switch", fmt.Sprintf(`{"on":%t,"why":"round %d"}`, on, round))
				verb := map[bool]string{true: "promote", false: "suspend"}[on]
				h.admin(t, "POST /admin/v1/builders/alpha/"+verb, fmt.Sprintf(`{"why":"round %d of %d"}`, round, i))
			}
		})
	}
	changes.Wait()
	for _, h := range []*relayUnderTest{a, b} {
		h.heard(t)
	}
	if a.killSwitch(t) != b.killSwitch(t) || !reflect.DeepEqual(a.record(t), b.record(t)) {
		t.Errorf("kill switch %t and %t, alpha %+v and %+v", a.killSwitch(t), b.killSwitch(t), a.record(t), b.record(t))
	}
	on, record := b.killSwitch(t), b.record(t)
	b.restart(t)
	if b.killSwitch(t) != on || !reflect.DeepEqual(b.record(t), record) {
		t.Errorf("after a restart: kill switch %t, alpha %+v; before %t, %+v", b.killSwitch(t), b.record(t), on, record)
	}
}

// heard returns when an instance has applied all state that was stored before.
func (h *relayUnderTest) heard(t *testing.T) {
	t.Helper()
	last, err := h.app.LastState(t.Context())
	must(t, err)
	poll(t, "an instance has heard all", func() bool { return h.app.Heard() >= last })
}

// An instance that can write and does not hear what is written cannot know of the kill switch: it
// serves nothing and says so, from the next test on. It comes back by itself.
func TestInstanceThatHearsNothing(t *testing.T) {
	a, b := newInstances(t)
	b.submitted(t, b.worth(t, 1, 1000))
	b.app.StopHearing()
	a.admin(t, "PUT /admin/v1/kill-switch", `{"on":true,"why":"a bug"}`).wantStatus(t, http.StatusOK)
	b.into(-b.spec.SlotDuration / 3) // before the slot begins: the time of the test
	b.wantNotServed(t, "journal", "")
	b.app.HearAgain()
	poll(t, "the instance hears again", func() bool { return b.get(t, "/readyz", nil).status == http.StatusOK })
	if !b.killSwitch(t) {
		t.Error("the instance is ready and does not know that the kill switch is on")
	}
}
