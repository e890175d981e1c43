package app

import (
	"time"

	"github.com/gavel-relay/gavel/relay"
)

// stopped says whether no headers are served: because the operator wants that, or because their
// payloads could not be delivered now.
func (a *App) stopped() bool { return a.killed.On() || a.probe.Broken() }

// Ready says whether validators and duties are known, payloads could be delivered now, and the
// relay is not stopping.
func (a *App) Ready() bool {
	return a.informed() && !a.probe.Broken()
}

func (a *App) informed() bool {
	return !a.stopping.Load() && a.registry.Validators() > 0 &&
		a.registry.DutiesKnown(a.spec.EpochOf(a.registry.Head().Slot))
}

// readiness returns why the relay is not ready; nil if it is. An old head means that all beacon
// nodes are out of reach or behind.
func (a *App) readiness() error {
	if !a.informed() {
		return relay.NotReady.Plain()
	}
	if fault := a.probe.Fault(); fault != nil {
		return relay.NotReady.With("no headers are served, since payloads could not be delivered: %v", fault)
	}
	if lag := a.archiveLag(); lag < -1 { // -1 means no answer, which is no reason: the relay works without its archive
		return relay.NotReady.With("the journal has lost %d facts that the archive has: deliveries will be missing there",
			int(-lag))
	}
	head := a.registry.Head()
	if behind := a.cfg.Clock.Now().Sub(a.spec.SlotStart(head.Slot)); behind > a.cfg.StaleAfter {
		return relay.NotReady.With("the newest head, of slot %d, is %s old", head.Slot, behind.Round(time.Second))
	}
	return nil
}

// mayTrust returns the function that says whether blocks can be executed now, so that bids may
// count before they are. In literal mode no bid may.
func (a *App) mayTrust() func() bool {
	if a.cfg.Literal {
		return func() bool { return false }
	}
	return a.cfg.ValidatorLive
}
