package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/node"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
	relayapp "github.com/gavel-relay/gavel/relay/app"
	"github.com/gavel-relay/gavel/rpc"
	rpcapp "github.com/gavel-relay/gavel/rpc/app"
	"github.com/gavel-relay/gavel/rpc/send"
	"github.com/gavel-relay/gavel/stream"
	streamapp "github.com/gavel-relay/gavel/stream/app"
)

// Service is a gavel service that was opened.
type Service interface {
	// Serve serves until the context ends, and closes the listener. It returns nil after an orderly
	// stop.
	Serve(ctx context.Context, listener net.Listener) error
	Close() error
}

// Env is what a service gets from the process in which it runs.
type Env struct {
	Clock clock.Clock
	Log   *slog.Logger
	// RelayFact and RPCFact receive the facts that are written to the journals; they may be nil.
	RelayFact func(relay.Fact)
	RPCFact   func(rpc.Fact)
}

// RelayConfig is what an operator of a relay in the lab configures. It can be encoded as JSON, for
// a relay in a process of its own.
type RelayConfig struct {
	Index      int    `json:"index"`
	Seed       uint64 `json:"seed"`
	DataDir    string `json:"data_dir"`
	JournalURL string `json:"journal_url,omitempty"`
	BeaconURL  string `json:"beacon_url"`
	// ValidationURL is the node that executes blocks, unless Validator is set.
	ValidationURL string         `json:"validation_url"`
	Validator     exec.Validator `json:"-"`
	// HeaderCutOff and PayloadCutOff are how late in a slot headers and payloads are served.
	HeaderCutOff  time.Duration `json:"header_cut_off"`
	PayloadCutOff time.Duration `json:"payload_cut_off"`
	// RevealDelay is as in relayapp.Config; 0 is its default.
	RevealDelay time.Duration `json:"reveal_delay,omitempty"`
	TopBidQueue int           `json:"top_bid_queue,omitempty"`
	// Limits bound what clients can use. Without a rate, the relay takes any number of requests.
	Limits relayapp.Limits `json:"limits"`
	// Literal follows the interface description where deployed relays do something else.
	Literal bool `json:"literal,omitempty"`
	// Bids gives the relay its staked builder of the network, with which it bids from gloas on.
	Bids bool `json:"bids,omitempty"`
	// SharePercent is what that builder pays of each bid from its stake.
	SharePercent int `json:"share_percent,omitempty"`
	// StakedBids takes bids that other staked builders have signed themselves.
	StakedBids bool `json:"staked_bids,omitempty"`
	// Trusted are the builders, by name, whose bids count before they are executed.
	Trusted map[string]phase0.BLSPubKey `json:"trusted,omitempty"`
}

// validationTimeout bounds the execution of a submission by the relay's node, in wall time.
const validationTimeout = 3 * time.Second

// OpenRelay opens a relay as an operator would: it learns everything from the beacon node's URL.
func OpenRelay(ctx context.Context, c RelayConfig, env Env) (*relayapp.App, error) {
	cfg := relayapp.Config{
		BeaconURLs: []string{c.BeaconURL}, Key: network.RelayKey(c.Seed, c.Index), DataDir: c.DataDir,
		Journal: journal.Config{URL: c.JournalURL}, Clock: env.Clock, Validator: c.Validator,
		HeaderCutOff: c.HeaderCutOff, PayloadCutOff: c.PayloadCutOff, RevealDelay: c.RevealDelay,
		TopBidQueue: c.TopBidQueue, Limits: c.Limits, Literal: c.Literal, RecordRefused: env.RelayFact != nil,
		Observe: env.RelayFact, Log: env.Log,
	}
	cfg.Limits.PerSecond = cmp.Or(cfg.Limits.PerSecond, -1)
	if c.Bids {
		// Proposers address a relay by the host of its URL, and all relays of a lab have the same.
		cfg.Gloas = &relayapp.Gloas{
			Index: gloas.BuilderIndex(c.Index), Key: network.RelayKey(c.Seed, c.Index), AuthData: [][]byte{[]byte(host)},
			SharePercent: uint64(c.SharePercent), StakedBids: c.StakedBids,
		}
	}
	if c.Validator == nil {
		nodes, err := node.New(node.Config{
			URLs: []string{c.ValidationURL}, PerNode: 16, Timeout: validationTimeout * 2 / 3, Log: env.Log,
		})
		if err != nil {
			return nil, err
		}
		cfg.Validator, cfg.ValidatorLive, cfg.ValidationTimeout = nodes, nodes.Live, validationTimeout
	}
	for name, key := range c.Trusted {
		cfg.Builders = append(cfg.Builders, relay.Builder{
			Name: name, Pubkeys: []phase0.BLSPubKey{key}, Optimistic: true,
			CollateralWei: new(uint256.Int).Mul(uint256.NewInt(1000), uint256.NewInt(1e18)),
		})
	}
	return relayapp.New(ctx, cfg)
}

// RPCConfig is what an operator of a bundle RPC in the lab configures.
type RPCConfig struct {
	Index         int    `json:"index"`
	Seed          uint64 `json:"seed"`
	DataDir       string `json:"data_dir"`
	JournalURL    string `json:"journal_url,omitempty"`
	JournalListen string `json:"journal_listen,omitempty"`
	// ExecutionURL is the node whose chain the RPC reads, unless Blocks is set.
	ExecutionURL string              `json:"execution_url"`
	Blocks       *core.BlockChain    `json:"-"`
	Chain        *params.ChainConfig `json:"chain"`
	Builders     []send.Builder      `json:"builders"`
	BlockTime    time.Duration       `json:"block_time"`
	// PollEvery is how often the RPC asks the node for a new block, in wall time; 0 means the usual.
	PollEvery time.Duration    `json:"poll_every,omitempty"`
	Payers    []common.Address `json:"payers"`
	// EarliestBlock is the first block whose refunds are listed.
	EarliestBlock uint64 `json:"earliest_block,omitempty"`
	// Limits bound what clients can use. Without a rate, the RPC takes any number of requests.
	Limits rpcapp.Limits `json:"limits"`
	// Literal follows the interface description where deployed RPCs do something else.
	Literal bool `json:"literal,omitempty"`
}

// RPC is a bundle RPC with its connections to nodes.
type RPC struct {
	*rpcapp.App
	nodes *simulate.RemoteStates // nil if Blocks is set
}

// Close implements Service.
func (r *RPC) Close() error { return errors.Join(r.App.Close(), closeNodes(r.nodes)) }

// OpenRPC opens a bundle RPC, which is the only one on its journal.
func OpenRPC(ctx context.Context, c RPCConfig, env Env) (*RPC, error) {
	app, nodes, err := openRPC(ctx, c, env, rpcapp.New)
	if err != nil {
		return nil, err
	}
	return &RPC{app, nodes}, nil
}

// rpcInstance is one of several bundle RPCs on one journal, with its connections to nodes.
type rpcInstance struct {
	rpcapp.Service
	nodes *simulate.RemoteStates
}

// Close implements Service.
func (r *rpcInstance) Close() error { return errors.Join(r.Service.Close(), closeNodes(r.nodes)) }

// OpenRPCInstance opens one of several bundle RPCs on the journal of JournalURL.
func OpenRPCInstance(ctx context.Context, c RPCConfig, env Env) (Service, error) {
	service, nodes, err := openRPC(ctx, c, env, rpcapp.Open)
	if err != nil {
		return nil, err
	}
	return &rpcInstance{service, nodes}, nil
}

// openRPC opens a bundle RPC and its connections to nodes, or neither.
func openRPC[S any](ctx context.Context, c RPCConfig, env Env,
	open func(context.Context, rpcapp.Config) (S, error)) (opened S, nodes *simulate.RemoteStates, err error) {
	cfg, nodes, err := c.forRPC(env)
	if err != nil {
		return opened, nil, err
	}
	if opened, err = open(ctx, cfg); err != nil {
		return opened, nil, errors.Join(fmt.Errorf("open bundle RPC: %w", err), closeNodes(nodes))
	}
	return opened, nodes, nil
}

func closeNodes(nodes *simulate.RemoteStates) error {
	if nodes == nil {
		return nil
	}
	return nodes.Close()
}

// forRPC returns the service's own configuration, and its connections to nodes unless Blocks is
// set. The caller must close them.
func (c RPCConfig) forRPC(env Env) (cfg rpcapp.Config, nodes *simulate.RemoteStates, err error) {
	cfg = rpcapp.Config{
		ChainConfig: c.Chain, Key: network.Wallet(c.Seed, "service", c.Index), Builders: c.Builders, DataDir: c.DataDir,
		Journal: journal.Config{URL: c.JournalURL, Listen: c.JournalListen}, BlockTime: c.BlockTime,
		PayoutGas: network.PayoutGas, Payers: c.Payers, EarliestBlock: c.EarliestBlock, Clock: env.Clock,
		Observe: env.RPCFact, Limits: c.Limits, Literal: c.Literal, Log: env.Log,
	}
	cfg.Limits.PerSecond = cmp.Or(cfg.Limits.PerSecond, -1)
	cfg.Limits.SignerPerSecond = cmp.Or(cfg.Limits.SignerPerSecond, -1)
	if c.Blocks != nil {
		states := chain.NewStates(c.Blocks)
		cfg.Chain, cfg.States = states, states
		return cfg, nil, nil
	}
	if nodes, err = simulate.NewRemote(simulate.RemoteOptions{URLs: []string{c.ExecutionURL}, Config: c.Chain,
		PollEvery: c.PollEvery, Log: env.Log}); err != nil {
		return cfg, nil, err
	}
	cfg.Chain, cfg.States = nodes, nodes
	cfg.FetchAhead = func(s exec.Simulator) exec.Simulator { return simulate.Warmed{Simulator: s, States: nodes} }
	return cfg, nodes, nil
}

// RegisteredBuilder returns the registry entry of a builder. The operator's own builder gets every
// order. Other builders get only the orders whose signers allow it.
func RegisteredBuilder(name, url string, own bool) send.Builder {
	return send.Builder{Name: name, URL: url, APIs: []string{send.APIBundle, send.APIShare, send.APICancel}, Own: own}
}

// StreamConfig is what an operator of an event stream in the lab configures. The stream reads the
// journal of a bundle RPC, as Source or by JournalURL.
type StreamConfig struct {
	DataDir    string           `json:"data_dir"`
	JournalURL string           `json:"journal_url"`
	Source     *journal.Journal `json:"-"`
	// Network is the network's name; empty is devnet.
	Network string `json:"network,omitempty"`
	// Hints is what the operator shows beside what senders share; nil is stream.DefaultHints.
	Hints *stream.HintConfig `json:"hints,omitempty"`
	// MaxLimit is how many events a page of the history has at most; 0 is the stream's default.
	MaxLimit int `json:"max_limit,omitempty"`
	// Limits bound what clients can use. Without a rate, the stream takes any number of requests.
	Limits streamapp.Limits `json:"limits"`
}

// OpenStream opens an event stream.
func OpenStream(ctx context.Context, c StreamConfig, env Env) (*streamapp.App, error) {
	c.Limits.PerSecond = cmp.Or(c.Limits.PerSecond, -1)
	stream, err := streamapp.New(ctx, streamapp.Config{
		Source: c.Source, DataDir: c.DataDir, Journal: journal.Config{URL: c.JournalURL}, Clock: env.Clock,
		Network: cmp.Or(c.Network, "devnet"), Hints: c.Hints, MaxLimit: c.MaxLimit, Limits: c.Limits,
		Log: env.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("open event stream: %w", err)
	}
	return stream, nil
}
