package app

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	_ "github.com/mattn/go-sqlite3" // the archive's database, which a fault locks
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/scenarios"
	"github.com/gavel-relay/gavel/scenarios/fault"
)

// breakThings begins and ends every fault of the plan at its time.
func (l *planRun) breakThings(ctx context.Context) error {
	var group errgroup.Group // without a derived context: a service that was started again outlives the faults
	for id, one := range l.plan.Faults {
		group.Go(func() error { return l.breakThing(ctx, id, one) })
	}
	return group.Wait()
}

// breakFirst begins the faults without a From, before agents and clock start.
func (l *planRun) breakFirst(ctx context.Context) error {
	for id, f := range l.plan.Faults {
		if f.From != (scenarios.Moment{}) {
			continue
		}
		mend, err := l.begin(ctx, id, f)
		if err != nil {
			return fmt.Errorf("fault %s on %s: %w", f.What, f.On, err)
		}
		l.mends[id] = mend
	}
	return nil
}

func (l *planRun) breakThing(ctx context.Context, id int, f scenarios.Fault) error {
	genesis := l.network.Spec.GenesisTime
	if l.clock.Until(ctx, genesis.Add(f.From.In(l.plan.Slot))) != nil {
		return nil
	}
	how := l.how(f) // before the fault, because afterwards the process id is gone
	mend, began := l.mends[id]
	if !began {
		var err error
		if mend, err = l.begin(ctx, id, f); err != nil {
			return fmt.Errorf("fault %s on %s: %w", f.What, f.On, err)
		}
	}
	l.book.add(scenarios.Record{Actor: "lab", Subject: scenarios.FaultBegan, About: f.On.String(), ID: f.What.String()},
		time.Time{},
		BegunFault{how})
	if f.Until == (scenarios.Moment{}) {
		<-ctx.Done()
		return mendAtEnd(f, mend)
	}
	if l.clock.Until(ctx, genesis.Add(f.Until.In(l.plan.Slot))) != nil {
		return mendAtEnd(f, mend)
	}
	if err := mend(); err != nil {
		return fmt.Errorf("end of fault %s on %s: %w", f.What, f.On, err)
	}
	l.book.add(scenarios.Record{Actor: "lab", Subject: scenarios.FaultEnded, About: f.On.String(), ID: f.What.String()},
		time.Time{}, nil)
	return nil
}

// BegunFault is what the lab records when a fault begins. How says what was done to which operating
// system process. It is empty for faults of connections, and of parts that run in the lab's own
// process.
type BegunFault struct {
	How string `json:"how,omitempty"`
}

// how describes what a fault does, and to which process.
func (l *planRun) how(f scenarios.Fault) string {
	one := l.serviceNamed(f.On.To)
	if one == nil || f.On.From != "" {
		return ""
	}
	pid := one.pid()
	switch {
	case f.What.Is("kill"):
		return fmt.Sprintf("SIGKILL to process %d", pid)
	case f.What.Is("pause"):
		return fmt.Sprintf("SIGSTOP to process %d", pid)
	case f.What.Is("power cut"):
		return fmt.Sprintf("SIGKILL to process %d, and what its disk had not synced is gone", pid)
	case f.What.Is("journal"):
		signal := "SIGKILL"
		if f.What.Is("journal node NODE paused") {
			signal = "SIGSTOP"
		}
		var pids []string
		for _, one := range l.brokenJournals(f) {
			pids = append(pids, strconv.Itoa(one.pid()))
		}
		return fmt.Sprintf("%s to process %s of its journal", signal, strings.Join(pids, ", "))
	case f.What.Is("disk full"):
		return fmt.Sprintf("no block is free on the disk of process %d", pid)
	case f.What.Is("slow disk"):
		return fmt.Sprintf("each write and sync of process %d waits %s", pid, wallTime(f.What.Time, l.plan.Speed))
	case f.What.Is("skew", "clock jump"):
		return fmt.Sprintf("the clock of process %d", pid)
	default:
		return ""
	}
}

// mendAtEnd mends a fault that would keep the run from ending in order. A service that was killed
// stays dead.
func mendAtEnd(f scenarios.Fault, mend func() error) error {
	if f.What.Is("kill", "power cut", "journal away", "journal node NODE away") {
		return nil
	}
	return mend()
}

// begin begins a fault and returns the function that mends it.
func (l *planRun) begin(ctx context.Context, id int, f scenarios.Fault) (mend func() error, err error) {
	switch {
	case f.What.Is("kill"):
		return l.kill(ctx, id, f.On)
	case f.What.Is("power cut"):
		return l.cutPower(ctx, id, f.On)
	case f.What.Is("journal node NODE paused"):
		one := l.brokenJournals(f)[0]
		return one.resume, one.pause()
	case f.What.Is("journal"):
		return killJournal(ctx, l.brokenJournals(f))
	case f.What.Is("disk full"):
		one := l.serviceNamed(f.On.To)
		return func() error { return one.setDisk(func(d *diskOrder) { d.Full = false }) }, one.setDisk(func(d *diskOrder) {
			d.Full = true
		})
	case f.What.Is("slow disk"):
		one, slow := l.serviceNamed(f.On.To), wallTime(f.What.Time, l.plan.Speed)
		return func() error { return one.setDisk(func(d *diskOrder) { d.Slow = 0 }) }, one.setDisk(func(d *diskOrder) {
			d.Slow = slow
		})
	case f.What.Is("slow validation", "validation"):
		v := l.relayNamed(f.On.To).validator
		v.set(func(v *validator) {
			v.slow, v.down = wallTime(f.What.Time, l.plan.Speed), f.What.Is("validation")
		})
		return func() error { v.set(func(v *validator) { v.slow, v.down = 0, false }); return nil }, nil
	case f.What.Is("known blocks"):
		return raise(&l.refusesKnown), nil
	case f.What.Is("committee"):
		return raise(&l.committeeAbsent), nil
	case f.What.Is("envelopes"):
		return raise(&l.refusesEnvelopes), nil
	case f.What.Is("database"):
		return lockDatabase(ctx, l.relayNamed(f.On.To).database())
	case f.What.Is("pause"):
		return l.pause(f.On)
	case f.What.Is("skew"):
		return l.skew(f)
	case f.What.Is("clock jump"):
		one := l.serviceNamed(f.On.To)
		return func() error { return one.setSkew(0, true) }, one.setSkew(f.What.Time, true)
	default:
		return func() error { return l.links.end(id) }, l.links.begin(id, f.On, linkCondition(f.What, l.plan.Speed))
	}
}

// raise sets a flag and returns the function that lowers it.
func raise(flag *atomic.Bool) func() error {
	flag.Store(true)
	return func() error { flag.Store(false); return nil }
}

func linkCondition(what scenarios.Move, speed float64) fault.Condition {
	switch {
	case what.Is("latency"):
		return fault.Condition{Latency: wallTime(what.Time, speed)}
	case what.Is("drop"):
		return fault.Condition{Drop: what.Percent / 100}
	case what.Is("reset"):
		return fault.Condition{Reset: true}
	case what.Is("partition"):
		return fault.Condition{Partition: true}
	case what.Is("answer"):
		return fault.Condition{Answer: what.Count}
	default:
		return fault.Condition{Corrupt: what.Percent / 100}
	}
}

func (l *planRun) relayNamed(name string) *relayService {
	for _, one := range l.relays {
		if one.name == name {
			return one
		}
	}
	return nil // not reached: Parse has checked the name
}

// kill kills a service; mend starts it again.
func (l *planRun) kill(ctx context.Context, id int, on scenarios.Link) (func() error, error) {
	i := slices.IndexFunc(l.processes(), func(p killable) bool { return p.called() == on.To })
	if i < 0 {
		return nil, errors.New("it does not run") // not reached: Parse has checked the name
	}
	one := l.processes()[i]
	// The proxies break open connections and refuse new ones, as the operating system does for a
	// dead process. The beacon node needs this most: its API is a part of the lab's own process.
	mend, err := l.gone(ctx, id, on, one, fault.Condition{Refuse: true}, one.kill)
	if err != nil || on.To != scenarios.BeaconNode {
		return mend, err
	}
	return func() error {
		// The beacon node is also the validators' own node, so what it counted for the circuit
		// breaker is lost. That is reset before the node can be asked again.
		l.validators.BeaconRestarted(l.network.Spec.SlotAt(l.clock.Now()))
		return mend()
	}, nil
}

// cutPower ends a service together with its machine: clients get no answer at all, not even a
// refused connection. mend starts the service with the data that its disk has kept.
func (l *planRun) cutPower(ctx context.Context, id int, on scenarios.Link) (func() error, error) {
	one := l.serviceNamed(on.To)
	return l.gone(ctx, id, on, one, fault.Condition{Partition: true}, one.cutPower)
}

// killJournal kills servers of a service's journal; mend starts them again.
func killJournal(ctx context.Context, servers []*process) (mend func() error, err error) {
	mend = func() error {
		var errs []error
		for _, one := range servers {
			errs = append(errs, one.start(ctx))
		}
		return errors.Join(errs...)
	}
	for _, one := range servers {
		err = errors.Join(err, one.kill())
	}
	return mend, err
}

// gone ends a service with end, and puts the connections to it into a condition. The function that
// it returns starts the service again.
func (l *planRun) gone(ctx context.Context, id int, on scenarios.Link, one killable, condition fault.Condition,
	end func() error) (func() error, error) {
	if err := l.links.begin(id, on, condition); err != nil {
		return nil, err
	}
	if err := end(); err != nil {
		return nil, err
	}
	l.book.add(scenarios.Record{Actor: on.To, Subject: scenarios.ServiceStopped, About: on.To}, time.Time{}, nil)
	return func() error {
		if err := one.start(ctx); err != nil {
			return err
		}
		if err := l.links.end(id); err != nil {
			return err
		}
		l.book.add(scenarios.Record{Actor: on.To, Subject: scenarios.ServiceStarted, About: on.To}, time.Time{}, nil)
		return nil
	}, nil
}

// pause stops a service's process; mend lets it continue.
func (l *planRun) pause(on scenarios.Link) (func() error, error) {
	one := l.serviceNamed(on.To)
	if err := one.pause(); err != nil {
		return nil, err
	}
	l.book.add(scenarios.Record{Actor: on.To, Subject: scenarios.ServicePaused, About: on.To}, time.Time{}, nil)
	return func() error {
		if err := one.resume(); err != nil {
			return err
		}
		l.book.add(scenarios.Record{Actor: on.To, Subject: scenarios.ServiceResumed, About: on.To}, time.Time{}, nil)
		return nil
	}, nil
}

// skew makes a clock wrong; mend corrects it.
func (l *planRun) skew(f scenarios.Fault) (func() error, error) {
	if one := l.serviceNamed(f.On.To); one != nil {
		return func() error { return one.setSkew(0, false) }, one.setSkew(f.What.Time, false)
	}
	c := l.clockOf(f.On.To)
	c.set(f.What.Time)
	return func() error { c.set(0); return nil }, nil
}

// lockDatabase locks a database, so that nobody else can write to it until it is mended.
func lockDatabase(ctx context.Context, path string) (mend func() error, err error) {
	db, err := sql.Open("sqlite3", "file:"+path+"?_busy_timeout=10000")
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open database: %w", err), db.Close())
	}
	if _, err := conn.ExecContext(ctx, "BEGIN EXCLUSIVE"); err != nil {
		return nil, errors.Join(fmt.Errorf("lock database: %w", err), conn.Close(), db.Close())
	}
	return func() error {
		_, err := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return errors.Join(err, conn.Close(), db.Close())
	}, nil
}
