package world

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	blst "github.com/supranational/blst/bindings/go"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/serve"
)

// Config says what world to make.
type Config struct {
	// Slot is the duration of a slot, in whole seconds; by default 2 s.
	Slot time.Duration
	// Fork is the fork of all slots, one for which Has is true; by default fulu.
	Fork eth.Fork
	// Next is the fork that all slots have from the first of NextEpoch on; 0 if there is none. It is
	// later than Fork.
	Next      eth.Fork
	NextEpoch phase0.Epoch
	// SlotsPerEpoch is from 2 to 256; by default 8, with which a world gets through its epochs
	// quickly. Public networks have 32.
	SlotsPerEpoch int
	// Validators is from 4 to 512; by default UsualValidators. Each proposes once in as many slots, so
	// specs that wait for a certain one wait longer if there are more.
	Validators int
	// Host is the address of this machine at which everything listens that has no address below; by
	// default 127.0.0.1.
	Host string
	// Addresses to listen at. An empty one is any free port of Host.
	Listen, BeaconListen, ValidationListen, BuilderListen, ExecutionListen string
	// Accounts is how many accounts can be given to specs, by default 8,192. To make them takes a
	// second or two.
	Accounts int
	// BlobsLater prepares blobs only when a block with blobs is ordered. The preparation takes
	// seconds of processor time; runs that never order such a block save it.
	BlobsLater bool
	// Clock is the world's time, which shows whole seconds until Start; by default the wall clock. A
	// clock.Paced stands while this process has work to do, so everybody who waits for the world must
	// be in this process and use that clock.
	Clock network.Clock
	Log   *slog.Logger
}

// UsualSlot is how long a slot of the world lasts unless Config says otherwise.
const UsualSlot = 2 * time.Second

// Check fills in defaults and returns an error if a value makes no sense.
func (c *Config) Check() error {
	if c.Slot == 0 {
		c.Slot = UsualSlot
	}
	if c.Fork == 0 {
		c.Fork = eth.Fulu
	}
	if c.SlotsPerEpoch == 0 {
		c.SlotsPerEpoch = 8
	}
	if c.Validators == 0 {
		c.Validators = UsualValidators
	}
	if c.Accounts == 0 {
		c.Accounts = usualAccounts
	}
	if c.Host == "" {
		c.Host = "127.0.0.1"
	}
	if c.Clock == nil {
		c.Clock = network.Wall{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	for _, fork := range []eth.Fork{c.Fork, c.last()} {
		if !Has(fork) {
			return fmt.Errorf("fork %s: the suite builds no blocks of it", fork)
		}
	}
	if c.Next != 0 && (c.Next == c.Fork || !c.Next.Includes(c.Fork) || c.NextEpoch == 0) {
		return fmt.Errorf("fork %s from epoch %d on: give a later fork than %s, and an epoch above 0", c.Next, c.NextEpoch,
			c.Fork)
	}
	if c.SlotsPerEpoch < 2 || c.SlotsPerEpoch > 256 {
		return fmt.Errorf("%d slots per epoch: give a number from 2 to 256", c.SlotsPerEpoch)
	}
	if c.Validators < 4 || c.Validators > 512 {
		return fmt.Errorf("%d validators: give a number from 4 to 512", c.Validators)
	}
	if c.Slot < time.Second || c.Slot%time.Second != 0 {
		return fmt.Errorf("slots of %v: give whole seconds", c.Slot)
	}
	return nil
}

// Has says whether there can be a world of a fork. Of gloas the suite has forms of its own, which
// are not those of package probe.
func Has(fork eth.Fork) bool { return probe.Has(fork) || fork.Known() && !fork.HasBlindedBlocks() }

// forks returns the schedule of the world.
func (c *Config) forks() []eth.ForkPoint {
	list := []eth.ForkPoint{{Fork: c.Fork}}
	if c.Next != 0 {
		list = append(list, eth.ForkPoint{Fork: c.Next, Epoch: c.NextEpoch})
	}
	return list
}

// last returns the last fork of the schedule.
func (c *Config) last() eth.Fork { return cmp.Or(c.Next, c.Fork) }

// HasGloas says whether the world will have slots of gloas.
func (c *Config) HasGloas() bool { return c.last() != 0 && !c.last().HasBlindedBlocks() }

// UsualValidators is how many validators there are by default. Each proposes once in as many slots,
// in random order. So one slot of eight is the Restless validator's, and one is the Stranger's.
const UsualValidators = 8

const (
	// usualAccounts is how many accounts can be given to specs. They are the network's users; one more
	// user sends blobs.
	usualAccounts = 8192
	// seed determines all keys and the order of proposers.
	seed = 1
)

// World is a running world. It is safe for concurrent use.
type World struct {
	Facts Facts
	// URL is the address at which the suite controls the world.
	URL string

	cfg       Config
	network   *network.Network
	keys      []*probe.BLSKey // of the validators
	builders  *builders
	listeners [5]net.Listener
	followers followers
	client    *probe.Client

	mu       sync.Mutex
	newest   *Slot // the newest slot for which a block can be built
	news     chan struct{}
	given    phase0.Slot // the newest slot that was given to a spec
	sharer   string      // the process whose specs share that slot; empty if one spec has it alone
	bids     uint64      // how often that slot was given
	reserved map[phase0.Slot]bool
	refused  slotCounts // slots whose blocks the beacon node refuses, and how often it did
	others   slotCounts // slots whose blocks another relay seems to publish first, and how often it did
	account  int
	data     dataOf
	// Of gloas only: envelopes by slot, how many of a slot are still refused, how many specs wait for
	// a slot on an empty parent, and the payloads that were withheld for them by their block.
	envelopes   map[phase0.Slot][]Envelope
	faulty      map[phase0.Slot]int
	emptyWanted int
	withheld    map[phase0.Root]phase0.Hash32
}

// New opens a world. It stands still until Run.
func New(cfg Config) (w *World, err error) {
	if err := cfg.Check(); err != nil {
		return nil, err
	}
	w = &World{
		cfg: cfg, news: make(chan struct{}), reserved: map[phase0.Slot]bool{}, refused: slotCounts{},
		others: slotCounts{}, envelopes: map[phase0.Slot][]Envelope{}, faulty: map[phase0.Slot]int{},
		withheld: map[phase0.Root]phase0.Hash32{},
	}
	opened := w
	defer func() {
		if err != nil {
			w, err = nil, errors.Join(err, opened.Close())
		}
	}()
	for i, address := range []string{cfg.Listen, cfg.BeaconListen, cfg.ValidationListen, cfg.BuilderListen,
		cfg.ExecutionListen} {
		if address == "" {
			address = net.JoinHostPort(cfg.Host, "0")
		}
		if w.listeners[i], err = serve.Listen(address); err != nil {
			return nil, err
		}
	}
	return w, w.open()
}

// open opens the network, whose genesis is a moment in the future, and the listeners.
func (w *World) open() (err error) {
	if w.cfg.last().HasBlobs() && !w.cfg.BlobsLater {
		chain.Sidecar(w.cfg.last(), 0) // the first call takes seconds; do it before specs wait for it
	}
	w.network, err = network.Open(network.Config{
		Clock: w.cfg.Clock, Slot: w.cfg.Slot, SlotsPerEpoch: w.cfg.SlotsPerEpoch,
		Forks: w.cfg.forks(), Validators: w.cfg.Validators, Seed: seed,
		Actors:     network.Actors{Users: w.cfg.Accounts + 1, Builders: 1},
		RPCAddr:    "127.0.0.1:0", // behind the listener that counts who asks
		KeepStates: true,          // a spec may need the state of an early block, however late it runs
		Relays:     1,             // from gloas on a relay bids as its staked builder
		// A spec may publish its block late in the slot. The chain must still build on that block.
		AttestationDeadline: w.cfg.Slot * 3 / 4,
		LocalTxLimit:        1000,
		Execution:           w.openBuilders,
		RefusesKnown:        w.overtakes,
		Log:                 w.cfg.Log,
	})
	if err != nil {
		return fmt.Errorf("open network: %w", err)
	}
	var secrets []string
	for i := range uint64(w.cfg.Validators) {
		secret := derivedSecret("validator", i)
		key, err := probe.ParseBLSKey(secret)
		if err != nil {
			return fmt.Errorf("key of validator %d: %w", i, err)
		}
		w.keys, secrets = append(w.keys, key), append(secrets, fmt.Sprintf("%#x", secret))
	}
	address := func(i int) string { return "http://" + reachableAddress(w.listeners[i].Addr().String()) }
	w.URL = address(0)
	spec := w.network.Spec
	w.Facts = Facts{
		GenesisTime: spec.GenesisTime.Unix(), GenesisForkVersion: fmt.Sprintf("%#x", spec.GenesisForkVersion[:]),
		GenesisValidatorsRoot: fmt.Sprintf("%#x", spec.GenesisValidatorsRoot[:]), SlotMs: w.cfg.Slot.Milliseconds(),
		SlotsPerEpoch: uint64(w.cfg.SlotsPerEpoch), Fork: w.cfg.Fork.String(),
		ForkVersion: fmt.Sprintf("%#x", spec.Forks[0].Version[:]), ChainID: network.ChainID, BeaconURL: address(1),
		ExecutionURL: address(4), ValidationURL: address(2), ValidatorKeys: secrets,
	}
	if w.cfg.Next != 0 {
		w.Facts.NextFork, w.Facts.NextForkVersion = w.cfg.Next.String(), fmt.Sprintf("%#x", spec.Forks[1].Version[:])
		w.Facts.NextForkSlot = spec.FirstSlot(w.cfg.NextEpoch)
	}
	if w.cfg.HasGloas() {
		w.Facts.Staked = &Staked{SecretKey: fmt.Sprintf("%#x", derivedSecret("relay", seed))}
	}
	for _, name := range BuilderNames {
		w.Facts.Builders = append(w.Facts.Builders, Builder{Name: name, URL: address(3) + "/" + name})
	}
	w.client = probe.NewClient(w.Facts.BeaconURL, nil, 10*time.Second).By(w.cfg.Clock)
	return nil
}

// reachableAddress returns the address by which this machine reaches a listener. One that listens
// at all addresses is reached at the loopback address.
func reachableAddress(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && ip != nil && ip.IsUnspecified() {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

// derivedSecret returns the secret key of a validator, or of a relay's staked builder. It derives
// the key as the network does.
func derivedSecret(family string, i uint64) []byte {
	material := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("gavel devnet key: "+family+" "), i))
	return blst.KeyGen(material[:]).Serialize()
}

// StrangerKey returns the public key of the validator that never registers in a world with the
// usual number of them.
func StrangerKey() phase0.BLSPubKey {
	key, err := probe.ParseBLSKey(derivedSecret("validator", UsualValidators-1))
	if err != nil {
		panic(fmt.Sprintf("a key that was made is none: %v", err))
	}
	return key.Public
}

// Spec returns the chain's parameters, such as the times of slots.
func (w *World) Spec() *eth.Spec { return w.network.Spec }

// Start lets the world's clock run, if it stands.
func (w *World) Start() { w.cfg.Clock.Start() }

// Clock returns the world's clock.
func (w *World) Clock() clock.Clock { return w.cfg.Clock }

// Chain returns the execution node, for a service in this process.
func (w *World) Chain() *chain.Node { return w.network.Chain }

// Validator returns a validator that executes blocks on the world's chain, for a relay in this
// process.
func (w *World) Validator() exec.Validator { return w.network.Validator() }

// Run runs the world until the context ends, and then returns nil.
func (w *World) Run(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	options := serve.Options{Log: w.cfg.Log}
	group.Go(func() error { return serve.Serve(ctx, w.listeners[0], w.Handler(), options) })
	group.Go(func() error {
		return serve.Serve(ctx, w.listeners[1], w.followers.ofBeacon.countRequests(w.guarded(w.network.Beacon.Handler())),
			options)
	})
	group.Go(func() error {
		return serve.Serve(ctx, w.listeners[4], w.followers.ofExecution.countRequests(w.execution()), options)
	})
	group.Go(func() error {
		return serve.Serve(ctx, w.listeners[2], network.ValidationHandler(w.Validator()), options)
	})
	group.Go(func() error { return serve.Serve(ctx, w.listeners[3], w.builders.Handler(), options) })
	group.Go(func() error { return w.network.Beacon.Run(ctx) })
	group.Go(func() error { return w.network.RunClock(ctx) })
	group.Go(func() error { return w.keep(ctx) })
	group.Go(func() error { return w.prefer(ctx) })
	group.Go(func() error { return w.follow(ctx) })
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// Close closes the chain and the listeners that Run has not closed. It is called after Run has
// returned, or without Run.
func (w *World) Close() (err error) {
	for _, listener := range w.listeners {
		if listener != nil {
			_ = listener.Close() // its server may have closed it already
		}
	}
	if w.network != nil {
		err = w.network.Close()
	}
	return err
}

// follow learns from the beacon node's events which slot can be built for, as any builder does.
func (w *World) follow(ctx context.Context) error {
	stream, err := w.client.Open(ctx, "/eth/v1/events?topics=payload_attributes", nil)
	if err != nil {
		return fmt.Errorf("follow the beacon node: %w", err)
	}
	defer stream.Close()
	for ctx.Err() == nil {
		seen := 0
		stream.Wait(w.cfg.Slot*1000, func(event string) bool {
			if seen++; ctx.Err() == nil {
				w.learn(event)
			}
			return ctx.Err() != nil
		})
	}
	return nil
}

// learn takes the newest slot from an event with payload attributes, and wakes the specs that wait
// for a slot.
func (w *World) learn(event string) {
	var a struct {
		Data struct {
			Slot       phase0.Slot           `json:"proposal_slot"`
			Proposer   phase0.ValidatorIndex `json:"proposer_index"`
			ParentHash phase0.Hash32         `json:"parent_block_hash"`
			ParentRoot phase0.Root           `json:"parent_block_root"`
			Attributes struct {
				Timestamp   uint64                `json:"timestamp,string"`
				PrevRandao  phase0.Hash32         `json:"prev_randao"`
				Withdrawals []*capella.Withdrawal `json:"withdrawals"`
			} `json:"payload_attributes"`
		} `json:"data"`
	}
	if err := json.Unmarshal([]byte(event), &a); err != nil {
		w.cfg.Log.Error("read payload attributes", "error", err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.newest != nil && w.newest.Slot > a.Data.Slot {
		return
	}
	hash, empty := w.withheld[a.Data.ParentRoot]
	w.newest = &Slot{
		Empty: empty, Withheld: hash,
		Slot: a.Data.Slot, ParentHash: a.Data.ParentHash, ParentRoot: a.Data.ParentRoot,
		PrevRandao:  a.Data.Attributes.PrevRandao,
		Withdrawals: a.Data.Attributes.Withdrawals, ValidatorIndex: a.Data.Proposer, Timestamp: a.Data.Attributes.Timestamp,
	}
	close(w.news)
	w.news = make(chan struct{})
}
