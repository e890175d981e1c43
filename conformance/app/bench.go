package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/conformance/bench"
	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/load"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/serve"
)

// Bench is a load test of a relay, of a bundle RPC, or of an RPC with the stream that tells of its
// orders.
type Bench struct {
	// Interface is which of them is loaded: relay, rpc or stream.
	Interface string
	// Listeners is how many follow a stream.
	Listeners int
	// Source is where the target is, or what starts it; its target is nil if only the null target is
	// loaded. A relay by its address that names no world gets one of Source.World, as soon as it
	// follows that.
	Source  Source
	Setting load.Setting // its mix is that of the interface; all else is about relays
	Phases  []bench.Phase
	// Null loads a target that does nothing as well, and reports the ratio.
	Null bool
	// Wait is how long the relay may take until it lists the world's proposers.
	Wait time.Duration
	// Mine says that the operator owns the target, so that it need not be on this machine.
	Mine bool
	// JSON and HTML are files to write; empty for none.
	JSON, HTML string
	// Out receives the table; Source.Notes what goes on.
	Out io.Writer
}

// benchAccounts is how many accounts a world has in which nobody but the load needs one.
const benchAccounts = 64

// Run loads the target and writes what was measured. Wrong answers are a Status.
func (b Bench) Run(ctx context.Context) error {
	if err := b.check(); err != nil {
		return err
	}
	machine := machineOf()
	around, where, stream, end, err := b.open(ctx)
	if err != nil {
		return err
	}
	defer end()
	var report, null *bench.Report
	if where != nil {
		if report, err = b.load(ctx, around, *where, stream, false); err != nil {
			return UnusableError{err}
		}
		report.Target = redacted(cmp.Or(stream, where.ProposerURL))
	}
	if b.Null {
		if null, err = b.loadNull(ctx, around); err != nil {
			return err
		}
	}
	if report == nil {
		report = null
	} else {
		report.Null = null
	}
	report.Machine = machine
	if err := b.write(report); err != nil {
		return err
	}
	if where == nil {
		return nil // the null target is wrong in everything
	}
	if n := report.Wrong(); n > 0 {
		return Status{clauses.Nonconformant, fmt.Sprintf("%d answers were wrong", n)}
	}
	if kinds := report.Unanswered(); len(kinds) > 0 {
		return Status{clauses.Unusable, fmt.Sprintf("no request got a right answer of these: %v", kinds)}
	}
	return nil
}

// load loads a target. Stream is the address of the stream that is followed; empty for none.
func (b Bench) load(ctx context.Context, around *world.Client, at target.Relay, stream string,
	null bool) (*bench.Report, error) {
	if b.Interface != "relay" {
		return load.RPC{URL: at.ProposerURL, StreamURL: stream, Listeners: b.Listeners, World: around, Mix: b.Setting.Mix,
			Phases: b.Phases, Progress: b.progress}.Run(ctx)
	}
	return load.Relay{
		ProposerURL: at.ProposerURL, BuilderURL: at.BuilderURL, DataURL: at.DataURL, World: around, Setting: b.Setting,
		Phases: b.Phases, Null: null, Progress: b.progress, Wait: b.Wait,
		Waiting: func(why error) { fmt.Fprintf(b.Source.Notes, "waiting for the relay: %v\n", why) },
	}.Run(ctx)
}

// check returns the caller's mistakes.
func (b Bench) check() error {
	if err := b.Setting.Check(); err != nil {
		return Mistake("%v", err)
	}
	if b.Source.World.HasGloas() {
		return Mistake("bench speaks the interface before gloas: give an earlier fork")
	}
	if b.Interface == "stream" && b.Null {
		return Mistake("no null target makes events: leave --null out, or load the RPC by itself")
	}
	if b.Interface == "stream" && (b.Listeners < 1 || b.Listeners > load.MostListeners) {
		return Mistake("listeners is %d: give 1 to %d", b.Listeners, load.MostListeners)
	}
	t := b.Source.Target
	if !b.Source.Local && t == nil && !b.Null {
		return Mistake("nothing to load: give --relay, --rpc, --command, --devnet or --null")
	}
	if t == nil || b.Mine {
		return nil
	}
	for _, address := range t.Addresses() {
		if address != "" && !isLoopback(address) {
			return Mistake("%s is not on this machine: say --mine if it is yours, and a load on it harms nobody",
				redacted(address))
		}
	}
	return nil
}

// isLoopback says whether an address is on this machine.
func isLoopback(address string) bool {
	parsed, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(parsed.Hostname())
	return parsed.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// redacted is an address without a user and a password.
func redacted(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return "an address that cannot be read"
	}
	return parsed.Redacted()
}

// open finds or starts the target and its world. Where is nil if there is only the world, and
// stream is empty if none is followed. End stops what was started; it is never nil.
func (b Bench) open(ctx context.Context) (around *world.Client, where *target.Relay, stream string, end func(),
	err error) {
	s := b.Source
	if s.World.Accounts = benchAccounts; b.Setting.Blobs == 0 {
		s.World.BlobsLater = true
	}
	var opened Opened
	if s.Local || s.Target != nil && (s.Target.Commanded() || s.Target.Chain.WorldURL != "") {
		opened, end, err = Open(ctx, s)
	} else {
		opened, end, err = openWorld(ctx, s)
	}
	if err != nil {
		return nil, nil, "", end, err
	}
	address := ""
	if t := opened.Target; t != nil {
		address, where = t.Chain.WorldURL, t.Relay
		if b.Interface != "relay" {
			where = &target.Relay{ProposerURL: t.RPC.URL}
		}
		if b.Interface == "stream" {
			stream = t.Stream.URL
		}
	}
	if opened.World != nil {
		address = opened.World.URL
	}
	if around, err = world.Dial(ctx, address); err != nil {
		end()
		return nil, nil, "", func() {}, UnusableError{err}
	}
	if opened.World != nil && !s.Local && s.Target != nil {
		fmt.Fprintln(s.Notes, "the target must follow this world:")
		printWorld(s.Notes, around.Facts, address, nil)
	}
	return around, where, stream, end, nil
}

// loadNull loads a target that does nothing, in this process.
func (b Bench) loadNull(ctx context.Context, around *world.Client) (*bench.Report, error) {
	fork, err := eth.ParseFork(around.Facts.Fork)
	if err != nil {
		return nil, fmt.Errorf("load the null target: %w", err)
	}
	handler, err := load.Null(fork)
	if err != nil {
		return nil, err
	}
	listener, err := serve.Listen("127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	address := "http://" + listener.Addr().String()
	report, err := b.load(ctx, around, target.Relay{ProposerURL: address, BuilderURL: address, DataURL: address}, "", true)
	if closing := server.Close(); !errors.Is(errors.Join(closing, <-ended), http.ErrServerClosed) {
		err = errors.Join(err, closing)
	}
	if err != nil {
		return nil, fmt.Errorf("load the null target: %w", err)
	}
	report.Target, report.Machine = "a target that does nothing", machineOf()
	return report, nil
}

func (b Bench) progress(phase string, loaded time.Duration, sent int) {
	fmt.Fprintf(b.Source.Notes, "%s: %s loaded, %d requests so far\n", phase, loaded.Round(100*time.Millisecond), sent)
}

// write writes the report in all its forms.
func (b Bench) write(r *bench.Report) error {
	if b.JSON != "" {
		if err := writeFile(b.JSON, r.WriteJSON); err != nil {
			return err
		}
	}
	if b.HTML != "" {
		page := func(out io.Writer) error { return writeBenchPage(out, []*bench.Report{r}) }
		if err := writeFile(b.HTML, page); err != nil {
			return err
		}
	}
	return r.Table(b.Out)
}

// CompareBench reads reports of load tests and writes a table of them, and a page if it has a name.
func CompareBench(out io.Writer, names []string, html string) error {
	var reports []*bench.Report
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			return Mistake("%v", err)
		}
		r, err := bench.Read(file)
		if err = errors.Join(err, file.Close()); err != nil {
			return Mistake("%s: %v", name, err)
		}
		reports = append(reports, r)
	}
	if len(reports) < 2 {
		return Mistake("give two reports at least")
	}
	if html != "" {
		if err := writeFile(html, func(out io.Writer) error { return writeBenchPage(out, reports) }); err != nil {
			return err
		}
	}
	return bench.Compare(reports).Table(out)
}

func writeFile(name string, write func(io.Writer) error) error {
	file, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return errors.Join(write(file), file.Close())
}

// machineOf describes this machine as it is before a run.
func machineOf() bench.Machine {
	m := bench.Machine{CPUs: runtime.NumCPU(), Arch: runtime.GOARCH, LoadBefore: -1}
	if raw, err := os.ReadFile("/proc/loadavg"); err == nil {
		first, _, _ := strings.Cut(string(raw), " ")
		if load, err := strconv.ParseFloat(first, 64); err == nil {
			m.LoadBefore = load
		}
	}
	return m
}
