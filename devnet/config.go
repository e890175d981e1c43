package devnet

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Config says which network to run, and for how long. In a Go literal, the zero value of a field
// means its default, if its comment names one; Validate fills it in. Errors name the flags of
// `gavel-lab devnet`, which are also the keys of its configuration file.
type Config struct {
	// Slots is how many slots to run; 0 runs until it is stopped.
	Slots int
	// SlotDuration is the length of a slot in chain time. It is whole seconds, because block
	// timestamps are. Default: 12s.
	SlotDuration time.Duration
	// Speed is how many times faster than wall time the chain clock runs: at 12, a slot of 12s
	// takes one second. Default: 12.
	Speed float64
	// Validators is the number of validators that propose. Default: 64.
	Validators int
	// Builders is the number of builders that bid. Default: 2.
	Builders int
	// StakedBuilder adds a builder that has stake of its own and signs its bids itself, from gloas on.
	StakedBuilder bool
	// TxsPerSlot is how many transactions users send in each slot. Default: 50.
	TxsPerSlot int
	// ReplayMempool is a file of the mempool whose transactions are sent in the place of TxsPerSlot;
	// empty: none.
	ReplayMempool string
	// BlobEvery n sends a blob transaction in every n-th slot; 0 sends none. Before fulu none is
	// sent, because go-ethereum's pool takes only sidecars with cell proofs.
	BlobEvery int
	// ValueShare is how many percent of each bid relays pay from their stake, from gloas on: 0 to 100.
	ValueShare int
	// CircuitBreaker is after how many slots in a row without a block proposers stop asking relays;
	// 0 means never.
	CircuitBreaker int
	// SlotsPerEpoch is the length of an epoch. Default: 8.
	SlotsPerEpoch int
	// Fork is active from genesis on. It may be left out if Forks begins at epoch 0. Default: fulu.
	Fork eth.Fork
	// Forks is the fork schedule, oldest first. After Validate it is complete: it begins with Fork
	// at epoch 0, and each entry has its version.
	Forks []eth.ForkPoint
	// OrdersPerSlot is how many private transactions users send to the bundle RPC in each slot; 0
	// sends none.
	OrdersPerSlot int
	// Searchers is the number of searchers that follow hints; it may be 0.
	Searchers int
	// RelayPort, BeaconPort, RPCPort, BundlePort, StreamPort and ValidationPort are the ports on
	// 127.0.0.1 of the relay, the beacon node, the execution JSON-RPC, the bundle JSON-RPC, the event
	// stream and the node that validates builders' blocks; 0 takes any free one.
	RelayPort      int
	BeaconPort     int
	RPCPort        int
	BundlePort     int
	StreamPort     int
	ValidationPort int
	// Web shows the run as a page for browsers, on 127.0.0.1 at WebPort; 0 takes any free port. The
	// run then stays until it is stopped, so that its page can be read.
	Web     bool
	WebPort int
	// Relays are the URLs of further relays, each with its public key as user. They can be relays
	// of any implementation: builders bid to them, and proposers ask them too. They may start and
	// stop during the run.
	Relays []string
	// DataDir keeps chain, journal and archive on disk; empty keeps them in memory.
	DataDir string
	// MevBoost is the path of a real mev-boost binary, which then runs between proposers and the
	// relay; empty uses the lab's own aggregator.
	MevBoost string
	// Seed determines keys and random choices: the same seed gives the same agents.
	Seed uint64
	// Plain prints lines even on a terminal; Verbose prints the log of all parts.
	Plain   bool
	Verbose bool
}

// Default returns the network that `gavel-lab devnet` runs without flags.
func Default() Config {
	return Config{
		Slots: 16, SlotDuration: 12 * time.Second, Speed: 12, Validators: 64, Builders: 2, TxsPerSlot: 50,
		OrdersPerSlot: 6, Searchers: 2, CircuitBreaker: MaxAllowedMissingSlots, SlotsPerEpoch: 8, Seed: 1,
	}
}

// Validate fills in defaults for zero values and then checks the result. Its error is one line that
// says what to do.
func (c *Config) Validate() error {
	d := Default()
	setIfZero(&c.SlotDuration, d.SlotDuration)
	setIfZero(&c.Speed, d.Speed)
	setIfZero(&c.Validators, d.Validators)
	setIfZero(&c.Builders, d.Builders)
	setIfZero(&c.TxsPerSlot, d.TxsPerSlot)
	setIfZero(&c.SlotsPerEpoch, d.SlotsPerEpoch)
	setIfZero(&c.Seed, d.Seed)
	return c.Check()
}

func setIfZero[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// minWallSlot is the shortest slot in wall time in which a block can still be built, sold and
// imported.
const minWallSlot = 100 * time.Millisecond

// Check is Validate without the defaults: it judges a zero like any other value. It completes
// Forks.
func (c *Config) Check() error {
	for _, r := range []struct {
		key             string
		value, min, max int
	}{
		{"slots", c.Slots, 0, 1 << 30},
		{"validators", c.Validators, 1, 65_536},
		{"builders", c.Builders, 1, 64},
		{"txs", c.TxsPerSlot, 1, 2_000},
		{"blob-every", c.BlobEvery, 0, 1 << 30},
		{"value-share", c.ValueShare, 0, 100},
		{"orders", c.OrdersPerSlot, 0, 200},
		{"searchers", c.Searchers, 0, 16},
		{"circuit-breaker", c.CircuitBreaker, 0, 1_000},
		{"slots-per-epoch", c.SlotsPerEpoch, 2, 256},
		{"relay-port", c.RelayPort, 0, 65_535},
		{"beacon-port", c.BeaconPort, 0, 65_535},
		{"rpc-port", c.RPCPort, 0, 65_535},
		{"bundle-port", c.BundlePort, 0, 65_535},
		{"stream-port", c.StreamPort, 0, 65_535},
		{"validation-port", c.ValidationPort, 0, 65_535},
		{"web-port", c.WebPort, 0, 65_535},
	} {
		if r.value < r.min || r.value > r.max {
			return fmt.Errorf("%s is %d: give a number from %d to %d", r.key, r.value, r.min, r.max)
		}
	}
	if err := c.checkPorts(); err != nil {
		return err
	}
	for _, address := range c.Relays {
		if _, _, err := ParseRelay(address); err != nil {
			return err
		}
	}
	if c.SlotDuration < time.Second || c.SlotDuration > time.Hour || c.SlotDuration%time.Second != 0 {
		return fmt.Errorf("slot is %v: give whole seconds from 1s to 1h, since block timestamps count seconds",
			c.SlotDuration)
	}
	if !(c.Speed >= 0.01 && c.Speed <= 10_000) { // also refuses NaN
		return fmt.Errorf("speed is %v: give a number from 0.01 to 10000; 1 runs like the wall clock", c.Speed)
	}
	if wall := c.WallSlot(); wall < minWallSlot {
		return fmt.Errorf("slot %v at speed %v leaves only %v a slot: give a speed of at most %v, or longer slots",
			c.SlotDuration, c.Speed, wall, float64(c.SlotDuration)/float64(minWallSlot))
	}
	if err := c.completeForks(); err != nil {
		return err
	}
	hasBids := func(point eth.ForkPoint) bool { return !point.Fork.HasBlindedBlocks() }
	if c.StakedBuilder && !slices.ContainsFunc(c.Forks, hasBids) {
		return errors.New("staked-builder bids from gloas on: give --fork gloas, or --forks with gloas in it")
	}
	return nil
}

// checkPorts refuses a port that is given to two listeners.
func (c *Config) checkPorts() error {
	ports := []struct {
		key  string
		port int
	}{
		{"relay-port", c.RelayPort}, {"beacon-port", c.BeaconPort}, {"rpc-port", c.RPCPort},
		{"bundle-port", c.BundlePort}, {"stream-port", c.StreamPort}, {"validation-port", c.ValidationPort},
		{"web-port", c.WebPort},
	}
	for i, a := range ports {
		for _, b := range ports[i+1:] {
			if a.port != 0 && a.port == b.port {
				return fmt.Errorf("%s and %s are both %d: give each its own, or 0 for any free one", a.key, b.key, a.port)
			}
		}
	}
	return nil
}

// ParseRelay splits a relay's address, written as sidecars are configured
// (http://0xpubkey@host:port), into its URL and its public key.
func ParseRelay(address string) (base string, key phase0.BLSPubKey, err error) {
	scheme, rest, _ := strings.Cut(address, "://")
	user, host, found := strings.Cut(rest, "@")
	if !found || host == "" || scheme != "http" && scheme != "https" {
		return "", key, fmt.Errorf("relays has %q: give http://0xpubkey@host:port", address)
	}
	if err := eth.ParseHex(user, key[:]); err != nil {
		return "", key, fmt.Errorf("relays has %q, whose key is none: %w", address, err)
	}
	return scheme + "://" + host, key, nil
}

// WallSlot returns how long a slot takes in wall time.
func (c *Config) WallSlot() time.Duration {
	return time.Duration(float64(c.SlotDuration) / c.Speed)
}

// completeForks makes Fork and Forks agree: it puts the fork at genesis in front, and fills in the
// versions.
func (c *Config) completeForks() error {
	switch {
	case len(c.Forks) > 0 && c.Forks[0].Epoch == 0:
		if c.Fork != 0 && c.Fork != c.Forks[0].Fork {
			return fmt.Errorf("fork is %s, but forks begins with %s@0: leave one of them out", c.Fork, c.Forks[0].Fork)
		}
		c.Fork = c.Forks[0].Fork
	case c.Fork == 0 && len(c.Forks) > 0:
		return fmt.Errorf("forks begins at epoch %d: name the fork at genesis too, as in fork %s, or %s@0 in front",
			c.Forks[0].Epoch, eth.Bellatrix, eth.Bellatrix)
	default:
		setIfZero(&c.Fork, eth.Fulu)
		c.Forks = append([]eth.ForkPoint{{Fork: c.Fork}}, c.Forks...)
	}
	schedule := make([]eth.ForkPoint, len(c.Forks)) // the caller's slice stays as it was
	for i, point := range c.Forks {
		if !point.Fork.Known() {
			return fmt.Errorf("fork %s is unknown: give one of %s", point.Fork, ForkNames())
		}
		if i > 0 && (c.Forks[i-1].Fork.Includes(point.Fork) || point.Epoch <= c.Forks[i-1].Epoch) {
			return fmt.Errorf("forks has %s@%d after %s@%d: give later forks at later epochs",
				point.Fork, point.Epoch, c.Forks[i-1].Fork, c.Forks[i-1].Epoch)
		}
		point.Version = forkVersion(point.Fork)
		schedule[i] = point
	}
	c.Forks = schedule
	return nil
}

// forkVersion returns the devnet's version of a fork. No public network uses these versions, so a
// signature made here is worth nothing elsewhere.
func forkVersion(fork eth.Fork) phase0.Version {
	return phase0.Version{byte(fork) + 1, 'g', 'v', 'l'} // the first byte counts forks from phase0, as on public networks
}

// ParseForks reads a fork schedule, for example "electra@0,fulu@2": fork @ epoch, oldest first.
// Empty text gives no schedule.
func ParseForks(text string) ([]eth.ForkPoint, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var points []eth.ForkPoint
	for entry := range strings.SplitSeq(text, ",") {
		name, epochText, found := strings.Cut(strings.TrimSpace(entry), "@")
		if !found {
			return nil, fmt.Errorf("forks has %q: give fork@epoch, as in electra@0,fulu@2", entry)
		}
		fork, err := ParseFork(name)
		if err != nil {
			return nil, fmt.Errorf("forks: %w", err)
		}
		epoch, err := strconv.ParseUint(epochText, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("forks has epoch %q: give fork@epoch, as in electra@0,fulu@2", epochText)
		}
		points = append(points, eth.ForkPoint{Fork: fork, Epoch: phase0.Epoch(epoch)})
	}
	return points, nil
}

// ParseFork reads the name of a fork. Its error lists the names that exist.
func ParseFork(name string) (eth.Fork, error) {
	if name == "" {
		return 0, errors.New("fork is empty: give one of " + ForkNames())
	}
	fork, err := eth.ParseFork(name)
	if err != nil {
		return 0, fmt.Errorf("fork %q is unknown: give one of %s", name, ForkNames())
	}
	return fork, nil
}

// ForkNames lists the forks that a devnet can run, as flags and errors show them.
func ForkNames() string {
	var names []string
	for _, fork := range eth.KnownForks() {
		names = append(names, fork.String())
	}
	return strings.Join(names, ", ")
}
