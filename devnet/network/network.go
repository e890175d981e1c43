// Package network opens the lab's network, without participants: a chain, a beacon node, a
// validator of builders' blocks, a clock that stands until it is started, and the keys of all who
// will take part. It does not know gavel's services, so that devnets, scenarios and the conformance
// suite can all use it.
//
//	Config ─Open─▶ Network{Spec, Clock, Keys, Chain, Beacon} ─▶ services and agents join ─Start─▶ slots pass
package network

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/devnet/beacon"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/exec"
)

const (
	// ChainID is the execution layer's; no public network has it.
	ChainID = 0x67766c // "gvl"
	// GasLimit is that of the genesis block, and the one that validators register.
	GasLimit = 60_000_000
	// PayoutGas is the gas whose cost, at the base fee, builders deduct from a refund for its
	// payout.
	PayoutGas = 30_000
)

// genesisForkVersion is part of the signatures of registrations and bids; no public network has it.
var genesisForkVersion = phase0.Version{0x01, 'g', 'v', 'l'}

// Clock is chain time, which stands at genesis until Start. A clock.Paced also needs RunClock.
type Clock interface {
	clock.Clock
	Start()
}

// Wall is the wall clock, for networks with programs that know no other clock. It needs no start,
// so genesis is in its near future.
type Wall struct{ clock.Real }

// Start implements Clock.
func (Wall) Start() {}

// wallLead is how long before a genesis on the wall clock Open is called, so that all parts can be
// opened.
const wallLead = 3 * time.Second

// Config says which network to open.
type Config struct {
	// Genesis is in whole seconds; zero means now by the clock, or with Wall in three seconds.
	Genesis time.Time
	// Clock is chain time; nil means a clock.Paced that stands at genesis and runs at most Speed
	// times as fast as wall time.
	Clock Clock
	Speed float64
	// Slot is the length of a slot in chain time.
	Slot          time.Duration
	SlotsPerEpoch int
	// Forks is the fork schedule, which begins at epoch 0; Open fills in the versions.
	Forks []eth.ForkPoint
	// Validators is how many validators propose in turn.
	Validators int
	// Seed determines all keys and the order of proposers.
	Seed uint64
	// Actors have wallets with ether at genesis. Funded are further accounts with ether.
	Actors Actors
	Funded []common.Address
	// Relays is how many relays have a staked builder from genesis on, if the network has gloas in its
	// schedule: those of RelayKey, whose index is the relay's number.
	Relays int
	// Stakes are builders that have stake of their own from genesis on, if the network has gloas in
	// its schedule. Their indices follow those of the relays, in this order.
	Stakes []Stake
	// CommitteeAbsent and BidRefused are as in beacon.Config.
	CommitteeAbsent func(slot phase0.Slot) bool
	BidRefused      func(slot phase0.Slot, url string, status int, refusal string)
	// DataDir keeps the chain on disk; empty keeps it in memory.
	DataDir string
	// RPCAddr is the host:port of the execution JSON-RPC; empty means any free port of 127.0.0.1.
	RPCAddr string
	// KeepStates keeps the state after every block; otherwise only those after the last 128 blocks.
	KeepStates bool
	// LocalTxLimit bounds the transactions of the beacon node's own blocks.
	LocalTxLimit int
	// AttestationDeadline is until when in its slot a block is in time; 0 means Patience of a third
	// of the slot.
	AttestationDeadline time.Duration
	// Execution returns the execution node that the beacon node uses in front of the chain; nil
	// means the chain itself.
	Execution func(*chain.Node) (beacon.Execution, error)
	// RefusesKnown is as in beacon.Config.
	RefusesKnown func(slot phase0.Slot) bool
	Log          *slog.Logger
}

// Network is an open network. It is safe for concurrent use.
type Network struct {
	Config
	Keys
	Spec   *eth.Spec
	Chain  *chain.Node
	Beacon *beacon.Beacon
}

// Open makes genesis and opens the chain and the beacon node. The clock stands, so that no slot
// passes while services are opened. The caller closes the network.
func Open(cfg Config) (*Network, error) {
	if cfg.Genesis.IsZero() {
		cfg.Genesis = genesis(cfg.Clock)
	}
	if cfg.Clock == nil {
		cfg.Clock = clock.NewPaced(cfg.Genesis, cfg.Speed)
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	n := &Network{Config: cfg, Keys: keysOf(cfg.Seed, cfg.Validators, cfg.Actors)}
	n.Spec = &eth.Spec{
		GenesisTime: cfg.Genesis, GenesisForkVersion: genesisForkVersion,
		GenesisValidatorsRoot: beacon.GenesisValidatorsRoot(cfg.Validators), SlotDuration: cfg.Slot,
		SlotsPerEpoch: uint64(cfg.SlotsPerEpoch), Forks: schedule(cfg.Forks),
	}
	if err := n.openChain(); err != nil {
		return nil, err
	}
	if err := n.openBeacon(); err != nil {
		_ = n.Chain.Close() // the error above is the cause
		return nil, err
	}
	return n, nil
}

// genesis is the time of genesis by a clock: the second at which the clock stands.
func genesis(by Clock) time.Time {
	switch by.(type) {
	case nil:
		return time.Now().Truncate(time.Second)
	case Wall:
		return time.Now().Truncate(time.Second).Add(wallLead)
	default:
		return by.Now().Truncate(time.Second)
	}
}

// schedule gives each fork a version that no public network has, so that a signature made here is
// worth nothing elsewhere. The first byte counts forks from phase0, as on public networks.
func schedule(forks []eth.ForkPoint) []eth.ForkPoint {
	list := make([]eth.ForkPoint, len(forks))
	for i, point := range forks {
		point.Version = phase0.Version{byte(point.Fork) + 1, 'g', 'v', 'l'}
		list[i] = point
	}
	return list
}

func (n *Network) openChain() (err error) {
	n.Chain, err = chain.Open(chain.Config{
		Spec: n.Spec, ChainID: ChainID, DataDir: n.DataDir, GasLimit: GasLimit, Funded: append(n.funded(), n.Funded...),
		Accounts: chain.Genesis(Addresses(n.Traders)), RPCAddr: cmp.Or(n.RPCAddr, "127.0.0.1:0"), KeepStates: n.KeepStates,
	})
	if err != nil {
		return fmt.Errorf("open chain: %w", err)
	}
	return nil
}

func (n *Network) openBeacon() (err error) {
	var execution beacon.Execution = n.Chain
	if n.Execution != nil {
		if execution, err = n.Execution(n.Chain); err != nil {
			return err
		}
	}
	n.Beacon, err = beacon.New(beacon.Config{
		Spec: n.Spec, Clock: n.Clock, Validators: n.Validators, Seed: n.Seed, Execution: execution,
		GenesisHash: phase0.Hash32(n.Chain.Genesis().Hash()), ChainID: ChainID,
		AttestationDeadline: cmp.Or(n.AttestationDeadline, n.Patience(n.Slot/3)), LocalTxLimit: max(n.LocalTxLimit, 1),
		RefusesKnown: n.RefusesKnown, Log: n.Log.With("part", "beacon"), Builders: n.staked(),
		CommitteeAbsent: n.CommitteeAbsent, BidRefused: n.BidRefused,
		GloasDeadline: n.gloasDeadline(), BuilderTimeout: n.builderTimeout(),
	})
	if err != nil {
		return fmt.Errorf("open beacon node: %w", err)
	}
	return nil
}

// runsAlone says whether the clock waits for the work, so that the deadlines of gloas are those of
// the specification. On a clock that does not wait they are longer, but still in order.
func (n *Network) runsAlone() bool {
	_, paced := n.Clock.(*clock.Paced)
	return paced
}

// gloasDeadline is until when in a slot of gloas a block is in time; 0 means the specification's.
func (n *Network) gloasDeadline() time.Duration {
	if n.runsAlone() {
		return 0
	}
	return max(n.Slot/4, min(n.Patience(n.Slot/4), n.Slot*45/100))
}

// builderTimeout is how long builders may take for a bid; 0 means the specification's.
func (n *Network) builderTimeout() time.Duration {
	if n.runsAlone() {
		return 0
	}
	return max(500*time.Millisecond, min(n.Patience(500*time.Millisecond), n.Slot/8))
}

// Validator returns a validator that executes builders' blocks on the network's chain.
func (n *Network) Validator() exec.Validator {
	return chain.NewValidator(n.Chain.Chain(), chain.ValidatorOptions{})
}

// RunClock moves a clock.Paced until the context ends. It is for runs whose parts are all in this
// process. For other clocks it does nothing.
func (n *Network) RunClock(ctx context.Context) error {
	if paced, ok := n.Clock.(*clock.Paced); ok {
		return paced.RunAlone(ctx)
	}
	return nil
}

// Close closes the chain.
func (n *Network) Close() error {
	if err := n.Chain.Close(); err != nil {
		return fmt.Errorf("close chain: %w", err)
	}
	return nil
}

// Patience lengthens a span of chain time to at least a second of wall time, because a wait that is
// long on a chain with 12-second slots is too short for programs on one that runs sixty times as
// fast. It lengthens no span beyond three quarters of a slot.
func (n *Network) Patience(chainTime time.Duration) time.Duration {
	const shortestWait = time.Second
	wall := time.Duration(float64(shortestWait) * n.Speed)
	return min(max(chainTime, wall), max(chainTime, n.Slot*3/4))
}
