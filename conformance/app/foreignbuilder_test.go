package app

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/report"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
)

// foreigner is a builder and what the suite must say of it.
type foreigner struct {
	name   string
	habits habits
	exit   int
	// fails are the clauses that fail, all of them. May are those that can fail by the way.
	fails, may []string
	// passes are the clauses that pass, all of them, of a builder of which little can be judged; nil
	// for one of which all can.
	passes []string
	// unsure says that some clauses cannot be judged.
	unsure bool
	// byCommand has the builder started by its command, and judged by the wall.
	byCommand bool
	// ours says that it is gavel's own builder, which runs already and is judged as --builder running
	// does, by the wall.
	ours bool
	// only are the clauses to judge; nil means all.
	only []string
}

// foreigners are builders of another make than ours. Who submits nothing that counts fails
// BLD-SUB-01 and the clauses that want bids at each relay.
var foreigners = []foreigner{
	{name: "without a fault", exit: clauses.Conformant},
	{
		name: "by its command", byCommand: true, exit: clauses.Conformant,
		only: []string{"BLD-SUB-0*", "BLD-BLK-08"},
		passes: []string{"BLD-BLK-08", "BLD-SUB-01", "BLD-SUB-02", "BLD-SUB-03", "BLD-SUB-04", "BLD-SUB-05", "BLD-SUB-06",
			"BLD-SUB-07", "BLD-SUB-08"},
	},
	{
		name: "ours, which runs already", ours: true, exit: clauses.Conformant,
		only: []string{"BLD-SUB-0*", "BLD-MSG-0*", "BLD-BLK-0*", "BLD-IDN-04"},
		passes: []string{"BLD-BLK-01", "BLD-BLK-02", "BLD-BLK-03", "BLD-BLK-04", "BLD-BLK-05", "BLD-BLK-06", "BLD-BLK-07",
			"BLD-BLK-08", "BLD-BLK-09", "BLD-IDN-04", "BLD-MSG-01", "BLD-MSG-02", "BLD-MSG-03", "BLD-MSG-04", "BLD-MSG-05",
			"BLD-MSG-06", "BLD-MSG-07", "BLD-SUB-01", "BLD-SUB-02", "BLD-SUB-03", "BLD-SUB-04", "BLD-SUB-05", "BLD-SUB-06",
			"BLD-SUB-07", "BLD-SUB-08"},
	},
	{
		name: "submits nothing", habits: habits{silent: true}, exit: clauses.Nonconformant,
		fails: []string{"BLD-REL-01", "BLD-REL-04", "BLD-REL-05", "BLD-SUB-01"}, passes: []string{}, unsure: true,
	},
	{
		name: "submits garbage", habits: habits{garbage: true}, exit: clauses.Nonconformant,
		fails:  []string{"BLD-REL-01", "BLD-REL-04", "BLD-REL-05", "BLD-SUB-01", "BLD-SUB-03"},
		passes: []string{"BLD-CAN-02", "BLD-SUB-02", "BLD-SUB-04", "BLD-SUB-05"}, unsure: true,
	},
	{
		name: "submits an old payload anew", habits: habits{stale: true}, exit: clauses.Nonconformant,
		fails: []string{"BLD-BLK-01", "BLD-MSG-07"}, may: []string{"BLD-SLT-02"}, // the old gas limit may be the right one
	},
	{
		name: "submits one block again and again", habits: habits{parrot: true}, exit: clauses.Nonconformant,
		fails: []string{"BLD-REL-01", "BLD-REL-04", "BLD-REL-05", "BLD-SLT-03", "BLD-SUB-01"},
		// that it bids no more, and that it sends again what was taken, is seen by these only if its one
		// slot was the one that they compare with
		may: []string{"BLD-REL-02", "BLD-REL-03", "BLD-RFS-05"}, unsure: true,
	},
	{
		name: "promises what it does not pay", habits: habits{unpaid: true}, exit: clauses.Nonconformant,
		fails: []string{"BLD-BLK-08"},
	},
	{
		name: "serves relays in turn", habits: habits{inTurn: true}, exit: clauses.Conformant, // no MUST
		only:  []string{"BLD-REL-*"}, // while a relay is silent, it may miss the slot of any other clause
		fails: []string{"BLD-REL-03", "BLD-REL-05"},
	},
	{
		name: "insists on what is refused", habits: habits{insists: true}, exit: clauses.Conformant, // no MUST
		fails: []string{"BLD-RFS-01", "BLD-RFS-02", "BLD-RFS-03", "BLD-RFS-04"},
	},
}

// lacks are the clauses about what these builders do not do: they lower no bid, and have no API
// keys, numbers, or other ways of submitting.
var lacks = []string{"BLD-CAN-01", "BLD-IDN-01", "BLD-IDN-02", "BLD-IDN-03", "BLD-RFS-06"}

// A builder of another make than ours passes, and each wrong one fails what it does wrong and
// nothing else. A process runs the suite only once, so each has its own.
func TestForeignBuilders(t *testing.T) {
	for _, row := range foreigners {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			out := filepath.Join(t.TempDir(), "report.json")
			command := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestJudgeAForeignBuilder$")
			command.Env = append(os.Environ(), foreignName+"="+row.name, foreignOut+"="+out)
			if said, err := command.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, said)
			}
			r, err := report.ReadFile(out)
			if err != nil {
				t.Fatal(err)
			}
			row.check(t, r)
		})
	}
}

// check compares a report with what it must say.
func (f foreigner) check(t *testing.T, r *report.Report) {
	t.Helper()
	if r.Exit != f.exit {
		t.Errorf("exit %d, want %d", r.Exit, f.exit)
	}
	for _, c := range r.Clauses {
		if c.Interface() != "builder" {
			continue
		}
		var right bool
		switch c.Verdict {
		case clauses.Pass:
			right = !slices.Contains(f.fails, c.ID) && (f.passes == nil || slices.Contains(f.passes, c.ID))
		case clauses.Fail, clauses.Warn:
			right = slices.Contains(f.fails, c.ID) || slices.Contains(f.may, c.ID)
		case clauses.NotSure:
			right = f.unsure && !slices.Contains(f.fails, c.ID) && !slices.Contains(f.passes, c.ID)
		case clauses.NotRun:
			right = !slices.Contains(f.passes, c.ID) && (f.only != nil || slices.Contains(lacks, c.ID))
		default: // no other verdict is expected
		}
		if !right {
			t.Errorf("%s is %s: %s", c.ID, c.Verdict, c.Why)
		}
	}
}

// The variables by which a process learns which builder to judge, and where to write the report.
const (
	foreignName = "GAVEL_TEST_BUILDER"
	foreignOut  = "GAVEL_TEST_REPORT"
	// foreignWorld is the address of the world of a builder that is started by its command.
	foreignWorld = "GAVEL_TEST_WORLD"
)

// TestJudgeAForeignBuilder is no test: it judges one builder, in a process of its own.
func TestJudgeAForeignBuilder(t *testing.T) {
	name := os.Getenv(foreignName)
	if name == "" {
		t.Skip("only a process of the test above judges a builder")
	}
	row := foreigners[slices.IndexFunc(foreigners, func(f foreigner) bool { return f.name == name })]
	o := Options{Seed: 1, Most: clauses.White, Patterns: row.only}
	switch {
	case row.ours:
		judgeRunning(t, o)
		return
	case row.byCommand:
		o = startByCommand(t, o)
	default:
		o = startBeside(t, row.habits, o)
	}
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(os.Getenv(foreignOut), raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

// startBeside starts a builder in this process, in a world with a fast clock.
func startBeside(t *testing.T, has habits, o Options) Options {
	t.Helper()
	paced := clock.NewPaced(time.Now().Truncate(time.Second), builderSpeed)
	opened := openWorldOf(t, &target.Builder{Running: true}, world.Config{Clock: paced})
	around, err := world.Dial(t.Context(), opened.Target.Chain.WorldURL)
	if err != nil {
		t.Fatal(err)
	}
	auctions, err := scripted.OpenAuctions(t.Context(), around, paced, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := auctions.Close(); err != nil {
			t.Error(err)
		}
	})
	b := &foreign{habits: has, clock: paced, world: around, beacon: around.Facts.BeaconURL, relays: bare(auctions.URLs()),
		domain: auctions.Network.BuilderDomain(), key: probe.DeriveBLSKey("a foreign builder")}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.run(ctx) })
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
	if err := waitContact(ctx, auctions, builderStart, nil); err != nil {
		t.Fatal(err)
	}
	o.Target, o.Auctions, o.Clock, o.Timeout = opened.Target, auctions, paced, ownTimeout
	return o
}

// startByCommand has the suite start a builder by its command, in a process of its own, with all
// that it must know but the world, which builds its blocks.
func startByCommand(t *testing.T, o Options) Options {
	t.Helper()
	opened := openWorldOf(t, &target.Builder{Command: "exec " + os.Args[0] + " -test.run '^TestServeAsABuilder$' " +
		"{relays} {beacon} {blsKey} {genesisForkVersion}"}, world.Config{Slot: time.Second})
	t.Setenv(foreignWorld, opened.Target.Chain.WorldURL)
	auctions, end, err := OpenBuilder(t.Context(), opened.Target, BuilderSource{World: opened.World, Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	o.Target, o.Auctions = opened.Target, auctions
	return o
}

// openWorldOf opens a world for a builder.
func openWorldOf(t *testing.T, b *target.Builder, cfg world.Config) Opened {
	t.Helper()
	opened, end, err := openWorld(t.Context(), Source{Target: &target.Target{Builder: b}, World: cfg, Notes: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	return opened
}

// bare are addresses without their user, which is a relay's key.
func bare(urls []string) (list []string) {
	for _, address := range urls {
		list = append(list, "http://"+address[strings.LastIndex(address, "@")+1:])
	}
	return list
}

// TestServeAsABuilder is no test: it is the builder that is started by its command.
func TestServeAsABuilder(t *testing.T) {
	if os.Getenv(foreignWorld) == "" {
		t.Skip("only a process of the tests above is a builder")
	}
	around, err := world.Dial(t.Context(), os.Getenv(foreignWorld))
	if err != nil {
		t.Fatal(err)
	}
	args := os.Args[len(os.Args)-4:]
	secret, err := hex.DecodeString(strings.TrimPrefix(args[2], "0x"))
	if err != nil {
		t.Fatal(err)
	}
	key, err := probe.ParseBLSKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	var network scripted.Network
	if err := eth.ParseHex(args[3], network.GenesisForkVersion[:]); err != nil {
		t.Fatal(err)
	}
	b := &foreign{clock: clock.Real{}, world: around, beacon: args[1], relays: bare(strings.Split(args[0], ",")),
		domain: network.BuilderDomain(), key: key}
	b.run(t.Context()) // until it is killed
}

// A builder that ends, and one that asks no relay for anything, cannot be judged.
func TestABuilderThatNeverComesIsUnusable(t *testing.T) {
	opened := openWorldOf(t, &target.Builder{Command: "echo no such flag; exit 2 # {relayA}"}, world.Config{})
	_, endBuilder, err := OpenBuilder(t.Context(), opened.Target, BuilderSource{World: opened.World, Log: t.Output()})
	defer endBuilder()
	var unusable UnusableError
	if !errors.As(err, &unusable) {
		t.Errorf("a command that ends: %v", err)
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := waitContact(t.Context(), &scripted.Auctions{Relays: &scripted.Relays{All: []*scripted.Relay{{}}}},
			builderStart, nil)
		if err == nil || !strings.Contains(err.Error(), "asks no relay for anything") || time.Since(began) != builderStart {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	})
}
