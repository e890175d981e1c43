package app

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/rpc"
)

// startOrderFlow starts the bundle RPC, which reads the chain in this process, and the event
// stream, which reads the bundle RPC's journal.
func (l *lab) startOrderFlow(ctx context.Context, group *errgroup.Group) (err error) {
	chain := l.network.Chain.Chain()
	cfg := RPCConfig{
		Seed: l.cfg.Seed, DataDir: within(l.cfg.DataDir, "rpc"), Blocks: chain, Chain: chain.Config(),
		BlockTime: l.cfg.SlotDuration,
	}
	for i := range l.cfg.Builders {
		url := "http://" + l.builderListener(i).Addr().String()
		cfg.Builders = append(cfg.Builders, RegisteredBuilder(network.BuilderName(i), url, i == 0))
	}
	if l.bundles, err = OpenRPC(ctx, cfg, l.env("rpc")); err != nil {
		return err
	}
	group.Go(func() error { return l.bundles.Serve(ctx, l.listeners[2]) })
	l.stream, err = OpenStream(ctx, StreamConfig{
		Source: l.bundles.Journal(), DataDir: within(l.cfg.DataDir, "stream"),
	}, l.env("stream"))
	if err != nil {
		return err
	}
	group.Go(func() error { return l.stream.Serve(ctx, l.listeners[3]) })
	return nil
}

// env returns what a service needs from this process.
func (l *lab) env(part string) Env {
	return Env{Clock: l.network.Clock, Log: l.log.With("part", part), RelayFact: l.observe, RPCFact: l.observeOrder}
}

// observeOrder passes a fact to the display. If the queue is full, it drops the fact, and the page
// counts it, so that the service never waits.
func (l *lab) observeOrder(fact rpc.Fact) {
	select {
	case l.orders <- fact:
	default:
		l.page.miss()
	}
}
