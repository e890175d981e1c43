package app

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/relay"
)

// instances follows what the other instances of a cluster write (decision 19). Three goroutines
// read the journal's state, its facts of registrations and served headers, and the auction log, and
// apply them here. A fourth hears of registrations that are no facts, or not yet.
//
//	other instances ─▶ STATE ─▶ kill switch, builders' records, demotions, the last delivery
//	                ─▶ FACTS ─▶ registrations, served headers, proposers' caps, what staked builders have signed
//	                ─▶ AUCTION ─▶ bids, cancellations, verdicts, payloads of headers
//	                ─told─▶ registrations that only renew, or change again within a minute
//	this instance ─probe─▶ all ─▶ heard: headers are served only while this comes back
type instances struct {
	app                     *App
	states, facts, auctions hearing
	// sold is the newest slot, plus one, that another instance has delivered; 0 for none.
	sold atomic.Uint64

	end     context.CancelFunc
	running sync.WaitGroup
}

// instanceOf is the part of state and facts that names the instance that has written them.
type instanceOf struct {
	Instance string `json:"instance"`
}

// Facts of others that this instance applies.
var (
	registrationStored = subjectPrefix + relay.RegistrationStored{}.Subject()
	headerServed       = subjectPrefix + relay.HeaderServed{}.Subject()
	paymentCapped      = subjectPrefix + relay.PaymentCapped{}.Subject()
	preferencesStored  = subjectPrefix + relay.PreferencesStored{}.Subject()
	stakedBidTaken     = subjectPrefix + relay.StakedBidTaken{}.Subject()
	payloadLeft        = subjectPrefix + relay.PayloadLeft{}.Subject()
	envelopeSigned     = subjectPrefix + relay.EnvelopeSigned{}.Subject()
)

// errorPause is the pause after an error of the journal, before it is read again (wall time).
const errorPause = 250 * time.Millisecond

// newInstances notes where the journal ends now. What comes later is followed from start on, so
// what is restored in between may come twice.
func newInstances(ctx context.Context, a *App) (i *instances, err error) {
	i = &instances{app: a}
	if i.states.upTo, err = a.journal.LastState(ctx); err != nil {
		return nil, err
	}
	if i.facts.upTo, err = a.journal.Last(ctx); err != nil {
		return nil, err
	}
	return i, nil
}

// start begins to follow the others; Close ends it.
func (i *instances) start() {
	var ctx context.Context
	ctx, i.end = context.WithCancel(context.Background())
	i.running.Go(func() {
		i.follow(ctx, func() error { return i.app.journal.FollowStates(ctx, i.states.from(), "relay", i.hearState(ctx)) })
	})
	i.running.Go(func() {
		subjects := []string{registrationStored, headerServed, paymentCapped, stakedBidTaken, envelopeSigned, payloadLeft,
			testedSubject}
		i.follow(ctx, func() error { return i.app.journal.FollowFacts(ctx, i.facts.from(), subjects, i.hearFact) })
	})
	i.running.Go(func() {
		i.follow(ctx, func() error { return i.hearRegistrations(ctx) })
	})
	i.running.Go(func() {
		i.follow(ctx, func() error { return i.app.journal.FollowAuction(ctx, i.auctions.from(), i.hearAuction) })
	})
}

// close ends the following.
func (i *instances) close() error {
	i.end()
	i.running.Wait()
	return nil
}

// follow reads until the context ends, and again after an error. Meanwhile the probe does not hear
// what it writes, so no header is served.
func (i *instances) follow(ctx context.Context, read func() error) {
	for ctx.Err() == nil {
		if err := read(); err != nil && ctx.Err() == nil {
			i.app.log.Error("other instances are not heard", "error", err)
			i.app.probe.Suspect()
		}
		_ = run.Pause(ctx, errorPause) // its error is that the context has ended
	}
}

// hasSold says whether another instance has delivered a payload of a slot, or of a later one.
func (i *instances) hasSold(slot phase0.Slot) bool { return uint64(slot) < i.sold.Load() }

// hearState applies one piece of state, unless this instance has changed it later.
func (i *instances) hearState(ctx context.Context) func(uint64, time.Time, string, []byte) error {
	return func(seq uint64, _ time.Time, subject string, data []byte) error {
		if err := i.applyState(ctx, seq, subject, data); err != nil {
			return err
		}
		i.states.note(seq)
		return nil
	}
}

func (i *instances) applyState(ctx context.Context, seq uint64, subject string, data []byte) error {
	a := i.app
	kind, _, _ := strings.Cut(strings.TrimPrefix(subject, subjectPrefix), ".")
	switch subjectPrefix + kind {
	case stateKillSwitch:
		return a.state.inTurn(ctx, seq, subject, func(counts func() bool) bool { return a.adoptKillSwitch(data, counts) })
	case stateBuilder:
		return a.state.inTurn(ctx, seq, subject, func(counts func() bool) bool {
			return a.adoptBuilder(subject, data, counts)
		})
	case stateDemotion:
		if !i.isOwn(data) {
			a.adoptDemotion(data)
			return a.state.noteDemotion(ctx, subject, seq)
		}
	case stateDelivered:
		if !i.isOwn(data) {
			i.adoptDelivery(data)
		}
	}
	return nil
}

// isOwn says whether this instance has written state or a fact.
func (i *instances) isOwn(data []byte) bool {
	var by instanceOf
	return json.Unmarshal(data, &by) == nil && by.Instance == i.app.instance
}

func (a *App) adoptKillSwitch(data []byte, counts func() bool) (applied bool) {
	change, err := decodeFact[relay.KillSwitchChanged](data)
	if err != nil {
		change.On = true // the safe side
	}
	before := a.killed.On()
	if applied = a.killed.adopt(change.On, counts); !applied || before == change.On {
		return applied
	}
	a.watched.metrics.KillSwitch(change.On)
	a.log.Warn("another instance has turned the kill switch", "on", change.On, "why", change.Why, "error", err)
	return applied
}

func (a *App) adoptBuilder(subject string, data []byte, counts func() bool) (applied bool) {
	change, err := decodeFact[relay.BuilderChanged](data)
	if err != nil {
		if applied = counts(); applied {
			a.endTrust(strings.TrimPrefix(subject, stateBuilder+"."), err)
		}
		return applied
	}
	before, applied, err := a.builders.Adopt(change, counts)
	if err != nil {
		a.log.Error("what another instance has recorded of a builder does not fit the configuration here: configure all "+
			"instances alike", "builder", change.Builder.Name, "error", err)
	}
	if now, _ := a.builders.Named(change.Builder.Name); applied && before.Optimistic && !now.Optimistic {
		a.submit.Distrust(before.Pubkeys)
	}
	return applied
}

// adoptDemotion lists a demotion of another instance. The builder's record comes behind it.
func (a *App) adoptDemotion(data []byte) {
	demoted, err := decodeFact[relay.BuilderDemoted](data)
	if err != nil {
		a.log.Error("a demotion by another instance cannot be read and is not listed", "error", err)
		return
	}
	if !a.builders.AdoptDemotion(demoted) {
		return
	}
	a.log.Warn("another instance has demoted a builder", "builder", demoted.Name, "rule", demoted.Rule, "slot",
		demoted.Slot)
	builder, _ := a.builders.Named(demoted.Name)
	a.submit.Distrust(builder.Pubkeys)
}

// adoptDelivery ends the auctions of a slot that another instance has delivered.
func (i *instances) adoptDelivery(data []byte) {
	delivered, err := decodeFact[relay.PayloadDelivered](data)
	if err != nil {
		i.app.log.Error("a delivery by another instance cannot be read: its slot goes on here until the next head",
			"error", err)
		return
	}
	i.app.state.noteDelivery(delivered)
	i.app.slots.MarkDelivered(delivered.Slot, delivered.BlockHash)
	i.sold.Store(max(i.sold.Load(), uint64(delivered.Slot)+1)) // only the goroutine that follows state stores
}

// hearFact applies registrations in the order of the journal, and caps that other instances have
// taken, and headers that they have served.
func (i *instances) hearFact(seq uint64, _ time.Time, subject string, data []byte) error {
	switch {
	case subject == registrationStored: // its own too, since the journal's order decides between equally new ones
		i.app.adoptRegistration(data)
	case !i.isOwn(data):
		switch subject {
		case headerServed:
			i.app.adoptHeader(data)
		case paymentCapped:
			i.app.adoptCap(data)
		case stakedBidTaken:
			i.app.adoptStakedBid(data)
		case envelopeSigned:
			i.app.adoptEnvelope(data)
		case payloadLeft:
			i.app.adoptLeft(data)
		}
	}
	i.facts.note(seq)
	return nil
}

func (a *App) adoptRegistration(data []byte) {
	if stored, ok := a.decodeRegistration(data); ok {
		a.registry.Adopt(stored.At, stored.Registration)
	}
}

// decodeRegistration logs what it cannot read.
func (a *App) decodeRegistration(data []byte) (stored relay.RegistrationStored, ok bool) {
	stored, err := decodeFact[relay.RegistrationStored](data)
	if err != nil || stored.Registration == nil || stored.Registration.Message == nil {
		a.log.Error("a registration of another instance cannot be read and is left out until its validator registers again",
			"error", err)
		return stored, false
	}
	return stored, true
}

// adoptHeader notes what a proposer was given, so that a delivery here is listed at that value.
func (a *App) adoptHeader(data []byte) {
	served, err := decodeFact[relay.HeaderServed](data)
	if err != nil {
		a.log.Error(
			"a header that another instance has served cannot be read: if it is signed now, the value of the message "+
				"that brought its block is listed", "error", err)
		return
	}
	if served.Times == 0 && served.ValueWei != nil { // a sum has nothing new: the first answer is a fact before it
		a.topBid.NoteServed(served)
		a.served.Header(relay.PayloadID{Slot: served.Slot, BlockHash: served.BlockHash, Builder: served.Builder})
	}
}
