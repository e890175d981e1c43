package app

import (
	"github.com/gavel-relay/gavel/internal/exec/simulate"
	"github.com/gavel-relay/gavel/rpc/inclusion"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
	"github.com/gavel-relay/gavel/rpc/ledger"
	"github.com/gavel-relay/gavel/rpc/lifecycle"
	"github.com/gavel-relay/gavel/rpc/method"
	"github.com/gavel-relay/gavel/rpc/pool"
	"github.com/gavel-relay/gavel/rpc/send"
)

// wire connects the packages. Each step makes what later steps use, so to follow an order, read
// from the last step to the first:
//
//	request ─▶ envelope ─▶ methods ─▶ lifecycle ─▶ pool ─▶ simulation ─▶ builders
//	block of the chain ───────────────▶ lifecycle ─▶ pool ─▶ indexer: what was paid and is given back
//	all of them ─▶ facts ─▶ journal ─▶ reputation, refunds, snapshots, metrics, ledger
func (a *App) wire() error {
	if err := a.observe(); err != nil {
		return err
	}
	a.wireFacts()
	a.simulation = newSimulation(a.cfg)
	a.wireBuilders()
	a.wireBlocks()
	a.wireOrders()
	a.wireMethods()
	return a.serveMethods(a.methods)
}

// wireFacts connects: what happened ─▶ journal ─▶ its projections in this process (observeFact).
func (a *App) wireFacts() {
	a.reputation = ledger.NewReputation(ledger.ReputationConfig{})
	a.facts = newFacts(a.journal, a.cfg.Log, a.observeFact)
	a.opened.Add(a.facts.Close)
	a.snapshots = newSnapshots(a.journal, a.state(), a.facts, a.cfg.Log, a.cfg.Limits.Orders)
	a.keeper = keeper{a.facts, a.snapshots, a.journal.SyncFacts}
}

// sendParallel is how many requests a builder gets at a time. Versions of one order keep their
// order all the same.
const sendParallel = 16

// wireBuilders connects: an order that succeeded ─▶ builders, signed by the service's key.
func (a *App) wireBuilders() {
	a.sender = send.New(send.Config{
		Builders: a.cfg.Builders, Header: a.cfg.SignatureHeaders[0], Log: a.cfg.Log,
		Sign: func(body []byte) string { return jsonrpc.SignatureHeader(a.cfg.Key, body) }, Parallel: sendParallel,
		Owns: a.seat.owns(), Lost: a.seat.lostContext(),
	})
}

// wireBlocks connects: a block with orders ─▶ replay ─▶ refunds, and payouts of refunds.
func (a *App) wireBlocks() {
	a.indexer = inclusion.New(inclusion.Config{
		Replayer: a.simulation.replayer, Facts: a.keeper,
		Payers: a.cfg.Payers, PayoutGas: a.cfg.PayoutGas,
	})
	a.refunds = newRefundState(a.journal, a.state(), a.indexer)
}

// wireOrders connects: an order, or a block ─▶ pool ─▶ simulation ─▶ builders; the block ─▶
// indexer.
func (a *App) wireOrders() {
	a.lifecycle = lifecycle.New(lifecycle.Config{
		Pool: pool.New(pool.Config{
			MaxOrders: a.cfg.Limits.Orders, MaxPerSigner: a.cfg.Limits.OrdersPerSigner, Class: a.classOf,
			MaxNewcomers: max(a.cfg.Limits.Orders/2, 1), MaxPerSource: max(a.cfg.Limits.Orders/10, 1),
		}),
		Chain: a.cfg.Chain, Simulator: a.simulation, Senders: a.simulation.senders, Sender: a.sender,
		Indexer: a.indexer, Recipients: a.indexer, Ranking: a.reputation,
		Facts: a.keeper, Clock: a.cfg.Clock, Log: a.cfg.Log,
		BlockTime: a.cfg.BlockTime, Workers: a.cfg.Simulations, SendUnpaid: a.cfg.Literal,
	})
}

// wireMethods connects: a call ─▶ the part that answers it.
func (a *App) wireMethods() {
	turns := simulate.NewScheduler(simulate.SchedulerOptions{Running: a.cfg.Simulations})
	methods := &method.Methods{
		Submitter: a.lifecycle, Canceller: a.lifecycle, Tracker: tracker{a.lifecycle, a.ledger},
		Simulator: a.simulation, Scheduler: rankedScheduler{turns, a.reputation},
		Refunds: a.ledger, Delayed: a.ledger, Mev: a.ledger, Users: a.reputation,
		Receivers: receivers{a.indexer, a.refunds, a.cfg.Log},
		Facts:     a.facts, Chain: a.simulation.chain, Senders: a.simulation.senders, Limits: a.cfg.rules(),
		RefundsPerPage: a.cfg.Limits.RefundsPerPage,
	}
	if a.cfg.Literal {
		methods.Prober = a.lifecycle
	}
	a.methods = methods.All()
}
