package app

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/devnet/agent/searcher"
	"github.com/gavel-relay/gavel/devnet/agent/signed"
	"github.com/gavel-relay/gavel/devnet/agent/user"
	execchain "github.com/gavel-relay/gavel/internal/exec/chain"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/rpc"
	rpcapp "github.com/gavel-relay/gavel/rpc/app"
	"github.com/gavel-relay/gavel/rpc/send"
	"github.com/gavel-relay/gavel/stream"
	"github.com/gavel-relay/gavel/stream/api/live"
	"github.com/gavel-relay/gavel/stream/audience"
	streamclient "github.com/gavel-relay/gavel/stream/client"
	"github.com/gavel-relay/gavel/stream/hint"
)

// payoutGas is what builders take off a refund for its payout, in gas at the base fee, and the service is told that they do.
const payoutGas = 30_000

// startOrderFlow starts the bundle RPC on the chain in this process, and the stream that tells of its orders.
func (l *lab) startOrderFlow(ctx context.Context, group *errgroup.Group) (err error) {
	l.hints = newHintStream(l.log)
	states := execchain.NewStates(l.chain.Chain())
	l.bundles, err = rpcapp.New(ctx, rpcapp.Config{
		Chain: states, States: states, ChainConfig: l.chain.Chain().Config(), Key: wallet(l.cfg.Seed, "service", 0), Builders: l.registry(),
		DataDir: within(l.cfg.DataDir, "rpc"), BlockTime: l.cfg.SlotDuration, PayoutGas: payoutGas, Clock: l.network.clock,
		Limits: rpcapp.Limits{PerSecond: -1, SignerPerSecond: -1}, Observe: l.observeOrder, Log: l.log.With("part", "rpc"),
	})
	if err != nil {
		return fmt.Errorf("open bundle RPC: %w", err)
	}
	group.Go(func() error { return l.bundles.Serve(ctx, l.listeners[2]) })
	group.Go(func() error { return serve.Serve(ctx, l.listeners[3], l.hints.handler(), serve.Options{Log: l.log}) })
	return nil
}

// registry are the builders as the operator of the bundle RPC knows them. The first one is the operator's own: it gets every order, the others those whose
// signers say so.
func (l *lab) registry() []send.Builder {
	list := make([]send.Builder, l.cfg.Builders)
	for i := range list {
		list[i] = send.Builder{
			Name: builderName(i), URL: "http://" + l.builderListener(i).Addr().String(),
			APIs: []string{send.APIBundle, send.APIShare, send.APICancel}, Own: i == 0,
		}
	}
	return list
}

// observeOrder passes a fact to the stream, and to the viewer without ever holding up the service.
func (l *lab) observeOrder(fact rpc.Fact) {
	if shared, ok := fact.(rpc.OrderShared); ok {
		l.hints.tell(shared)
	}
	select {
	case l.orders <- fact:
	default:
	}
}

// hintStream is an event stream without a history: what the bundle RPC shares, as everybody may know it. It is told one fact at a time.
type hintStream struct {
	audience *audience.Audience
	log      *slog.Logger
	last     uint64
}

func newHintStream(log *slog.Logger) *hintStream {
	return &hintStream{audience: audience.New(audience.Config{Log: log}), log: log}
}

func (h *hintStream) tell(shared rpc.OrderShared) {
	line, err := hint.Project(&shared.Shared, hint.DefaultConfig())
	switch {
	case err != nil:
		h.log.Error("an order cannot be told of", "order", shared.Hash, "error", err)
	case line != nil:
		h.last++
		h.audience.Publish([]stream.Event{{ID: h.last, Block: shared.Block, At: shared.At, JSON: line}})
	}
}

func (h *hintStream) handler() http.Handler {
	mux := new(serve.Mux)
	live.Mount(mux, live.Config{Audience: h.audience, Network: "devnet"})
	return mux
}

// orderFlowAgents are users who send privately, and searchers. Each has a key of its own that signs its requests.
func (l *lab) orderFlowAgents(ctx context.Context) ([]agent, error) {
	n := l.network
	names := make([]string, l.cfg.Builders)
	for i := range names {
		names[i] = builderName(i)
	}
	var list []agent
	if l.cfg.OrdersPerSlot > 0 {
		orderFlow, err := signed.Dial(ctx, l.bundleURL, wallet(l.cfg.Seed, "user signer", 0))
		if err != nil {
			return nil, err
		}
		list = append(list, user.NewPrivate(user.PrivateConfig{
			Wallets: n.traders, ChainID: chainID, PerSlot: l.cfg.OrdersPerSlot, CancelEvery: cancelEvery, Builders: names, Spec: n.spec,
			Clock: n.clock, Node: l.chain.Attach(), OrderFlow: orderFlow, Seed: l.cfg.Seed, Log: l.log.With("part", "user"),
		}).Run)
	}
	for i, wallets := range n.searchers {
		orderFlow, err := signed.Dial(ctx, l.bundleURL, wallet(l.cfg.Seed, "searcher signer", i))
		if err != nil {
			return nil, err
		}
		hints, err := streamclient.New(l.streamURL, streamclient.Options{})
		if err != nil {
			return nil, err
		}
		list = append(list, searcher.New(searcher.Config{
			Name: searcherName(i), Wallets: wallets, ChainID: chainID, Node: l.chain.Attach(),
			OrderFlow: orderFlow, Hints: hints, Spec: n.spec, Clock: n.clock, Log: l.log.With("part", "searcher"),
		}).Run)
	}
	return list, nil
}

// cancelEvery is how often a user takes a private transaction back.
const cancelEvery = 7
