package app

import (
	"context"
	"crypto/ecdsa"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/agent/searcher"
	"github.com/gavel-relay/gavel/devnet/agent/signed"
	"github.com/gavel-relay/gavel/devnet/fault"
	"github.com/gavel-relay/gavel/devnet/plan"
	execchain "github.com/gavel-relay/gavel/internal/exec/chain"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/rpc"
	rpcapp "github.com/gavel-relay/gavel/rpc/app"
	"github.com/gavel-relay/gavel/rpc/send"
	"github.com/gavel-relay/gavel/scenarios/agent/listener"
	"github.com/gavel-relay/gavel/scenarios/agent/payer"
	"github.com/gavel-relay/gavel/scenarios/agent/trader"
	streamapp "github.com/gavel-relay/gavel/stream/app"
	streamclient "github.com/gavel-relay/gavel/stream/client"
)

// comeBack bounds the wait of a searcher before a stream that ended is opened again; wall time.
const comeBack = 250 * time.Millisecond

// payoutGas is what builders take off a refund for its payout, in gas at the base fee, and the service is told that they do.
const payoutGas = 30_000

// orderFlow are the bundle RPC and the stream, which reads its journal, and the builders' listeners for orders. They run only if a plan has users
// or searchers.
type orderFlow struct {
	rpc, stream *process
	journal     string // host:port of the bundle RPC's journal, which the stream reads
	builders    []net.Listener
	registry    []send.Builder // how the bundle RPC reaches the builders
	observed    *orders
}

// hasOrderFlow says whether a plan needs it.
func (l *lab) hasOrderFlow() bool { return len(l.plan.Users)+len(l.plan.Searchers) > 0 }

// openOrderFlow gives the bundle RPC, its journal and the stream their addresses, which they keep for all their lives, and makes the builders'
// listeners.
func (l *lab) openOrderFlow() (err error) {
	o := &l.flow
	o.observed = newOrders(l)
	for i := range l.plan.Builders {
		if err := l.openBuilder(i); err != nil {
			return err
		}
	}
	if o.journal, err = fault.Address(); err != nil {
		return err
	}
	if o.rpc, err = newProcess(plan.RPCName, l.openRPC); err != nil {
		return err
	}
	if o.stream, err = newProcess(plan.StreamName, l.openStream); err != nil {
		return err
	}
	if l.searchersStall() {
		o.stream.wrap = newNarrow
	}
	return nil
}

// openBuilder listens for a builder's orders, and registers it behind its proxy.
func (l *lab) openBuilder(i int) error {
	listener, err := serve.Listen("127.0.0.1:0")
	if err != nil {
		return err
	}
	l.flow.builders = append(l.flow.builders, listener)
	url, err := l.links.to(plan.RPCName, builderName(i), "http://"+listener.Addr().String())
	l.flow.registry = append(l.flow.registry, send.Builder{
		Name: builderName(i), URL: url, APIs: []string{send.APIBundle, send.APIShare, send.APICancel}, Own: i == 0,
	})
	return err
}

// openRPC makes a bundle RPC on the chain in this process, with what it has on disk.
func (l *lab) openRPC(ctx context.Context) (service, error) {
	states := execchain.NewStates(l.chain.Chain())
	return rpcapp.New(ctx, rpcapp.Config{
		Chain: states, States: states, ChainConfig: l.chain.Chain().Config(), Key: wallet(l.plan.Seed, "service", 0), Builders: l.flow.registry,
		DataDir: filepath.Join(l.dir, plan.RPCName), Journal: journal.Config{Listen: l.flow.journal}, BlockTime: l.plan.Slot, PayoutGas: payoutGas,
		Payers: []common.Address{address(l.network.payer)}, Clock: l.clockOf(plan.RPCName), Observe: l.flow.observed.observe,
		Limits: rpcapp.Limits{PerSecond: -1, SignerPerSecond: -1}, Log: l.log.With("part", plan.RPCName),
	})
}

// openStream makes a stream that reads the bundle RPC's journal from outside, with what it has on disk.
func (l *lab) openStream(ctx context.Context) (service, error) {
	cfg := streamapp.Config{
		DataDir: filepath.Join(l.dir, plan.StreamName), Journal: journal.Config{URL: "nats://" + l.flow.journal}, Network: "devnet",
		Clock: l.clockOf(plan.StreamName), Log: l.log.With("part", plan.StreamName),
	}
	if l.searchersStall() {
		cfg.Limits.QueueBytes = narrowStream
	}
	return streamapp.New(ctx, cfg)
}

func (o *orderFlow) close() {
	for _, listener := range o.builders {
		_ = listener.Close() // its builder has closed it, if it ran
	}
}

// traders are the users and searchers of a plan, and the payer.
func (l *lab) traders(ctx context.Context) ([]agent, error) {
	var list []agent
	for i, one := range l.plan.Users {
		run, err := l.trader(ctx, one.Name, l.network.traders[i], one.Strategy)
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
func (l *lab) payer(ctx context.Context) (agent, error) {
	url, err := l.links.to(plan.PayerName, plan.RPCName, l.flow.rpc.url())
	if err != nil {
		return nil, err
	}
	client, err := signed.Dial(ctx, url, l.network.payer)
	if err != nil {
		return nil, err
	}
	return payer.New(payer.Config{
		Name: plan.PayerName, Wallet: l.network.payer, ChainID: chainID, Spec: l.network.spec, Clock: l.clockOf(plan.PayerName), Node: l.chain.Attach(),
		OrderFlow: client, Recipient: l.network.friend, Tell: func(r plan.Record) { l.told(r, "") }, Log: l.log.With("part", plan.PayerName),
	}).Run, nil
}

func (l *lab) trader(ctx context.Context, name string, key *ecdsa.PrivateKey, strategy []plan.Move) (agent, error) {
	url, err := l.links.to(name, plan.RPCName, l.flow.rpc.url())
	if err != nil {
		return nil, err
	}
	client, err := signed.Dial(ctx, url, key)
	if err != nil {
		return nil, err
	}
	return trader.New(trader.Config{
		Name: name, Wallet: key, ChainID: chainID, Spec: l.network.spec, Clock: l.clockOf(name), Node: l.chain.Attach(), OrderFlow: client,
		Friend: l.network.friend, Strategy: strategy, Log: l.log.With("part", name),
	}).Run, nil
}

func (l *lab) searcher(ctx context.Context, i int, one plan.SearcherPlan) (agent, error) {
	wallets := l.network.searchers[i]
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
	client, err := signed.Dial(ctx, url, wallets[0])
	if err != nil {
		return nil, err
	}
	hints, err := streamclient.New(hintsURL, streamclient.Options{MaxWait: comeBack})
	if err != nil {
		return nil, err
	}
	return searcher.New(searcher.Config{
		Name: one.Name, Wallets: wallets, ChainID: chainID, Node: l.chain.Attach(), OrderFlow: client, Hints: hints, Spec: l.network.spec,
		Clock: l.clockOf(one.Name), Log: l.log.With("part", one.Name),
	}).Run, nil
}

// listener is a searcher who only listens. One that stalls has a connection of its own, since a proxy would read for it.
func (l *lab) listener(one plan.SearcherPlan) (agent, error) {
	cfg := listener.Config{
		Name: one.Name, URL: l.flow.stream.url(), Clock: l.clockOf(one.Name), Tell: func(r plan.Record) { l.told(r, "") },
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
	listens, err := listener.New(cfg)
	if err != nil {
		return nil, err
	}
	return listens.Run, nil
}

// orders turns the facts of the bundle RPC's journal into those of the run. It is safe for concurrent use.
type orders struct {
	lab   *lab
	names map[common.Address]string // users and searchers by the key that signs their requests, which is their first wallet

	mu       sync.Mutex // guards what follows
	accepted map[uint64]*rpc.Order
	owed     map[common.Hash]*uint256.Int // what the fee recipient earned by a landed bundle
	credits  map[creditName]*uint256.Int
	unvalued []rpc.RefundPaid // their bundle's end is told later in the journal
}

// creditName tells refunds apart.
type creditName struct {
	hash, bundle, block common.Hash
	recipient           common.Address
}

func newOrders(l *lab) *orders {
	o := &orders{
		lab: l, names: map[common.Address]string{}, accepted: map[uint64]*rpc.Order{}, owed: map[common.Hash]*uint256.Int{},
		credits: map[creditName]*uint256.Int{},
	}
	for i, one := range l.plan.Users {
		o.names[address(l.network.traders[i])] = one.Name
	}
	for i, one := range l.plan.Searchers {
		o.names[address(l.network.searchers[i][0])] = one.Name
	}
	return o
}

// observe is told every fact in the order of the journal.
func (o *orders) observe(fact rpc.Fact) {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := plan.Record{Actor: plan.RPCName, Subject: fact.Subject()}
	at := o.lab.book.now()
	switch f := fact.(type) {
	case rpc.OrderAccepted:
		o.accepted[f.Order.ID] = f.Order
		at, r.About = f.At, o.names[f.Order.Signer]
	case rpc.OrderShared:
		r.Subject = plan.HintSeen
		if order := o.accepted[f.ID]; order != nil {
			r.About = o.names[order.Signer]
		}
	case rpc.OrderEnded:
		at = f.At
		o.ended(&r, f)
	case rpc.RefundCredited:
		at = f.At
		o.credits[creditName{f.Hash, f.Bundle, f.BlockHash, f.Recipient}] = f.AmountWei
		r.About, r.ValueWei, r.ID = o.nameOf(f.Recipient), decimal(f.AmountWei), "in-block"
		if f.Delayed {
			r.ID = "delayed"
		}
	case rpc.RefundPaid:
		if o.owed[f.Bundle] == nil && f.Bundle != (common.Hash{}) {
			o.unvalued = append(o.unvalued, f)
			return
		}
		o.paid(f)
		return
	}
	o.lab.book.add(r, at, fact)
	for _, paid := range o.unvalued {
		if o.owed[paid.Bundle] != nil {
			o.paid(paid)
		}
	}
	o.unvalued = slices.DeleteFunc(o.unvalued, func(paid rpc.RefundPaid) bool { return o.owed[paid.Bundle] != nil })
}

// paid writes down a refund, once it is known what it is a part of.
func (o *orders) paid(f rpc.RefundPaid) {
	amount := o.credits[creditName{f.Hash, f.Bundle, f.BlockHash, f.Recipient}]
	o.lab.book.add(plan.Record{
		Actor: plan.RPCName, Subject: plan.RefundPaid, About: o.nameOf(f.Recipient), ValueWei: decimal(amount), Percent: o.percent(f, amount),
	}, f.At, f)
}

// nameOf is a user, or "friend".
func (o *orders) nameOf(recipient common.Address) string {
	if name := o.names[recipient]; name != "" {
		return name
	}
	return "friend"
}

func (o *orders) ended(r *plan.Record, f rpc.OrderEnded) {
	order := o.accepted[f.ID]
	if order == nil {
		return
	}
	r.About = o.names[order.Signer]
	switch {
	case f.State == rpc.Cancelled:
		r.Subject = plan.OrderCancelled
	case f.State != rpc.Landed:
		return
	case order.Follows != 0:
		r.Subject = plan.BackrunLanded
		o.owed[order.Hash()] = f.ValueWei
	case len(r.About) > 4 && r.About[:4] == "user":
		r.Subject = plan.PrivateLanded
	default:
		r.Subject = plan.BundleLanded
	}
	r.ValueWei, r.At = decimal(f.ValueWei), o.lab.builderOf(f.BlockHash)
}

// builderOf is whose name a block carries.
func (l *lab) builderOf(hash common.Hash) string {
	if b := l.chain.Chain().GetBlockByHash(hash); b != nil {
		return string(b.Extra())
	}
	return ""
}

// percent is what part of a backrun's payment a refund was, before what its payout cost: the amount, and its share of the payout's gas.
func (o *orders) percent(f rpc.RefundPaid, amount *uint256.Int) float64 {
	b := o.lab.chain.Chain().GetBlockByHash(f.BlockHash)
	paid := o.owed[f.Bundle]
	if b == nil || amount == nil || paid == nil || paid.IsZero() {
		return 0
	}
	gross := new(uint256.Int).Add(amount, new(uint256.Int).Mul(uint256.NewInt(payoutGas), uint256.MustFromBig(b.BaseFee())))
	return 100 * gross.Float64() / paid.Float64()
}
