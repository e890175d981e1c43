package agent

import (
	"context"
	"crypto/ecdsa"
	"fmt"
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
	"github.com/gavel-relay/gavel/devnet/breaker"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay/client"
	streamclient "github.com/gavel-relay/gavel/stream/client"
)

// Runner runs an agent until its context ends, and returns nil then.
type Runner func(context.Context) error

// Idle is an agent that does nothing.
func Idle(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Relay is a relay as agents meet it.
type Relay struct {
	Name, URL string
	// Pubkey must have signed its bids; a zero key is any.
	Pubkey phase0.BLSPubKey
}

// Cast makes the agents of a network. They are given addresses and keys, nothing of what runs
// behind the addresses.
type Cast struct {
	Network *network.Network
	// BeaconURL, Relays, RPCURL and StreamURL are whom agents meet. Without a bundle RPC there are no
	// Trader, Private, Searcher, Listener and Payer.
	BeaconURL, RPCURL, StreamURL string
	Relays                       []Relay
	// TxsPerSlot is how many transactions users send in a slot; BlobEvery n sends a blob in each n-th.
	TxsPerSlot, BlobEvery int
	// Link is the URL by which one asks another whose own URL is given: that one.
	Link func(from, to, url string) (string, error)
	// ClockOf is an agent's clock: the network's.
	ClockOf func(name string) clock.Clock
	// Tell is told what agents meet; nil tells nobody. Calls may overlap.
	Tell func(devnet.Event)
	Log  *slog.Logger
}

// link is the URL by which one asks another.
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

// signed is the bundle RPC for somebody, whose requests are signed by a key.
func (c *Cast) signed(ctx context.Context, name string, key *ecdsa.PrivateKey) (*rpc.Client, error) {
	url, err := c.link(name, devnet.RPCName, c.RPCURL)
	if err != nil {
		return nil, err
	}
	return Dial(ctx, url, key)
}

// relay is a client of a relay for somebody.
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

// Users keep the transaction pool busy.
func (c *Cast) Users() Runner {
	n := c.Network
	return user.New(user.Config{
		Wallets: n.Users, ChainID: network.ChainID, PerSlot: c.TxsPerSlot, BlobEvery: c.BlobEvery, Spec: n.Spec,
		Clock: n.Clock, RPC: n.Chain.Attach(), Seed: n.Seed, Log: c.Log.With("part", "user"),
	}).Run
}

// BuilderRole is what a builder does.
type BuilderRole struct {
	// Strategy: the usual one, of a seed that no other builder has.
	Strategy builder.Strategy
	Conduct  builder.Conduct
	// Orders is where it takes orders; nil takes none.
	Orders net.Listener
	// Only is the one relay that it bids to; empty is all.
	Only string
	// Listens has it hear leading bids, on connections that Direct makes where that is set: past Link.
	Listens bool
	Direct  *http.Client
}

// Builder is the builder number i.
func (c *Cast) Builder(i int, role BuilderRole) (Runner, error) {
	n, name := c.Network, network.BuilderName(i)
	beaconURL, err := c.link(name, devnet.BeaconName, c.BeaconURL)
	if err != nil {
		return nil, err
	}
	cfg := builder.Config{
		Name: name, Key: n.BuilderKey(i), Wallet: n.Builders[i], Node: n.Chain,
		Signer: types.LatestSigner(n.Chain.Chain().Config()), Orders: role.Orders, Spec: n.Spec, Clock: c.clockOf(name),
		BeaconURL: beaconURL, Strategy: role.Strategy, Conduct: role.Conduct, TxLimit: max(1, c.TxsPerSlot*3/2),
		Tell: c.tell, Log: c.Log.With("part", name),
	}
	if role.Strategy == nil {
		cfg.Seed = n.Seed + uint64(i)*1000 + 1
	}
	for _, one := range c.Relays {
		if role.Only != "" && role.Only != one.Name {
			continue
		}
		relay := builder.Relay{Name: one.Name}
		if relay.Client, err = c.relay(name, one, nil); err != nil {
			return nil, err
		}
		if role.Listens {
			relay.TopBids = relay.Client
		}
		if role.Direct != nil {
			if relay.TopBids, err = client.New(one.URL, client.Options{HTTP: role.Direct}); err != nil {
				return nil, fmt.Errorf("connect %s with %s: %w", name, one.Name, err)
			}
		}
		cfg.Relays = append(cfg.Relays, relay)
	}
	return builder.New(cfg).Run, nil
}

// ProposerRole is what all validators do.
type ProposerRole struct {
	// Remote is a sidecar by URL in the place of the lab's own.
	Remote *client.Client
	// Conduct of the lab's own sidecar in each slot: honest. Storm is how many more times it sends
	// registrations, V1 has it ask for payloads by the endpoint that reveals them.
	Conduct func(phase0.Slot) proposer.Conduct
	Storm   int
	V1      bool
	// HeaderTimeout and SubmitTimeout are as in proposer.Config.
	HeaderTimeout, SubmitTimeout time.Duration
	Breaker                      breaker.Limits
	BreakerOpened                func(phase0.Slot)
}

// Proposers are all validators behind one sidecar.
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
	return proposer.New(proposer.Config{
		Keys: keys, FeeRecipient: n.Payee, GasLimit: network.GasLimit, Spec: n.Spec,
		Clock: c.clockOf(devnet.ProposersName), BeaconURL: beaconURL, Sidecar: sidecar,
		// The pool is everybody's, so a local block earns as much as a builder's; without a preference
		// there would be nothing to auction.
		BuilderBoostFactor: proposer.PreferBuilder, HeaderTimeout: role.HeaderTimeout, SubmitTimeout: role.SubmitTimeout,
		Breaker: role.Breaker, BreakerOpened: role.BreakerOpened, Log: c.Log.With("part", devnet.ProposersName),
	}), nil
}

// sidecar is the one by URL, or the lab's own, which plays games where the role says so.
func (c *Cast) sidecar(role ProposerRole, keys map[phase0.ValidatorIndex]*bls.SecretKey) (proposer.Sidecar, error) {
	if role.Remote != nil {
		return &proposer.Remote{Client: role.Remote, Spec: c.Network.Spec}, nil
	}
	log := c.Log.With("part", "sidecar")
	honest := &proposer.Aggregator{Spec: c.Network.Spec, V1: role.V1, Log: log}
	for _, one := range c.Relays {
		made, err := c.relay(devnet.ProposersName, one, &proposer.Witness{
			RoundTripper: &http.Transport{MaxIdleConnsPerHost: 16}, Name: devnet.ProposersName, Relay: one.Name, Tell: c.tell,
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

// cancelEvery is how often a user takes a private transaction back.
const cancelEvery = 7

// Private are users who send so many private transactions in a slot.
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

// Trader is somebody with one wallet, which signs its requests too.
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

// comeBack bounds the wait of a searcher before a stream that ended is opened again; wall time.
const comeBack = 250 * time.Millisecond

// Searcher is the searcher number i, which answers hints with backruns. Its first wallet signs its
// requests.
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

// Listener is a searcher who only listens, and after the first hint reads nothing for the time of a
// stall. Direct, if set, makes its connections past Link.
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

// Payer pays delayed refunds to the users' friend.
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
