package app_test

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/devnet/agent/builder"
	"github.com/gavel-relay/gavel/devnet/beacon"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay/app"
)

// relayUnderTest is a relay on loopback and the network around it: a chain and an emulated beacon
// node, which the relay reaches by two nodes in front that tests can make refuse, hang or lie.
// Tests speak raw HTTP with all of them, so that no mistake of a client of ours hides one of the
// relay's.
//
//	test ─── HTTP ──▶ relay ─┬─▶ front A ─┬─▶ emulated beacon node ─▶ chain
//	   │                     └─▶ front B ─┘            ▲
//	   └── attributes, local blocks ───────────────────┘
//
// The clock stands until a test moves it. There is one auction at a time: for the slot that follows
// the head.
type relayUnderTest struct {
	fork     eth.Fork
	spec     *eth.Spec
	clock    *waitingClock
	node     *chain.Node
	beacon   *beacon.Beacon
	fronts   [2]*front
	gate     *gate
	relayURL string
	// proposersURL is of the listener for proposers alone.
	proposersURL string
	// operatorsURL is the admin API of a relay in a process of its own; empty for one in this process.
	operatorsURL string
	// slot is that of the running auction and attributes what its blocks must carry.
	slot       phase0.Slot
	attributes eth.PayloadAttributes
	built      int // blocks so far, each with its own extra data
	cfg        app.Config
	app        *app.App
	stopRelay  func() error // ends the relay in good order, once
}

const (
	validatorCount = 32
	// unregisteredSlot is the slot of the one validator that does not register.
	unregisteredSlot = 7
)

var (
	relayKey    = bls.Derive("relay under test", 0)
	builderKeys = []*bls.SecretKey{bls.Derive("builder", 0), bls.Derive("builder", 1)}
	// stranger's key is nobody's.
	stranger = bls.Derive("stranger", 0)
)

// relayOptions are what differs from test to test.
type relayOptions struct {
	configure func(*app.Config)
	// slotsPerEpoch are 32 unless it says otherwise.
	slotsPerEpoch int
	// refusesKnown is as beacon.Config has it.
	refusesKnown bool
}

// waitingClock is a clock that only the test moves, and that tells who waits. A network starts it
// in vain.
type waitingClock struct {
	*clock.Stepped
	mu      sync.Mutex // guards waiting
	waiting map[time.Time]int
	begun   chan struct{} // closed and replaced when a goroutine begins to wait
}

func newWaitingClock(now time.Time) *waitingClock {
	return &waitingClock{Stepped: clock.NewStepped(now), waiting: map[time.Time]int{}, begun: make(chan struct{})}
}

func (*waitingClock) Start() {}

// Until implements clock.Clock.
func (c *waitingClock) Until(ctx context.Context, t time.Time) error {
	c.count(t, 1)
	defer c.count(t, -1)
	return c.Stepped.Until(ctx, t)
}

func (c *waitingClock) count(t time.Time, more int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting[t] += more
	close(c.begun)
	c.begun = make(chan struct{})
}

// waiters waits until a goroutine waits for t.
func (c *waitingClock) waiters(t time.Time) {
	for {
		c.mu.Lock()
		begun, waits := c.begun, c.waiting[t] > 0
		c.mu.Unlock()
		if waits {
			return
		}
		<-begun
	}
}

// newRelay opens a network in one fork, and a relay in it. The auction is for slot 1, on genesis,
// six seconds before it begins.
func newRelay(t testing.TB, fork eth.Fork, options relayOptions) *relayUnderTest {
	t.Helper()
	genesis := time.Unix(1_700_000_000, 0)
	h := &relayUnderTest{fork: fork, gate: &gate{}, slot: 1, clock: newWaitingClock(genesis.Add(6 * time.Second))}
	around, err := network.Open(network.Config{
		Genesis: genesis, Clock: h.clock, Slot: 12 * time.Second,
		SlotsPerEpoch: cmp.Or(options.slotsPerEpoch, 32), Forks: []eth.ForkPoint{{Fork: fork}},
		Validators: validatorCount, Seed: 3, Funded: spenders(),
		RefusesKnown: func(phase0.Slot) bool { return options.refusesKnown },
	})
	must(t, err)
	h.spec, h.node, h.beacon, h.gate.Validator = around.Spec, around.Chain, around.Beacon, around.Validator()

	ctx, stop := context.WithCancel(context.Background())
	group, ctx := errgroup.WithContext(ctx)
	h.stopRelay = func() error { return nil }
	t.Cleanup(func() {
		stop()
		if err := errors.Join(group.Wait(), h.stopRelay(), around.Close()); err != nil {
			t.Error(err)
		}
	})
	group.Go(func() error { return h.beacon.Run(ctx) })
	h.cfg = app.Config{
		Key: relayKey, Clock: h.clock, RevealDelay: -1, ValidationTimeout: time.Minute, PublishTimeout: time.Minute,
		Validator: h.gate, Limits: app.Limits{PerSecond: -1},
	}
	for i := range h.fronts {
		listener := listen(t)
		h.fronts[i] = &front{beacon: h.beacon.Handler(), url: "http://" + listener.Addr().String()}
		group.Go(func() error { return serve.Serve(ctx, listener, h.fronts[i], serve.Options{}) })
		h.cfg.BeaconURLs = append(h.cfg.BeaconURLs, h.fronts[i].url)
	}
	if options.configure != nil {
		options.configure(&h.cfg)
	}
	h.startRelay(t)
	h.registerAll(t)
	h.await(t)
	return h
}

// startRelay runs the relay as it is configured, at a port of its own.
func (h *relayUnderTest) startRelay(t testing.TB) {
	t.Helper()
	listener, proposers := listen(t), listen(t)
	h.relayURL, h.proposersURL = "http://"+listener.Addr().String(), "http://"+proposers.Addr().String()
	h.operatorsURL = ""
	var err error
	h.app, err = app.New(context.Background(), h.cfg)
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	running := h.app
	go func() { ended <- running.ServeBoth(ctx, listener, proposers) }()
	h.stopRelay = sync.OnceValue(func() error {
		stop()
		return errors.Join(<-ended, running.Close())
	})
}

// restart ends the relay and runs another one on what it has left.
func (h *relayUnderTest) restart(t *testing.T) {
	t.Helper()
	must(t, h.stopRelay())
	h.startRelay(t)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func listen(t testing.TB) net.Listener {
	t.Helper()
	listener, err := serve.Listen("127.0.0.1:0")
	must(t, err)
	return listener
}

// duty is the proposer of a slot.
func (h *relayUnderTest) duty(slot phase0.Slot) (phase0.ValidatorIndex, *bls.SecretKey) {
	index, _ := h.beacon.Duty(slot)
	return index, h.beacon.ValidatorKey(index)
}

// into sets the clock to a moment relative to the auction's slot.
func (h *relayUnderTest) into(offset time.Duration) {
	h.clock.Set(h.spec.SlotStart(h.slot).Add(offset))
}

// next goes on to the auction of the slot after this one, whose block has become the head.
func (h *relayUnderTest) next(t *testing.T) {
	t.Helper()
	h.slot++
	h.await(t)
}

// await waits until beacon node and relay have come to the auction's slot.
func (h *relayUnderTest) await(t testing.TB) {
	t.Helper()
	h.attributes = h.announced(t, h.slot)
	nothing := h.good(t)
	nothing.trace.Value = new(uint256.Int) // has no effect, but only once it has passed all checks before execution
	nothing.sign()
	poll(t, "the relay learns the slot's attributes", func() bool {
		return h.submit(t, nothing).status == http.StatusOK
	})
}

// poll asks until the answer is yes. It is for what happens soon but cannot be waited for.
func poll(t testing.TB, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within 30 s", what)
		case <-ticker.C:
		}
	}
}

// announced reads the beacon node's events until the attributes of a slot come.
func (h *relayUnderTest) announced(t testing.TB, slot phase0.Slot) eth.PayloadAttributes {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var found eth.PayloadAttributes
	must(t, builder.Follow(ctx, h.nodeURL(), slog.New(slog.DiscardHandler), func(a builder.Attributes) {
		if a.Slot == slot {
			found = a
			stop()
		}
	}))
	return found
}

// rootOf is for values that can be hashed.
func rootOf(value interface{ HashTreeRoot() ([32]byte, error) }) phase0.Root {
	root, err := value.HashTreeRoot()
	if err != nil {
		panic(err)
	}
	return root
}
