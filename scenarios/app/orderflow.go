package app

import (
	"context"
	"crypto/ecdsa"
	"net"
	"path/filepath"
	"strings"

	"github.com/ethereum/go-ethereum/common"

	devnetapp "github.com/gavel-relay/gavel/devnet/app"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/rpc/send"
	"github.com/gavel-relay/gavel/scenarios"
)

// orderFlow has the bundle RPC, the event stream that reads the bundle RPC's journal, and the
// listeners at which builders take orders. They run only if a plan has users or searchers.
type orderFlow struct {
	rpc, stream *process
	journal     string   // host:port of the bundle RPC's journal
	server      *process // of that journal, if it is a process of its own
	builders    []net.Listener
	registry    []send.Builder // how the bundle RPC reaches the builders
	observed    *orders
}

// hasOrderFlow says whether a plan has users or searchers.
func (l *planRun) hasOrderFlow() bool { return len(l.plan.Users)+len(l.plan.Searchers) > 0 }

// openOrderFlow reserves addresses for the bundle RPC, its journal and the stream, which they keep
// over restarts, and opens the builders' listeners.
func (l *planRun) openOrderFlow() (err error) {
	o := &l.flow
	o.observed = newOrders(l)
	for i := range l.plan.Builders {
		if err := l.openBuilder(i); err != nil {
			return err
		}
	}
	if l.plan.JournalApart(scenarios.RPCName) {
		servers, err := l.newJournals(scenarios.RPCName, 0)
		if err != nil {
			return err
		}
		o.server = servers[0]
		o.journal = o.server.address
	} else if o.journal, err = network.FreeAddress(); err != nil {
		return err
	}
	if o.rpc, err = l.newProcess(scenarios.RPCName, l.rpcConfig, o.observed.apply); err != nil {
		return err
	}
	o.stream, err = l.newProcess(scenarios.StreamName, l.streamConfig, nil)
	return err
}

// openBuilder listens for a builder's orders, and registers the builder by the URL of its proxy.
func (l *planRun) openBuilder(i int) error {
	listener, err := serve.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	l.flow.builders = append(l.flow.builders, listener)
	url, err := l.links.to(scenarios.RPCName, network.BuilderName(i), "http://"+listener.Addr().String())
	l.flow.registry = append(l.flow.registry, devnetapp.RegisteredBuilder(network.BuilderName(i), url, i == 0))
	return err
}

// rpcConfig returns the configuration of the bundle RPC for one start. It reaches the execution
// node by its URL.
func (l *planRun) rpcConfig() (*serviceConfig, error) {
	cfg := &devnetapp.RPCConfig{
		Seed: l.plan.Seed, DataDir: filepath.Join(l.dir, scenarios.RPCName),
		ExecutionURL: "ws://" + strings.TrimPrefix(l.network.Chain.RPCURL(), "http://"),
		Chain:        l.network.Chain.Chain().Config(),
		Builders:     l.flow.registry,
		BlockTime:    l.plan.Slot, Payers: []common.Address{network.Address(l.network.Payer)},
	}
	if l.flow.server != nil {
		cfg.JournalURL = "nats://" + l.flow.journal
	} else {
		cfg.JournalListen = l.flow.journal
	}
	return &serviceConfig{RPC: cfg}, nil
}

// streamConfig returns the configuration of the event stream for one start. It reads the bundle
// RPC's journal over the network.
func (l *planRun) streamConfig() (*serviceConfig, error) {
	cfg := &serviceConfig{Narrow: l.searchersStall(), Stream: &devnetapp.StreamConfig{
		DataDir: filepath.Join(l.dir, scenarios.StreamName), JournalURL: "nats://" + l.flow.journal,
	}}
	if l.searchersStall() {
		cfg.Stream.Limits.QueueBytes = narrowStream
	}
	return cfg, nil
}

func (o *orderFlow) close() {
	for _, listener := range o.builders {
		_ = listener.Close() // closed already if its builder ran
	}
}

// orderFlowAgents returns the users and searchers of a plan, and the payer.
func (l *planRun) orderFlowAgents(ctx context.Context, cast *devnetapp.Cast) ([]devnetapp.Runner, error) {
	var list []devnetapp.Runner
	for i, one := range l.plan.Users {
		run, err := trader(ctx, cast, one.Name, l.network.Traders[i], one.Strategy)
		if err != nil {
			return nil, err
		}
		list = append(list, run)
	}
	for i, one := range l.plan.Searchers {
		run, err := l.searcher(ctx, cast, i, one)
		if err != nil {
			return nil, err
		}
		list = append(list, run)
	}
	if l.plan.Payer {
		run, err := cast.Payer(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, run)
	}
	return list, nil
}

// trader returns an agent that sends what its strategy says.
func trader(
	ctx context.Context, cast *devnetapp.Cast, name string, wallet *ecdsa.PrivateKey, strategy moves,
) (devnetapp.Runner, error) {
	if strategy.has("offline") {
		return devnetapp.Idle, nil
	}
	return cast.Trader(ctx, name, wallet, strategy.trading())
}

// searcher returns a searcher that follows hints, only listens, or sends bundles of its own.
func (l *planRun) searcher(ctx context.Context, cast *devnetapp.Cast, i int,
	one scenarios.SearcherPlan) (devnetapp.Runner, error) {
	switch first := one.Strategy[0]; {
	case first.Is("backrun"):
		return cast.Searcher(ctx, i)
	case first.Is("listen"):
		return cast.Listener(one.Name, nil, 0)
	case first.Is("stall"): // a proxy would read from the stream in its place
		return cast.Listener(one.Name, narrowClient(), first.Time)
	default:
		return trader(ctx, cast, one.Name, l.network.Searchers[i][0], one.Strategy)
	}
}
