package app

import (
	"context"
	"crypto/ecdsa"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/devnet/agent"
	"github.com/gavel-relay/gavel/devnet/agent/searcher"
	"github.com/gavel-relay/gavel/devnet/agent/user"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/rpc/send"
	"github.com/gavel-relay/gavel/scenarios/fault"
	"github.com/gavel-relay/gavel/scenarios/plan"
	streamclient "github.com/gavel-relay/gavel/stream/client"
)

// comeBack bounds the wait of a searcher before a stream that ended is opened again; wall time.
const comeBack = 250 * time.Millisecond

// orderFlow are the bundle RPC and the stream, which reads its journal, and the builders' listeners
// for orders. They run only if a plan has users or searchers.
type orderFlow struct {
	rpc, stream *process
	journal     string   // host:port of the bundle RPC's journal, which the stream reads
	server      *process // of that journal, if it stands apart
	builders    []net.Listener
	registry    []send.Builder // how the bundle RPC reaches the builders
	observed    *orders
}

// hasOrderFlow says whether a plan needs it.
func (l *lab) hasOrderFlow() bool { return len(l.plan.Users)+len(l.plan.Searchers) > 0 }

// openOrderFlow gives the bundle RPC, its journal and the stream their addresses, which they keep
// for all their lives, and makes the builders' listeners.
func (l *lab) openOrderFlow() (err error) {
	o := &l.flow
	o.observed = newOrders(l)
	for i := range l.plan.Builders {
		if err := l.openBuilder(i); err != nil {
			return err
		}
	}
	if l.plan.BreaksJournal(plan.RPCName) {
		if o.server, err = l.newJournal(plan.RPCName); err != nil {
			return err
		}
		o.journal = o.server.address
	} else if o.journal, err = fault.Address(); err != nil {
		return err
	}
	if o.rpc, err = l.newProcess(plan.RPCName, l.rpcConfig, o.observed.told); err != nil {
		return err
	}
	o.stream, err = l.newProcess(plan.StreamName, l.streamConfig, nil)
	return err
}

// openBuilder listens for a builder's orders, and registers it behind its proxy.
func (l *lab) openBuilder(i int) error {
	listener, err := serve.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	l.flow.builders = append(l.flow.builders, listener)
	url, err := l.links.to(plan.RPCName, network.BuilderName(i), "http://"+listener.Addr().String())
	l.flow.registry = append(l.flow.registry, send.Builder{
		Name: network.BuilderName(i), URL: url, APIs: []string{send.APIBundle, send.APIShare, send.APICancel}, Own: i == 0,
	})
	return err
}

// rpcConfig is what a life of the bundle RPC is given: it asks the execution node by its URL.
func (l *lab) rpcConfig() (*serviceConfig, error) {
	cfg := &rpcPlan{
		Seed: l.plan.Seed, DataDir: filepath.Join(l.dir, plan.RPCName),
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

// streamConfig is what a life of the stream is given: it reads the bundle RPC's journal from
// outside.
func (l *lab) streamConfig() (*serviceConfig, error) {
	cfg := &serviceConfig{Narrow: l.searchersStall(), Stream: &streamPlan{
		DataDir: filepath.Join(l.dir, plan.StreamName), JournalURL: "nats://" + l.flow.journal,
	}}
	if l.searchersStall() {
		cfg.Stream.QueueBytes = narrowStream
	}
	return cfg, nil
}

func (o *orderFlow) close() {
	for _, listener := range o.builders {
		_ = listener.Close() // its builder has closed it, if it ran
	}
}

// traders are the users and searchers of a plan, and the payer.
func (l *lab) traders(ctx context.Context) ([]runner, error) {
	var list []runner
	for i, one := range l.plan.Users {
		run, err := l.trader(ctx, one.Name, l.network.Traders[i], one.Strategy)
		if err != nil {
			return nil, err
		}
		list = append(list, run)
	}
	for i, one := range l.plan.Searchers {
		run, err := l.searcher(ctx, i, one)
		if err != nil {
			return nil, err
		}
		list = append(list, run)
	}
	if l.plan.Payer {
		run, err := l.payer(ctx)
		if err != nil {
			return nil, err
		}
		list = append(list, run)
	}
	return list, nil
}

// payer pays delayed refunds to the users' friend.
func (l *lab) payer(ctx context.Context) (runner, error) {
	url, err := l.links.to(plan.PayerName, plan.RPCName, l.flow.rpc.url())
	if err != nil {
		return nil, err
	}
	client, err := agent.Dial(ctx, url, l.network.Payer)
	if err != nil {
		return nil, err
	}
	return user.NewPayer(user.PayerConfig{
		Name: plan.PayerName, Service: plan.RPCName, Wallet: l.network.Payer, ChainID: network.ChainID, Spec: l.network.Spec,
		Clock: l.clockOf(plan.PayerName), Node: l.network.Chain.Attach(),
		OrderFlow: client, Recipient: l.network.Friend, Tell: l.told, Log: l.log.With("part", plan.PayerName),
	}).Run, nil
}

func (l *lab) trader(ctx context.Context, name string, key *ecdsa.PrivateKey, strategy []plan.Move) (runner, error) {
	if moves(strategy).has("offline") {
		return idle, nil
	}
	url, err := l.links.to(name, plan.RPCName, l.flow.rpc.url())
	if err != nil {
		return nil, err
	}
	client, err := agent.Dial(ctx, url, key)
	if err != nil {
		return nil, err
	}
	return user.NewTrader(user.TraderConfig{
		Name: name, Wallet: key, ChainID: network.ChainID, Spec: l.network.Spec, Clock: l.clockOf(name),
		Node:      l.network.Chain.Attach(),
		OrderFlow: client,
		Friend:    l.network.Friend, Strategy: moves(strategy).trading(), Log: l.log.With("part", name),
	}).Run, nil
}

func (l *lab) searcher(ctx context.Context, i int, one plan.SearcherPlan) (runner, error) {
	wallets := l.network.Searchers[i]
	switch {
	case one.Strategy[0].Is("listen", "stall"):
		return l.listener(one)
	case !one.Strategy[0].Is("backrun"):
		return l.trader(ctx, one.Name, wallets[0], one.Strategy)
	}
	url, err := l.links.to(one.Name, plan.RPCName, l.flow.rpc.url())
	if err != nil {
		return nil, err
	}
	hintsURL, err := l.links.to(one.Name, plan.StreamName, l.flow.stream.url())
	if err != nil {
		return nil, err
	}
	client, err := agent.Dial(ctx, url, wallets[0])
	if err != nil {
		return nil, err
	}
	hints, err := streamclient.New(hintsURL, streamclient.Options{MaxWait: comeBack})
	if err != nil {
		return nil, err
	}
	return searcher.New(searcher.Config{
		Name: one.Name, Wallets: wallets, ChainID: network.ChainID, Node: l.network.Chain.Attach(), OrderFlow: client,
		Hints: hints,
		Spec:  l.network.Spec,
		Clock: l.clockOf(one.Name), Log: l.log.With("part", one.Name),
	}).Run, nil
}

// listener is a searcher who only listens. One that stalls has a connection of its own, since a
// proxy would read for it.
func (l *lab) listener(one plan.SearcherPlan) (runner, error) {
	cfg := searcher.ListenerConfig{
		Name: one.Name, Service: plan.StreamName, URL: l.flow.stream.url(), Clock: l.clockOf(one.Name), Tell: l.told,
		Log: l.log.With("part", one.Name),
	}
	if stalls(one.Strategy) {
		cfg.HTTP, cfg.Stall = narrowClient(), one.Strategy[0].Time
	} else {
		url, err := l.links.to(one.Name, plan.StreamName, cfg.URL)
		if err != nil {
			return nil, err
		}
		cfg.URL = url
	}
	listens, err := searcher.NewListener(cfg)
	if err != nil {
		return nil, err
	}
	return listens.Run, nil
}
