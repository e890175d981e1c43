package app

import (
	"time"

	"github.com/gavel-relay/gavel/relay"
)

// stopped says whether no headers are served: by the operator's wish, or because what they sell
// could not be delivered now.
func (a *App) stopped() bool { return a.killed.On() || a.probe.Broken() }

// Ready says whether validators and duties are known, payloads could be delivered now, and the
// relay does not stop.
func (a *App) Ready() bool {
	return a.informed() && !a.probe.Broken()
}

func (a *App) informed() bool {
	return !a.stopping.Load() && a.registry.Validators() > 0 &&
		a.registry.DutiesKnown(a.spec.EpochOf(a.registry.Head().Slot))
}

// readiness says why the relay is not ready, if it is not. When no head came for long, all beacon
// nodes are out of reach or behind.
func (a *App) readiness() error {
	if !a.informed() {
		return relay.NotReady.Plain()
	}
	if fault := a.probe.Fault(); fault != nil {
		return relay.NotReady.With("no headers are served, since payloads could not be delivered: %v", fault)
	}
	if lag := a.archiveLag(); lag < -1 { // -1 is no answer: the relay works without its archive
		return relay.NotReady.With("the journal has lost %d facts that the archive has: deliveries will be missing there",
			int(-lag))
	}
	head := a.registry.Head()
	if behind := a.cfg.Clock.Now().Sub(a.spec.SlotStart(head.Slot)); behind > a.cfg.StaleAfter {
		return relay.NotReady.With("the newest head, of slot %d, is %s old", head.Slot, behind.Round(time.Second))
	}
	return nil
}

// mayTrust says whether a bid may count before its block is executed; in literal mode none does.
func (a *App) mayTrust() func() bool {
	if a.cfg.Literal {
		return func() bool { return false }
	}
	return a.cfg.ValidatorLive
}
