package app

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/devnet/network"
	execchain "github.com/gavel-relay/gavel/internal/exec/chain"
	"github.com/gavel-relay/gavel/rpc"
	rpcapp "github.com/gavel-relay/gavel/rpc/app"
	"github.com/gavel-relay/gavel/rpc/send"
	streamapp "github.com/gavel-relay/gavel/stream/app"
)

// startOrderFlow starts the bundle RPC on the chain in this process, and the stream that tells of
// its orders: it reads the same journal.
func (l *lab) startOrderFlow(ctx context.Context, group *errgroup.Group) (err error) {
	states := execchain.NewStates(l.network.Chain.Chain())
	l.bundles, err = rpcapp.New(ctx, rpcapp.Config{
		Chain: states, States: states, ChainConfig: l.network.Chain.Chain().Config(), Key: network.Wallet(l.cfg.Seed,
			"service", 0),
		Builders: l.registry(),
		DataDir:  within(l.cfg.DataDir, "rpc"), BlockTime: l.cfg.SlotDuration, PayoutGas: network.PayoutGas,
		Clock:  l.network.Clock,
		Limits: rpcapp.Limits{PerSecond: -1, SignerPerSecond: -1}, Observe: l.observeOrder, Log: l.log.With("part", "rpc"),
	})
	if err != nil {
		return fmt.Errorf("open bundle RPC: %w", err)
	}
	group.Go(func() error { return l.bundles.Serve(ctx, l.listeners[2]) })
	l.stream, err = streamapp.New(ctx, streamapp.Config{
		Source: l.bundles.Journal(), DataDir: within(l.cfg.DataDir, "stream"), Network: "devnet", Clock: l.network.Clock,
		Limits: streamapp.Limits{PerSecond: -1}, Log: l.log.With("part", "stream"),
	})
	if err != nil {
		return fmt.Errorf("open event stream: %w", err)
	}
	group.Go(func() error { return l.stream.Serve(ctx, l.listeners[3]) })
	return nil
}

// registry are the builders as the operator of the bundle RPC knows them. The first one is the
// operator's own: it gets every order, the others those whose signers say so.
func (l *lab) registry() []send.Builder {
	list := make([]send.Builder, l.cfg.Builders)
	for i := range list {
		list[i] = send.Builder{
			Name: network.BuilderName(i), URL: "http://" + l.builderListener(i).Addr().String(),
			APIs: []string{send.APIBundle, send.APIShare, send.APICancel}, Own: i == 0,
		}
	}
	return list
}

// observeOrder passes a fact to the viewer without ever holding up the service.
func (l *lab) observeOrder(fact rpc.Fact) {
	select {
	case l.orders <- fact:
	default:
	}
}
