package app

import (
	"context"
	"crypto/ecdsa"
	"fmt"
	"hash/fnv"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rpc"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/agent/builder"
	"github.com/gavel-relay/gavel/devnet/agent/proposer"
	"github.com/gavel-relay/gavel/devnet/agent/searcher"
	"github.com/gavel-relay/gavel/devnet/agent/user"

	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay/client"
	streamclient "github.com/gavel-relay/gavel/stream/client"
)

// Runner runs an agent until its context ends, and then returns nil.
type Runner func(context.Context) error

// Idle is an agent that does nothing.
func Idle(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Relay is a relay as agents know it.
type Relay struct {
	Name, URL string
	// Pubkey is the key that must have signed its bids; a zero key accepts any.
	Pubkey phase0.BLSPubKey
}

// Cast makes the agents of a network. It gives them addresses and keys only, and nothing of what
// runs behind the addresses.
type Cast struct {
	Network *network.Network
	// BeaconURL, Relays, RPCURL and StreamURL are the services that agents use. Without an RPCURL
	// there can be no Trader, Private, Searcher, Listener and Payer.
	BeaconURL, RPCURL, StreamURL string
	Relays                       []Relay
	// TxsPerSlot is how many transactions users send in a slot. BlobEvery n sends a blob in every
	// n-th slot; 0 sends none.
	TxsPerSlot, BlobEvery int
	// Link returns the URL by which from reaches to, whose own URL is given. nil means the own URL.
	Link func(from, to, url string) (string, error)
	// ClockOf returns an agent's clock. nil means the network's.
	ClockOf func(name string) clock.Clock
	// Tell receives agents' events. It must be safe for concurrent use; it may be nil.
	Tell func(devnet.Event)
	Log  *slog.Logger
}

// link returns the URL by which from reaches to.
func (c *Cast) link(from, to, url string) (string, error) {
	if c.Link == nil {
		return url, nil
	}
	return c.Link(from, to, url)
}

func (c *Cast) clockOf(name string) clock.Clock {
	if c.ClockOf == nil {
		return c.Network.Clock
	}
	return c.ClockOf(name)
}

func (c *Cast) tell(e devnet.Event) {
	if c.Tell != nil {
		c.Tell(e)
	}
}

// signed returns a client of the bundle RPC for an agent, whose requests are signed with a key.
func (c *Cast) signed(ctx context.Context, name string, key *ecdsa.PrivateKey) (*rpc.Client, error) {
	url, err := c.link(name, devnet.RPCName, c.RPCURL)
	if err != nil {
		return nil, err
	}
	return Dial(ctx, url, key)
}

// relay returns a client of a relay for an agent.
func (c *Cast) relay(from string, to Relay, transport http.RoundTripper) (*client.Client, error) {
	url, err := c.link(from, to.Name, to.URL)
	if err != nil {
		return nil, err
	}
	options := client.Options{}
	if transport != nil {
		options.HTTP = &http.Client{Transport: transport}
	}
	made, err := client.New(url, options)
	if err != nil {
		return nil, fmt.Errorf("connect %s with %s: %w", from, to.Name, err)
	}
	return made, nil
}

// Users returns the users that fill the transaction pool.
func (c *Cast) Users() Runner {
	n := c.Network
	return user.New(user.Config{
		Wallets: n.Users, ChainID: network.ChainID, PerSlot: c.TxsPerSlot, BlobEvery: c.BlobEvery, Spec: n.Spec,
		Clock: n.Clock, RPC: n.Chain.Attach(), Seed: n.Seed, Log: c.Log.With("part", "user"),
	}).Run
}

// BuilderRole is what a builder does.
type BuilderRole struct {
	// Strategy says how it bids; nil means the usual strategy.
	Strategy builder.Strategy
	Conduct  builder.Conduct
	// Orders is where it takes orders; with nil it takes none.
	Orders net.Listener
	// Only is the one relay to which it bids; empty means all.
	Only string
	// Listens says whether it reads streams of leading bids. If Direct is set, these connections
	// are made with it, without Link.
	Listens bool
	Direct  *http.Client
}

// Builder returns the builder number i.
func (c *Cast) Builder(i int, role BuilderRole) (Runner, error) {
	cfg, err := c.builder(i, role)
	if err != nil {
		return nil, err
	}
	return builder.New(cfg).Run, nil
}

// seedOf returns a seed for the choices of an agent: no other agent of the network has it, nor has
// the same agent of a network with another seed.
func (c *Cast) seedOf(name string) uint64 {
	hash := fnv.New64a()
	fmt.Fprintf(hash, "%d %s", c.Network.Seed, name)
	return hash.Sum64()
}

func (c *Cast) builder(i int, role BuilderRole) (cfg builder.Config, err error) {
	n, name := c.Network, network.BuilderName(i)
	beaconURL, err := c.link(name, devnet.BeaconName, c.BeaconURL)
	if err != nil {
		return cfg, err
	}
	cfg = builder.Config{
		Name: name, Key: n.BuilderKey(i), Wallet: n.Builders[i], Node: n.Chain,
		Signer: types.LatestSigner(n.Chain.Chain().Config()), Orders: role.Orders, Spec: n.Spec, Clock: c.clockOf(name),
		BeaconURL: beaconURL, Strategy: role.Strategy, Conduct: role.Conduct, TxLimit: max(1, c.TxsPerSlot*3/2),
		Seed: c.seedOf(name), Tell: c.tell, Log: c.Log.With("part", name),
	}
	if index, staked := n.StakedIndex(i); staked {
		cfg.Stake, cfg.Exit = &index, c.exit(i)
	}
	for _, one := range c.Relays {
		if role.Only != "" && role.Only != one.Name {
			continue
		}
		relay := builder.Relay{Name: one.Name}
		if relay.Client, err = c.relay(name, one, nil); err != nil {
			return cfg, err
		}
		if role.Listens {
			relay.TopBids = relay.Client
		}
		if role.Direct != nil {
			if relay.TopBids, err = client.New(one.URL, client.Options{HTTP: role.Direct}); err != nil {
				return cfg, fmt.Errorf("connect %s with %s: %w", name, one.Name, err)
			}
		}
		cfg.Relays = append(cfg.Relays, relay)
	}
	return cfg, nil
}

// ProposerRole is what the validators do.
type ProposerRole struct {
	// Remote is a sidecar at a URL, which replaces the lab's own; may be nil.
	Remote *client.Client
	// Conduct is what the lab's own sidecar does in each slot; nil means honest. Storm is how many
	// more times it sends registrations. V1 makes it use the endpoint that answers with the
	// payload.
	Conduct func(phase0.Slot) proposer.Conduct
	Storm   int
	V1      bool
	// HeaderTimeout and SubmitTimeout are as in proposer.Config.
	HeaderTimeout, SubmitTimeout time.Duration
	Breaker                      devnet.BreakerLimits
	BreakerOpened                func(phase0.Slot)
}

// Proposers returns all validators behind one sidecar.
func (c *Cast) Proposers(role ProposerRole) (*proposer.Proposer, error) {
	n := c.Network
	beaconURL, err := c.link(devnet.ProposersName, devnet.BeaconName, c.BeaconURL)
	if err != nil {
		return nil, err
	}
	keys := make(map[phase0.ValidatorIndex]*bls.SecretKey, n.Validators)
	for i := range phase0.ValidatorIndex(n.Validators) {
		keys[i] = n.Beacon.ValidatorKey(i)
	}
	sidecar, err := c.sidecar(role, keys)
	if err != nil {
		return nil, err
	}
	asked := proposer.Gloas{Conduct: role.Conduct, Tell: c.tell}
	for _, one := range c.Relays {
		url, err := c.link(devnet.ProposersName, one.Name, one.URL)
		if err != nil {
			return nil, err
		}
		asked.Builders = append(asked.Builders, proposer.BuilderAddress{Name: one.Name, URL: url, Pubkey: one.Pubkey})
	}
	return proposer.New(proposer.Config{
		Keys: keys, FeeRecipient: n.Payee, GasLimit: network.GasLimit, Spec: n.Spec,
		Clock: c.clockOf(devnet.ProposersName), BeaconURL: beaconURL, Sidecar: sidecar,
		// A local block earns as much as a builder's, because both use the same pool. Without this
		// preference there would be nothing to auction.
		BuilderBoostFactor: proposer.PreferBuilder, HeaderTimeout: role.HeaderTimeout, SubmitTimeout: role.SubmitTimeout,
		Breaker: role.Breaker, BreakerOpened: role.BreakerOpened, Gloas: asked,
		Log: c.Log.With("part", devnet.ProposersName),
	}), nil
}

// sidecar returns the remote sidecar, or the lab's own. With a Conduct the lab's own misbehaves as
// that says.
func (c *Cast) sidecar(role ProposerRole, keys map[phase0.ValidatorIndex]*bls.SecretKey) (proposer.Sidecar, error) {
	if role.Remote != nil {
		return &proposer.Remote{Client: role.Remote, Spec: c.Network.Spec}, nil
	}
	log := c.Log.With("part", "sidecar")
	honest := &proposer.Aggregator{Spec: c.Network.Spec, V1: role.V1, Log: log}
	for _, one := range c.Relays {
		made, err := c.relay(devnet.ProposersName, one, &proposer.Witness{
			RoundTripper: &http.Transport{MaxIdleConnsPerHost: 16}, Name: devnet.ProposersName, Relay: one.Name, Tell: c.tell,
			Clock: c.clockOf(devnet.ProposersName),
		})
		if err != nil {
			return nil, err
		}
		honest.Relays = append(honest.Relays, proposer.Relay{Client: made, Pubkey: one.Pubkey})
	}
	if role.Conduct == nil {
		return honest, nil
	}
	return &proposer.Games{
		Honest: honest, Strategy: role.Conduct, Storm: role.Storm, Spec: c.Network.Spec,
		Clock: c.clockOf(devnet.ProposersName), Keys: keys, Log: log,
	}, nil
}

// cancelEvery says that one in so many private transactions is cancelled.
const cancelEvery = 7

// Private returns users that send perSlot private transactions in each slot.
func (c *Cast) Private(ctx context.Context, perSlot int) (Runner, error) {
	n := c.Network
	orderFlow, err := c.signed(ctx, "users", network.Wallet(n.Seed, "user signer", 0))
	if err != nil {
		return nil, err
	}
	var names []string
	for i := range n.Builders {
		names = append(names, network.BuilderName(i))
	}
	return user.NewPrivate(user.PrivateConfig{
		Wallets: n.Traders, ChainID: network.ChainID, PerSlot: perSlot, CancelEvery: cancelEvery, Builders: names,
		Spec: n.Spec, Clock: n.Clock, Node: n.Chain.Attach(), OrderFlow: orderFlow, Seed: n.Seed,
		Log: c.Log.With("part", "user"),
	}).Run, nil
}

// Trader returns an agent with one wallet, which signs its requests too.
func (c *Cast) Trader(ctx context.Context, name string, wallet *ecdsa.PrivateKey,
	strategy user.Strategy) (Runner, error) {
	n := c.Network
	orderFlow, err := c.signed(ctx, name, wallet)
	if err != nil {
		return nil, err
	}
	return user.NewTrader(user.TraderConfig{
		Name: name, Wallet: wallet, ChainID: network.ChainID, Spec: n.Spec, Clock: c.clockOf(name), Node: n.Chain.Attach(),
		OrderFlow: orderFlow, Friend: n.Friend, Strategy: strategy, Log: c.Log.With("part", name),
	}).Run, nil
}

// comeBack bounds how long a searcher waits before it connects again to a stream that ended, in
// wall time.
const comeBack = 250 * time.Millisecond

// Searcher returns the searcher number i, which answers hints with backruns. Its first wallet signs
// its requests.
func (c *Cast) Searcher(ctx context.Context, i int) (Runner, error) {
	n, name := c.Network, network.SearcherName(i)
	orderFlow, err := c.signed(ctx, name, n.Searchers[i][0])
	if err != nil {
		return nil, err
	}
	url, err := c.link(name, devnet.StreamName, c.StreamURL)
	if err != nil {
		return nil, err
	}
	hints, err := streamclient.New(url, streamclient.Options{MaxWait: comeBack})
	if err != nil {
		return nil, err
	}
	return searcher.New(searcher.Config{
		Name: name, Wallets: n.Searchers[i], ChainID: network.ChainID, Node: n.Chain.Attach(), OrderFlow: orderFlow,
		Hints: hints, Spec: n.Spec, Clock: c.clockOf(name), Log: c.Log.With("part", name),
	}).Run, nil
}

// Listener returns a searcher that only listens. After the first hint it stops reading for the time
// stall. If direct is set, its connections are made with it, without Link.
func (c *Cast) Listener(name string, direct *http.Client, stall time.Duration) (Runner, error) {
	cfg := searcher.ListenerConfig{
		Name: name, Service: devnet.StreamName, URL: c.StreamURL, HTTP: direct, Stall: stall, Clock: c.clockOf(name),
		Tell: c.tell, Log: c.Log.With("part", name),
	}
	if direct == nil {
		var err error
		if cfg.URL, err = c.link(name, devnet.StreamName, c.StreamURL); err != nil {
			return nil, err
		}
	}
	listener, err := searcher.NewListener(cfg)
	if err != nil {
		return nil, err
	}
	return listener.Run, nil
}

// Payer returns an agent that pays delayed refunds to the users' friend.
func (c *Cast) Payer(ctx context.Context) (Runner, error) {
	n, name := c.Network, devnet.PayerName
	orderFlow, err := c.signed(ctx, name, n.Payer)
	if err != nil {
		return nil, err
	}
	return user.NewPayer(user.PayerConfig{
		Name: name, Service: devnet.RPCName, Wallet: n.Payer, ChainID: network.ChainID, Spec: n.Spec, Clock: c.clockOf(name),
		Node: n.Chain.Attach(), OrderFlow: orderFlow, Recipient: n.Friend, Tell: c.tell, Log: c.Log.With("part", name),
	}).Run, nil
}
