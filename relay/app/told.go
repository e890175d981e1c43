package app

import (
	"context"

	"github.com/gavel-relay/gavel/relay"
)

// toldRegistration is the subject of registrations that instances tell each other of before they
// are facts, or without (relay/registry, record.go). A message is one that the journal does not
// keep: an instance that misses it hears of a change by its fact.
const toldRegistration = "relay.registration"

// passRegistrationsOn has registrations take out bids that their proposers no longer want, and the
// other instances told of those that are no facts.
func (a *App) passRegistrationsOn() {
	a.registry.Subscribe(a.submit.ApplyRegistration)
	if a.others != nil {
		a.registry.TellOthers(a.others.tellRegistration)
	}
}

// tellRegistration tells the other instances of a registration that makes no fact now. Where that
// fails, its fact tells them later.
func (i *instances) tellRegistration(stored *relay.SignedRegistration) {
	a := i.app
	data, err := factEncoder{a.instance}.encode(relay.RegistrationStored{At: a.cfg.Clock.Now(), Registration: stored})
	if err == nil {
		err = a.journal.Tell(toldRegistration, data)
	}
	if err != nil {
		a.log.Debug("other instances hear of a registration when it is recorded", "error", err)
	}
}

// hearRegistrations applies what other instances tell of registrations, until the context ends.
func (i *instances) hearRegistrations(ctx context.Context) error {
	return i.app.journal.Hear(ctx, toldRegistration, func(data []byte) {
		if i.isOwn(data) {
			return
		}
		if stored, ok := i.app.decodeRegistration(data); ok {
			i.app.registry.AdoptUnrecorded(stored.Registration)
		}
	})
}
