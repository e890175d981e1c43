package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay/web"
)

// portal reads what the operator's page shows. Questions to the journal wait at most a second each,
// and are asked at once, because the page is needed most when the journal is away.
func (a *App) portal(context.Context) web.Portal {
	p := web.Portal{
		Network: a.cfg.Network, PublicKey: a.cfg.Key.PublicKey(), HeadSlot: a.registry.Head().Slot,
		Validators: a.registry.Validators(), Registrations: a.registry.Registrations(), KillSwitch: a.killed.On(),
		Builders: a.builders.All(), Demotions: a.builders.Demotions(), Nodes: a.portalNodes(), Settings: a.cfg.Settings,
	}
	if err := a.readiness(); err != nil {
		p.NotReady = err.Error()
	}
	p.Stores = a.portalStores()
	return p
}

// portalStores reads the parts of the journal, and the archive.
func (a *App) portalStores() []web.Store {
	none := web.Store{SizeBytes: -1, FreeBytes: -1, Lag: -1}
	engine, archive := none, none
	engine.Name, engine.FreeBytes = "journal", a.journal.FreeBytes()
	if err := a.journal.Health(); err != nil {
		engine.Fault = err.Error()
	}
	engine.Note = fmt.Sprintf("%d facts lost, %d messages not acked", a.facts.Lost(), a.journal.Unacked())
	if a.instance != "" {
		engine.Note += "; a cluster, instance " + a.instance
	} else if ago := a.journal.SyncedAgo(); ago >= 0 {
		engine.Note += fmt.Sprintf("; synced %.0f s ago", ago.Seconds())
	}
	parts := []struct {
		name string
		part journal.Part
	}{{"facts", journal.Facts}, {"escrow", journal.Escrow}, {"evidence", journal.Evidence}}
	stores := make([]web.Store, len(parts))
	var asking sync.WaitGroup
	for i, one := range parts {
		asking.Go(func() {
			stores[i] = none
			stores[i].Name, stores[i].SizeBytes = one.name, a.journal.Bytes(one.part)
			if stores[i].SizeBytes < 0 {
				stores[i].Fault = "the journal does not answer"
			}
		})
	}
	asking.Go(func() {
		archive.Name, archive.Lag = "archive", int64(a.archiveLag())
		switch {
		case archive.Lag == -1:
			archive.Fault = "the archive or the journal does not answer"
		case archive.Lag < -1:
			archive.Fault = fmt.Sprintf("the journal has lost %d facts that the archive has", -archive.Lag)
		}
	})
	asking.Wait()
	return slices.Concat([]web.Store{engine}, stores, []web.Store{archive})
}

// portalNodes lists the nodes that the relay asks.
func (a *App) portalNodes() (list []web.Node) {
	answers, follows := a.nodes.Answers(), a.nodes.Follows()
	for _, name := range slices.Sorted(maps.Keys(answers)) {
		note := "follows the head"
		if !follows[name] {
			note = "announces no head, or is behind the others"
		}
		list = append(list, web.Node{Kind: "beacon", Name: name, Works: answers[name], Note: note})
	}
	if a.cfg.ValidationNodes == nil {
		return list
	}
	works := a.cfg.ValidationNodes()
	for _, name := range slices.Sorted(maps.Keys(works)) {
		note := ""
		if !works[name] {
			note = "it failed, and gets no blocks for a while"
		}
		list = append(list, web.Node{Kind: "validation", Name: name, Works: works[name], Note: note})
	}
	return list
}
