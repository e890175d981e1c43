package app

import (
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// isStopped says whether no headers are served: because the operator wants that, or because their
// payloads could not be delivered now.
func (a *App) isStopped() bool { return a.killed.On() || a.probe.Broken() }

// Ready says whether validators and duties are known, payloads could be delivered now, the next
// slot is of a fork whose requests the relay knows, and the relay is not stopping. A relay that has
// no bids because of its staked builder is ready: it answers requests, with 204, and still delivers
// what it has sold. Why it has none is in readiness.
func (a *App) Ready() bool {
	fork := a.spec.ForkAt(a.registry.Head().Slot + 1)
	return a.isInformed() && !a.probe.Broken() && (wire.Serves(fork) || wire.HasBids(fork))
}

// checkServed returns an error that names the fork of a slot in which there are no auctions, or in
// which the relay may not bid; nil if there are.
func (a *App) checkServed(slot phase0.Slot) error {
	fork := a.spec.ForkAt(slot)
	switch {
	case wire.Serves(fork):
		return nil
	case !wire.HasBids(fork):
		return relay.NotReady.With("slot %d is in %s, which this relay does not serve", slot, fork)
	case a.bidder == nil:
		return relay.NotReady.With("slot %d is in %s, which this relay does not serve without a staked builder "+
			"(--gloas-builder-index)", slot, fork)
	}
	if fault := a.staked.Fault(); fault != nil {
		return relay.NotReady.With("slot %d is in %s, and the relay cannot bid: %v", slot, fork, fault)
	}
	return nil
}

// warnOfForks tells the operator which forks of the network's schedule the relay does not serve.
func (a *App) warnOfForks() {
	for _, point := range a.spec.Forks {
		if !wire.Serves(point.Fork) && (a.cfg.Gloas == nil || !wire.HasBids(point.Fork)) {
			a.log.Warn("the network's schedule has a fork that this relay does not serve: it answers in no slot of it",
				"fork", point.Fork, "epoch", point.Epoch)
		}
	}
}

func (a *App) isInformed() bool {
	return !a.stopping.Load() && a.registry.Validators() > 0 &&
		a.registry.DutiesKnown(a.spec.EpochOf(a.registry.Head().Slot))
}

// readiness returns why the relay is not ready; nil if it is. An old head means that all beacon
// nodes are out of reach or behind.
func (a *App) readiness() error {
	if !a.isInformed() {
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
	if err := a.checkServed(head.Slot + 1); err != nil {
		return err
	}
	if err := a.submit.Unreadable(head.Slot + 1); err != nil {
		return relay.NotReady.With("no headers are served of some slot, whose auction log cannot be read: %v", err)
	}
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
