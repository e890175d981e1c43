package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/devnet/agent/proposer"
	"github.com/gavel-relay/gavel/devnet/app"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/monitor"
	monitorapp "github.com/gavel-relay/gavel/monitor/app"
	"github.com/gavel-relay/gavel/scenarios"
)

// planRun owns everything that runs for one plan.
type planRun struct {
	plan    *scenarios.Plan
	program program // starts a service in a process of its own
	log     *slog.Logger
	network *network.Network
	clock   *labClock
	links   *links
	book    *book
	relays  []*relayService
	clocks  map[string]*skewed // by the actor's name
	flow    orderFlow
	dir     string               // the run folder
	mends   map[int]func() error // mends faults that began before the clock ran, by their index in the plan
	// beaconAPI is the API of the beacon node. The node itself goes on while its API is down, as
	// the rest of a network would.
	beaconAPI *beaconAPI
	beaconURL string
	// refusesKnown says that the beacon node refuses blocks that it has already.
	refusesKnown atomic.Bool
	// committeeAbsent says that nobody votes on payloads, refusesEnvelopes that the beacon node takes
	// none.
	committeeAbsent, refusesEnvelopes atomic.Bool
	// validators are all proposers. The beacon node is theirs, so they are told when it restarts.
	validators *proposer.Proposer
}

// open makes the parts that do not need the clock to run. dir is the run folder.
func (l *planRun) open(dir string) error {
	l.dir = dir
	var err error
	if l.beaconAPI, err = newBeaconAPI(l.refusingEnvelopes(l.network.Beacon.Handler()), l.log); err != nil {
		return err
	}
	l.beaconURL = l.beaconAPI.url()
	for i, one := range l.plan.Relays {
		relay, err := l.newRelay(i, one)
		if err != nil {
			return err
		}
		l.relays = append(l.relays, relay)
	}
	return nil
}

// clockOf returns the clock of an actor in this process, which faults can make wrong.
func (l *planRun) clockOf(name string) *skewed {
	if l.clocks[name] == nil {
		l.clocks[name] = &skewed{right: l.clock}
	}
	return l.clocks[name]
}

// run runs the plan's slots, and returns when the last one is finished.
func (l *planRun) run(ctx context.Context) error {
	running, stop := context.WithCancel(ctx)
	defer stop()
	group, running := errgroup.WithContext(running)
	if err := l.startServices(running); err != nil {
		stop()
		return errors.Join(err, l.stopped(group))
	}
	if err := l.breakFirst(running); err != nil {
		stop()
		return errors.Join(err, l.stopped(group))
	}
	agents, err := l.everybody(running)
	if err != nil {
		stop()
		return errors.Join(err, l.stopped(group))
	}
	for _, one := range agents {
		group.Go(func() error { return one(running) })
	}
	l.waitRegistered(running)
	if err := l.startClock(); err != nil {
		stop()
		return errors.Join(err, l.stopped(group))
	}
	group.Go(func() error { return l.network.Beacon.Run(running) })
	group.Go(func() error { return l.breakThings(running) })
	group.Go(func() error { return l.offline(running) })
	group.Go(func() error {
		defer stop()
		return l.finishSlots(running)
	})
	return l.stopped(group)
}

// startServices starts all services, each after those that it needs.
func (l *planRun) startServices(ctx context.Context) error {
	if l.hasOrderFlow() {
		if err := l.openOrderFlow(); err != nil {
			return err
		}
	}
	for _, one := range l.processes() {
		if err := one.start(ctx); err != nil {
			return err
		}
	}
	return nil
}

// processes returns everything that can be killed, each after what it needs.
func (l *planRun) processes() []killable {
	var list []killable
	if l.beaconAPI != nil {
		list = append(list, l.beaconAPI)
	}
	for _, one := range l.services() {
		list = append(list, one)
	}
	return list
}

// services returns the services that run in processes of their own.
func (l *planRun) services() []*process {
	var list []*process
	for _, one := range l.relays {
		if one.plan.InstanceOf == "" {
			list = append(list, one.journals...)
		}
		list = append(list, one.process)
	}
	if l.flow.server != nil {
		list = append(list, l.flow.server)
	}
	if l.flow.stream != nil {
		list = append(list, l.flow.rpc, l.flow.stream)
	}
	return list
}

// brokenJournals returns the servers of a service's journal that a fault breaks: all, or the one
// that it numbers.
func (l *planRun) brokenJournals(f scenarios.Fault) []*process {
	if f.On.To == scenarios.RPCName {
		return []*process{l.flow.server}
	}
	all := l.relayNamed(f.On.To).journals
	if f.What.Is("journal node") {
		return all[f.What.Count-1 : f.What.Count]
	}
	return all
}

// serviceNamed returns the service with a name of the plan, or nil if the name is not a service's.
func (l *planRun) serviceNamed(name string) *process {
	for _, one := range l.services() {
		if one.name == name {
			return one
		}
	}
	return nil
}

// logFile returns the path of a service's log, in the run folder.
func (l *planRun) logFile(name string) string { return filepath.Join(l.dir, name+".log") }

// startClock starts chain time, here and in all services.
func (l *planRun) startClock() error {
	l.clock.Start()
	var errs []error
	for _, one := range l.services() {
		errs = append(errs, one.clockStarted())
	}
	return errors.Join(errs...)
}

// everybody returns all parts that are not gavel's own services: dishonest relays, which run in
// front of honest ones, agents, and the monitor.
func (l *planRun) everybody(ctx context.Context) ([]app.Runner, error) {
	var list []app.Runner
	for _, one := range l.relays {
		url, run, err := one.front(ctx)
		if err != nil {
			return nil, err
		}
		one.met = url
		if run != nil {
			list = append(list, func(context.Context) error { return run() })
		}
	}
	agents, err := l.agents(ctx)
	if err != nil {
		return nil, err
	}
	list = append(list, agents...)
	if !l.plan.Monitor {
		return list, nil
	}
	watching, err := l.monitor()
	return append(list, watching), err
}

// monitor makes a monitor that watches all relays from outside: it knows only their addresses and
// keys.
func (l *planRun) monitor() (app.Runner, error) {
	cfg := monitorapp.Config{
		Clock: l.clockOf(scenarios.MonitorName), Patience: stall / 2, Timeout: 2 * stall, Log: l.log.With("part",
			scenarios.MonitorName),
		Found: func(one monitor.Finding) {
			l.book.add(scenarios.Record{
				Actor: scenarios.MonitorName, Subject: scenarios.MonitorFinding, At: l.accused(one), ID: string(one.Class),
				Slot: int(one.Slot),
			}, time.Time{}, one)
		},
	}
	url, err := l.links.to(scenarios.MonitorName, scenarios.BeaconNode, l.beaconURL)
	if err != nil {
		return nil, err
	}
	cfg.BeaconURLs = []string{url}
	for _, one := range l.relays {
		address, err := l.links.to(scenarios.MonitorName, one.name, one.met)
		if err != nil {
			return nil, err
		}
		key := network.RelayKey(l.plan.Seed, one.index)
		cfg.Relays = append(cfg.Relays, network.RelayAddress(strings.TrimPrefix(address, "http://"), key))
		cfg.Names = append(cfg.Names, one.name)
	}
	watching, err := monitorapp.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("start monitor: %w", err)
	}
	return watching.Run, nil
}

// accused returns the name of whoever a monitor has found at fault.
func (l *planRun) accused(one monitor.Finding) string {
	switch {
	case one.Proposer != nil:
		return scenarios.ProposersName
	case one.Builder != nil:
		return l.network.StakedName(*one.Builder)
	}
	return one.Relay
}

// registeredWithin bounds the wait for registrations, in wall time. lookAgain is the pause between
// two looks at them.
const (
	registeredWithin = 5 * time.Second
	lookAgain        = registeredWithin / 200
)

// waitRegistered waits until every relay has every validator's registration, which only one of its
// instances records, so that this work takes no time of the first slot. For the same reason it
// computes the first blob's proofs.
func (l *planRun) waitRegistered(ctx context.Context) {
	if fork := l.network.Spec.ForkAt(0); l.plan.BlobEvery > 0 && fork.HasBlobs() {
		chain.Sidecar(fork, 0)
	}
	owners := 0
	for _, one := range l.plan.Relays {
		if one.InstanceOf == "" {
			owners++
		}
	}
	ctx, cancel := context.WithTimeout(ctx, registeredWithin)
	defer cancel()
	for {
		facts, err := l.book.all()
		if err != nil {
			return // the same error ends the run
		}
		stored := 0
		for _, fact := range facts {
			if fact.Subject == scenarios.RegistrationStored {
				stored++
			}
		}
		if stored >= owners*l.plan.Validators || run.Pause(ctx, lookAgain) != nil {
			return
		}
	}
}

// stopped waits for all parts and stops the services. It returns their failures; a cancelled
// context is not a failure.
func (l *planRun) stopped(group *errgroup.Group) error {
	err := group.Wait()
	if errors.Is(err, context.Canceled) {
		err = nil
	}
	for _, one := range slices.Backward(l.processes()) {
		err = errors.Join(err, one.stop())
	}
	return err
}

func (l *planRun) close() error {
	err := l.links.close()
	l.flow.close()
	for _, one := range l.relays {
		err = errors.Join(err, one.validator.server.Close())
	}
	return errors.Join(err, l.network.Close())
}
