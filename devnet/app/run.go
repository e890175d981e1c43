// Package app runs the devnet: one execution node, one beacon node, a relay, a bundle RPC and an
// event stream as any operator would run them, and agents that use them over HTTP. It knows how the
// services are built, because it starts them; the agents (cast.go) get addresses and keys only, and
// use the services' public interfaces, with signed requests where these are needed (signed.go).
//
//	open chain ─▶ beacon node ─▶ relay ─▶ bundle RPC ─▶ stream ─▶ (mev-boost) ─▶ agents
//	     ─▶ let the clock run ─▶ slots … ─▶ stop agents ─▶ summary from the chain
package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/agent/user"
	"github.com/gavel-relay/gavel/devnet/display"
	"github.com/gavel-relay/gavel/devnet/mempool"
	"github.com/gavel-relay/gavel/devnet/network"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	relayapp "github.com/gavel-relay/gavel/relay/app"
	"github.com/gavel-relay/gavel/relay/client"
	"github.com/gavel-relay/gavel/rpc"
	streamapp "github.com/gavel-relay/gavel/stream/app"
)

// lab owns everything that runs.
type lab struct {
	cfg     devnet.Config
	out     display.Output
	log     *slog.Logger
	began   time.Time
	network *network.Network
	relay   *relayapp.App
	facts   chan seen
	bundles *RPC
	stream  *streamapp.App
	orders  chan rpc.Fact
	// URLs of the parts.
	beaconURL, relayURL, bundleURL, streamURL, validationURL string
	// validator judges builders' blocks: for the relay in this process directly, and for other
	// relays by URL.
	validator exec.Validator
	sidecar   *client.Client // a real mev-boost, or nil
	page      *page          // for browsers, or nil
	flow      *mempool.Flow  // the transactions of a file, or nil
	replay    *user.Replay   // who sends them, or nil
	// listeners are those of the beacon node, the relay, the bundle RPC, the stream and the
	// validation node, in this order, followed by those of the builders.
	listeners []net.Listener
}

// Run runs a devnet until its slots are over or the context ends, and returns the summary. The
// error means that something could not be started or failed; a slot that went wrong is in the
// summary instead.
//
// With a flow, its transactions are sent in the place of those that users of the public pool make
// up.
func Run(ctx context.Context, cfg devnet.Config, flow *mempool.Flow, out display.Output) (display.Summary, error) {
	if err := cfg.Validate(); err != nil {
		return display.Summary{}, err
	}
	if err := checkPlaces(cfg); err != nil {
		return display.Summary{}, run.Usage(err)
	}
	l := &lab{cfg: cfg, out: out, began: time.Now(), log: slog.Default(), facts: make(chan seen, factQueue),
		orders: make(chan rpc.Fact, factQueue), flow: flow}
	defer l.close()
	if err := l.open(); err != nil {
		return display.Summary{}, err
	}
	if l.page != nil {
		// The page outlives the run, so that it can be read.
		over := l.page.serve(ctx, l.log)
		defer over()
	}
	return l.run(ctx)
}

// checkPlaces checks the configuration's paths, and that programs that know only wall time run at
// speed 1. The data folder must be new or empty, because a run always begins at genesis.
func checkPlaces(cfg devnet.Config) error {
	if cfg.MevBoost != "" {
		if _, err := osexec.LookPath(cfg.MevBoost); err != nil {
			return fmt.Errorf("mev-boost is %s, which cannot be run: give the path of a mev-boost program", cfg.MevBoost)
		}
		if cfg.Speed != 1 {
			return fmt.Errorf("speed is %v, but mev-boost knows only the wall clock: give speed 1", cfg.Speed)
		}
	}
	if len(cfg.Relays) > 0 && cfg.Speed != 1 {
		return fmt.Errorf("speed is %v, but other relays know only the wall clock: give speed 1", cfg.Speed)
	}
	if cfg.MevBoost != "" && !cfg.Forks[len(cfg.Forks)-1].Fork.HasBlindedBlocks() {
		return errors.New("mev-boost has no requests of gloas: leave it out, or end the forks with fulu")
	}
	if cfg.DataDir == "" {
		return nil
	}
	entries, err := os.ReadDir(cfg.DataDir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("data-dir %s cannot be read: give a new or an empty directory", cfg.DataDir)
	case len(entries) > 0:
		return fmt.Errorf("data-dir %s is not empty: give a new or an empty directory, since each run begins at genesis",
			cfg.DataDir)
	}
	return nil
}

// factQueue is how many facts wait while the display is busy. If the queue is full, the display
// misses facts, which the page counts; the summary does not, because it is read from the chain.
const factQueue = 4096

// open makes the parts that do not need the clock to run.
func (l *lab) open() (err error) {
	if err := l.listenAll(); err != nil {
		return err
	}
	if err = l.openNetwork(); err != nil {
		return err
	}
	l.validator = l.network.Validator()
	if l.cfg.Web {
		l.page, err = l.openPage()
	}
	return err
}

// host is the address at which everything listens.
const host = "127.0.0.1"

// listenAll opens all ports.
func (l *lab) listenAll() error {
	for _, part := range []struct {
		port int
		flag string
		url  *string
	}{
		{l.cfg.BeaconPort, "beacon-port", &l.beaconURL},
		{l.cfg.RelayPort, "relay-port", &l.relayURL},
		{l.cfg.BundlePort, "bundle-port", &l.bundleURL},
		{l.cfg.StreamPort, "stream-port", &l.streamURL},
		{l.cfg.ValidationPort, "validation-port", &l.validationURL},
	} {
		url, err := l.listen(part.port, part.flag)
		if err != nil {
			return err
		}
		*part.url = url
	}
	for i := range l.cfg.Builders {
		if _, err := l.listen(0, network.BuilderName(i)); err != nil {
			return err
		}
	}
	return nil
}

// listen opens a port and returns its URL.
func (l *lab) listen(port int, flag string) (string, error) {
	listener, err := serve.Listen(net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	l.listeners = append(l.listeners, listener)
	return "http://" + listener.Addr().String(), nil
}

// builderListener returns the listener at which a builder takes orders.
func (l *lab) builderListener(i int) net.Listener { return l.listeners[5+i] }

func (l *lab) run(ctx context.Context) (display.Summary, error) {
	running, stop := context.WithCancel(ctx)
	defer stop()
	group, running := errgroup.WithContext(running)

	group.Go(func() error {
		return serve.Serve(running, l.listeners[0], l.network.Beacon.Handler(), serve.Options{Log: l.log})
	})
	group.Go(func() error {
		return serve.Serve(running, l.listeners[4], network.ValidationHandler(l.validator), serve.Options{Log: l.log})
	})
	if err := l.openRelay(running); err != nil {
		return display.Summary{}, errors.Join(err, l.stopped(stop, group))
	}
	group.Go(func() error { return l.relay.Serve(running, l.listeners[1]) })
	if err := l.startOrderFlow(running, group); err != nil {
		return display.Summary{}, errors.Join(err, l.stopped(stop, group))
	}
	if err := l.startSidecar(running, group); err != nil {
		return display.Summary{}, errors.Join(err, l.stopped(stop, group))
	}
	l.out.Start(l.describe())
	l.network.Clock.Start()
	group.Go(func() error { return l.network.RunClock(running) })
	group.Go(func() error { return l.network.Beacon.Run(running) })
	agents, err := l.agents(running)
	if err != nil {
		return display.Summary{}, errors.Join(err, l.stopped(stop, group))
	}
	for _, one := range agents {
		group.Go(func() error { return one(running) })
	}
	sum := l.watch(running)
	err = l.stopped(stop, group)
	sum.Wall = time.Since(l.began)
	err = errors.Join(err, l.countReplayed(ctx, &sum))
	if l.page != nil {
		l.page.end(sum)
		l.out.Note("the page stays until Ctrl-C: " + l.page.url())
	}
	l.out.Done(sum)
	if l.page != nil && err == nil {
		<-ctx.Done()
	}
	return sum, err
}

// stopped ends all parts and returns the first failure among them; the cancelled context is not a
// failure.
func (l *lab) stopped(stop context.CancelFunc, group *errgroup.Group) error {
	stop()
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func (l *lab) close() {
	for _, listener := range l.listeners {
		_ = listener.Close() // most are closed by their server already
	}
	if l.page != nil {
		_ = l.page.listener.Close() // closed already if it was served
	}
	if l.relay != nil {
		if err := l.relay.Close(); err != nil {
			l.log.Error("close relay", "error", err)
		}
	}
	if l.stream != nil {
		if err := l.stream.Close(); err != nil {
			l.log.Error("close event stream", "error", err)
		}
	}
	if l.bundles != nil {
		if err := l.bundles.Close(); err != nil {
			l.log.Error("close bundle RPC", "error", err)
		}
	}
	if l.network != nil {
		if err := l.network.Close(); err != nil {
			l.log.Error("close network", "error", err)
		}
	}
}

// openRelay opens the relay as an operator would: it learns everything from the beacon node's URL.
func (l *lab) openRelay(ctx context.Context) (err error) {
	l.relay, err = OpenRelay(ctx, RelayConfig{
		Seed: l.cfg.Seed, DataDir: within(l.cfg.DataDir, "relay"), BeaconURL: l.beaconURL, Validator: l.validator,
		HeaderCutOff: l.network.Patience(3 * time.Second), PayloadCutOff: l.network.Patience(4 * time.Second),
		Bids: true, SharePercent: l.cfg.ValueShare, StakedBids: l.cfg.StakedBuilder,
	}, l.env("relay"))
	return err
}

// observe passes a fact to the display. If the queue is full, it drops the fact, which the page
// counts, so that the relay never waits.
func (l *lab) observe(fact relay.Fact) {
	select {
	case l.facts <- seen{fact, time.Now()}:
	default:
		l.page.miss()
	}
}

// within returns a folder in the data folder, or an empty path if there is no data folder.
func within(dir, name string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(dir, name)
}

// describe returns what the display shows of the run at its beginning.
func (l *lab) describe() display.Run {
	return display.Run{
		Slots: l.cfg.Slots, SlotDuration: l.cfg.SlotDuration, Speed: l.cfg.Speed, Validators: l.cfg.Validators,
		Builders: l.cfg.Builders, Endpoints: l.endpoints(),
	}
}

// endpoints are the addresses of the parts, the page for people first.
func (l *lab) endpoints() (all []display.Endpoint) {
	if l.page != nil {
		all = append(all, display.Endpoint{Name: "page", URL: l.page.url()})
	}
	return append(all, display.Endpoint{Name: "relay", URL: l.relayURL},
		display.Endpoint{Name: "beacon node", URL: l.beaconURL},
		display.Endpoint{Name: "execution RPC", URL: l.network.Chain.RPCURL()},
		display.Endpoint{Name: "bundle RPC", URL: l.bundleURL}, display.Endpoint{Name: "event stream", URL: l.streamURL},
		display.Endpoint{Name: "validation node", URL: l.validationURL})
}
