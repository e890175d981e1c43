package generate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/google/uuid"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
	"github.com/gavel-relay/gavel/rpc/inclusion"
	"github.com/gavel-relay/gavel/rpc/lifecycle"
	"github.com/gavel-relay/gavel/rpc/pool"
	"github.com/gavel-relay/gavel/rpc/send"
	"github.com/gavel-relay/gavel/scenarios/dataset"
	"github.com/gavel-relay/gavel/stream"
)

const rpcName = "rpc"

// orderflow is the bundle RPC with its stream. It does one thing after another, and its clock is
// the time at which it has done what came so far.
type orderflow struct {
	*world
	skew      time.Duration
	busyUntil time.Time // true time
	ctx       context.Context
	lifecycle *lifecycle.Lifecycle
	chain     *bundle.Chain
	senders   *lifecycle.Senders
	registry  send.Registry
	hints     stream.HintConfig
	// orders have the rows of orders by their ids. live are the ids of those that are not written.
	orders map[uint64]*orderLife
	live   []uint64
}

// orderLife is an order's row, and what it follows.
type orderLife struct {
	row      *dataset.Order
	builders map[string]bool
	ended    bool
}

func (w *world) openOrderflow() (*orderflow, error) {
	f := &orderflow{
		world: w, skew: skewOf(w.seed, rpcName, 8*time.Millisecond), busyUntil: w.now, ctx: context.Background(),
		chain: bundle.NewChain(w.mempool.signer), senders: lifecycle.NewSenders(w.mempool.signer, 20_000),
		hints: stream.DefaultHints(), orders: map[uint64]*orderLife{},
	}
	for i, part := range lineup {
		if part.takesOrders {
			apis := []string{send.APIBundle, send.APIShare, send.APICancel}
			f.registry = append(f.registry, send.Builder{Name: builderName(i + 1), APIs: apis, Own: i < 3})
		}
	}
	indexer := inclusion.New(inclusion.Config{Replayer: w.simulator, Facts: f, PayoutGas: network.PayoutGas})
	f.lifecycle = lifecycle.New(lifecycle.Config{
		Pool: pool.New(pool.Config{}), Chain: chain.NewStates(w.node.Chain()), Simulator: slowly{f}, Sender: f,
		Indexer: indexer, Ranking: unknown{}, Recipients: indexer, Facts: f, Clock: f, Log: slog.New(slog.DiscardHandler),
		Senders: f.senders, BlockTime: slotSeconds * time.Second, Workers: 1,
	})
	return f, f.lifecycle.Begin(f.ctx)
}

// unknown is a ranking in which no signer has a reputation.
type unknown struct{}

// High implements lifecycle.Ranking.
func (unknown) High(common.Address) bool { return false }

// Now implements clock.Clock.
func (f *orderflow) Now() time.Time { return f.busyUntil.Add(f.skew) }

// Until implements clock.Clock. Nothing waits.
func (f *orderflow) Until(ctx context.Context, _ time.Time) error { return ctx.Err() }

// wake begins to do something that comes now.
func (f *orderflow) wake() {
	if f.busyUntil.Before(f.now) {
		f.busyUntil = f.now
	}
}

// slowly is the simulator, with the time that a simulation takes.
type slowly struct{ *orderflow }

// Call implements exec.Simulator.
func (s slowly) Call(ctx context.Context, txs []exec.Tx, env exec.Environment) (*exec.CallResult, error) {
	return s.simulator.Call(ctx, txs, env)
}

// Simulate implements exec.Simulator.
func (s slowly) Simulate(ctx context.Context, b *exec.Bundle, env exec.Environment) (*exec.BundleResult, error) {
	s.busyUntil = s.busyUntil.Add(s.draw(rpcName, simulation))
	return s.simulator.Simulate(ctx, b, env)
}

// block tells the RPC of a new block.
func (f *orderflow) block(ctx context.Context, landed *types.Block) error {
	f.wake()
	f.lifecycle.Block(ctx, landed)
	f.lifecycle.Drain(ctx)
	f.flush(false)
	return ctx.Err()
}

// intake is what a request's result depends on besides its text.
func (f *orderflow) intake(signer common.Address) bundle.Intake {
	return bundle.Intake{
		Signer: signer, At: f.Now(), Head: f.lifecycle.Head(), Chain: f.chain, Senders: f.senders, Limits: bundle.Defaults(),
	}
}

// readers read the requests of the methods by which orders come.
var readers = map[string]func(params json.RawMessage, in bundle.Intake) (*rpc.Order, error){
	"eth_sendPrivateTransaction": bundle.ReadSendPrivate,
	"mev_sendBundle":             bundle.ReadSendShare,
	"eth_sendBundle": func(params json.RawMessage, in bundle.Intake) (*rpc.Order, error) {
		order, _, err := bundle.ReadSendBundle(params, in)
		return order, err
	},
}

// request is a request of a signer now. The error is the service's refusal, if it refuses.
func (f *orderflow) request(ctx context.Context, method string, signer common.Address, param map[string]any) error {
	f.wake()
	params, err := json.Marshal([]any{param})
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	order, err := readers[method](params, f.intake(signer))
	if err != nil {
		return err
	}
	if _, err := f.lifecycle.Submit(f.Now(), order); err != nil {
		return err
	}
	f.lifecycle.Drain(ctx)
	return nil
}

// cancelPrivate is eth_cancelPrivateTransaction.
func (f *orderflow) cancelPrivate(signer common.Address, hash common.Hash) error {
	f.wake()
	_, err := f.lifecycle.CancelPrivate(f.Now(), signer, hash)
	return err
}

// refused says whether an error is a refusal, which is an outcome and no fault.
func refused(err error) bool {
	var no *rpc.Refused
	return errors.As(err, &no)
}

// Send implements lifecycle.Sender.
func (f *orderflow) Send(order *rpc.Order, block uint64, delivered func(rpc.Delivery)) {
	began := f.busyUntil
	for _, to := range f.registry.Choose(order) {
		way := f.draw(to.Name+" takes", orderTaken)
		f.add(began.Add(way), func() error {
			d := rpc.Delivery{Builder: to.Name, Block: block, TookMs: (2 * way).Milliseconds()}
			if err := f.hand(to, order, block); err != nil {
				d.Error = err.Error()
			}
			f.add(began.Add(2*way), func() error {
				f.wake()
				delivered(d)
				return nil
			})
			return nil
		})
	}
}

// hand gives an order to a builder, in the form of the method by which it came, or in the other one
// if that cannot express it.
func (f *orderflow) hand(to send.Builder, order *rpc.Order, block uint64) error {
	type form struct {
		method string
		write  func(*rpc.Order, uint64, uuid.UUID) (json.RawMessage, error)
	}
	forms := []form{{"eth_sendBundle", bundle.Outgoing}, {"mev_sendBundle", bundle.OutgoingShare}}
	if order.Kind == rpc.KindShare {
		forms[0], forms[1] = forms[1], forms[0]
	}
	var first error
	for _, form := range forms {
		param, err := form.write(order, block, bundle.OutgoingReplacement(order))
		if err == nil {
			return f.builderNamed(to.Name).Intake().Take(form.method, param)
		}
		if first == nil {
			first = err
		}
	}
	return first
}

func (f *orderflow) builderNamed(name string) *bidder {
	for _, b := range f.builders {
		if b.Name == name {
			return b
		}
	}
	return nil
}

// Cancel implements lifecycle.Sender.
func (f *orderflow) Cancel(order *rpc.Order, builders []string) {
	replacement := bundle.OutgoingReplacement(order)
	if replacement == uuid.Nil {
		return
	}
	for _, name := range builders {
		f.add(f.busyUntil.Add(f.draw(name+" takes", orderTaken)), func() error {
			f.builderNamed(name).Intake().Cancel(replacement)
			return nil
		})
	}
}

// Keep implements rpc.DurableFacts.
func (f *orderflow) Keep(facts ...rpc.Fact) (kept func() error) {
	for _, fact := range facts {
		f.Record(fact)
	}
	return func() error { return nil }
}

// Record implements rpc.Facts: it fills in the rows of orders, and tells searchers of hints.
func (f *orderflow) Record(fact rpc.Fact) {
	switch fact := fact.(type) {
	case rpc.OrderAccepted:
		f.accepted(fact)
	case rpc.OrderSimulated:
		if life := f.orders[fact.ID]; life != nil && fact.Success && !life.row.SimulatedAt.Known {
			life.row.SimulatedAt = timeOf(fact.At)
		}
	case rpc.OrderShared:
		if life := f.orders[fact.ID]; life != nil {
			life.row.SharedAt = timeOf(fact.At)
		}
		f.tell(fact)
	case rpc.OrderSent:
		life := f.orders[fact.ID]
		if life == nil || fact.Error != "" {
			return
		}
		if !life.row.SentAt.Known {
			life.row.SentAt = timeOf(fact.At)
		}
		life.builders[fact.Builder] = true
		life.row.Builders = intOf(len(life.builders))
	case rpc.OrderEnded:
		f.ended(fact)
	case rpc.RefundCredited:
		f.credited(fact.Refund)
	}
}

// kinds are the words of the table for kinds of orders.
var kinds = map[rpc.Kind]dataset.Text{
	rpc.KindBundle: "bundle", rpc.KindPrivate: "private-transaction", rpc.KindShare: "share",
}

func (f *orderflow) accepted(fact rpc.OrderAccepted) {
	order := fact.Order
	slot := f.spec.SlotAt(fact.At)
	life := &orderLife{builders: map[string]bool{}, row: &dataset.Order{
		Slot: intOf(slot), SlotStart: timeOf(f.spec.SlotStart(slot)), ReceivedAt: timeOf(fact.At), Source: Source,
		Service: rpcName, Kind: kinds[order.Kind], Hash: hashOf(order.Hash()), Signer: addressOf(order.Signer),
		Builders: intOf(0), State: "alive",
	}}
	if leader := f.orders[order.Follows]; leader != nil {
		life.row.Follows = leader.row.Hash
		if !leader.row.MatchedAt.Known {
			leader.row.MatchedAt = timeOf(fact.At)
		}
	}
	f.orders[order.ID] = life
	f.live = append(f.live, order.ID)
}

func (f *orderflow) ended(fact rpc.OrderEnded) {
	life := f.orders[fact.ID]
	if life == nil {
		return
	}
	life.ended = true
	life.row.State, life.row.Reason = dataset.Text(fact.State), dataset.Text(fact.Reason)
	life.row.EndedAt = timeOf(fact.At)
	if fact.State == rpc.Landed {
		life.row.BlockNumber, life.row.BlockHash = intOf(fact.Block), hashOrNull(fact.BlockHash)
		life.row.ValueWei = weiOf(fact.ValueWei)
	}
}

// credited adds a refund to the order that gets it. It is credited before the order's end is told.
func (f *orderflow) credited(refund rpc.Refund) {
	for _, id := range f.live {
		row := f.orders[id].row
		if row.Hash.V != refund.Hash || row.State != "alive" {
			continue
		}
		sum := new(uint256.Int)
		if row.RefundWei.Known {
			sum = &uint256.Int{row.RefundWei.Lo, row.RefundWei.Hi}
		}
		row.RefundWei = weiOf(sum.Add(sum, refund.AmountWei))
		return
	}
}

// flush writes the rows of orders that have ended, or of all.
func (f *orderflow) flush(all bool) {
	kept := f.live[:0]
	for _, id := range f.live {
		life := f.orders[id]
		if !life.ended && !all {
			kept = append(kept, id)
			continue
		}
		f.rows.Orders = append(f.rows.Orders, life.row)
		delete(f.orders, id)
	}
	f.live = kept
}

// tell tells searchers of an order.
func (f *orderflow) tell(fact rpc.OrderShared) {
	hint, err := stream.ProjectHints(&fact.Shared, f.hints)
	if err != nil || hint == nil {
		return // the sender shares nothing, or the transaction cannot be shown
	}
	for _, s := range f.searchers {
		f.add(f.busyUntil.Add(f.draw(s.Name, hintHeard)), func() error { return f.follow(f.ctx, s, hint) })
	}
}

// slotNow is the slot that runs.
func (w *world) slotNow() phase0.Slot { return w.spec.SlotAt(w.now) }
