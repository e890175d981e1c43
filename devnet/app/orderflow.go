package app

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/rpc"
)

// startOrderFlow starts the bundle RPC on the chain in this process, and the stream that tells of
// its orders: it reads the same journal.
func (l *lab) startOrderFlow(ctx context.Context, group *errgroup.Group) (err error) {
	chain := l.network.Chain.Chain()
	cfg := RPCConfig{
		Seed: l.cfg.Seed, DataDir: within(l.cfg.DataDir, "rpc"), Blocks: chain, Chain: chain.Config(),
		BlockTime: l.cfg.SlotDuration,
	}
	for i := range l.cfg.Builders {
		cfg.Builders = append(cfg.Builders, RegisteredBuilder(i, "http://"+l.builderListener(i).Addr().String()))
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

// env is this process as a service sees it.
func (l *lab) env(part string) Env {
	return Env{Clock: l.network.Clock, Log: l.log.With("part", part), RelayFact: l.observe, RPCFact: l.observeOrder}
}

// observeOrder passes a fact to the viewer without ever holding up the service.
func (l *lab) observeOrder(fact rpc.Fact) {
	select {
	case l.orders <- fact:
	default:
	}
}
