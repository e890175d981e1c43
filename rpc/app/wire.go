package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"path/filepath"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/lane"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
	"github.com/gavel-relay/gavel/rpc/inclusion"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
	"github.com/gavel-relay/gavel/rpc/ledger"
	"github.com/gavel-relay/gavel/rpc/lifecycle"
	"github.com/gavel-relay/gavel/rpc/method"
	"github.com/gavel-relay/gavel/rpc/pool"
	"github.com/gavel-relay/gavel/rpc/reputation"
	"github.com/gavel-relay/gavel/rpc/send"
	"github.com/gavel-relay/gavel/rpc/sign"
)

// App is an opened service. New opens it, Run keeps it going, Close closes it.
type App struct {
	cfg     Config
	opened  run.Opened
	journal *journal.Journal
	ledger  *ledger.Ledger
	facts   *facts
	refunds *refundState
	lease   *lease
	// snapshots keep what a start needs beside the facts.
	snapshots  *snapshots
	reputation *reputation.Projection
	indexer    *inclusion.Indexer
	sender     *send.Sender
	lifecycle  *lifecycle.Lifecycle
	methods    []method.Method
	handler    http.Handler
	watched    observed
}

// newTestMetrics opens the stores, remembers what an earlier life knew, and catches up with the
// chain.
func New(ctx context.Context, cfg Config) (*App, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	a := &App{cfg: cfg}
	if err := a.open(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

func (a *App) open(ctx context.Context) (err error) {
	a.cfg.Journal.Log = a.cfg.Log
	if a.cfg.DataDir != "" {
		a.cfg.Journal.Dir = filepath.Join(a.cfg.DataDir, "journal")
	}
	if a.journal, err = journal.Open(ctx, a.cfg.Journal); err != nil {
		return err
	}
	a.opened.Add(a.journal.Close)
	watch := time.Duration(0) // the folder of a journal in this process has one owner
	if a.cfg.Journal.URL != "" {
		watch = lifeWatch
	}
	if a.lease, err = acquireLease(ctx, a.journal, watch); err != nil {
		return err
	}
	a.opened.Add(a.lease.release)
	if a.ledger, err = ledger.Open(ctx, a.database(), ledger.Config{
		EarliestBlock: a.cfg.EarliestBlock, DetailsDelay: a.cfg.DetailsDelay, TotalsEvery: a.cfg.TotalsEvery, Log: a.cfg.Log,
	}); err != nil {
		return err
	}
	a.opened.AddCloser(a.ledger.Close)
	if err := a.ledger.CheckAtStart(ctx, a.journal); err != nil {
		return fmt.Errorf("open the ledger: %w", err)
	}
	if err := a.wire(); err != nil {
		return err
	}
	if err := a.restore(ctx); err != nil {
		return err
	}
	a.lifecycle.CountFrom(a.lease.life.Number << lifeShift)
	return a.lifecycle.Begin(ctx)
}

func (a *App) database() string {
	switch {
	case a.cfg.Database != "":
		return a.cfg.Database
	case a.cfg.DataDir != "":
		return "sqlite:" + filepath.Join(a.cfg.DataDir, "ledger.db")
	}
	return "sqlite::memory:"
}

// wire draws every arrow between the rooms.
func (a *App) wire() error {
	if err := a.observe(); err != nil {
		return err
	}
	a.reputation = reputation.New(reputation.Config{})
	a.facts = newFacts(a.journal, a.cfg.Log, a.observeFact)
	a.opened.Add(a.facts.Close)
	a.refunds = newRefundState(a.journal)
	a.snapshots = newSnapshots(a.journal, a.facts, a.cfg.Log, a.cfg.Limits.Orders)
	a.facts.safe = a.snapshots.safe
	execution := simulate.New(a.cfg.States, simulate.Options{})
	simulator := exec.Simulator(execution)
	if a.cfg.FetchAhead != nil {
		simulator = a.cfg.FetchAhead(execution)
	}
	turns := simulate.NewTurns(simulate.TurnOptions{Running: a.cfg.Simulations})
	a.indexer = inclusion.New(inclusion.Config{Replayer: execution, Facts: recipientKeeper{a.facts, a.refunds},
		Payers: a.cfg.Payers, PayoutGas: a.cfg.PayoutGas})
	a.refunds.indexer = a.indexer
	a.sender = send.New(send.Config{
		Builders: a.cfg.Builders, Header: a.cfg.SignatureHeaders[0], Log: a.cfg.Log,
		Sign: func(body []byte) string { return sign.Header(a.cfg.Key, body) }, Parallel: sendParallel,
	})
	signer := types.LatestSigner(a.cfg.ChainConfig)
	chain, senders := bundle.NewChain(signer), lifecycle.NewSenders(signer, sendersKept)
	a.lifecycle = lifecycle.New(lifecycle.Config{
		Pool: pool.New(pool.Config{
			MaxOrders: a.cfg.Limits.Orders, MaxPerSigner: a.cfg.Limits.OrdersPerSigner, Class: a.classOf,
			MaxNewcomers: max(a.cfg.Limits.Orders/2, 1), MaxPerSource: max(a.cfg.Limits.Orders/10, 1),
		}),
		Chain: a.cfg.Chain, Simulator: simulator, Sender: a.sender, Indexer: a.indexer, Recipients: a.indexer,
		Ranking: a.reputation,
		Facts:   a.facts, Clock: a.cfg.Clock, Log: a.cfg.Log, Senders: senders,
		BlockTime: a.cfg.BlockTime, Workers: a.cfg.Simulations, SendUnpaid: a.cfg.Literal,
	})
	methods := &method.Methods{
		Submitter: a.lifecycle, Canceller: a.lifecycle, Tracker: tracker{a.lifecycle, a.ledger}, Simulator: simulator,
		Turns:   turnsOf{turns, a.reputation},
		Refunds: a.ledger, Delayed: a.ledger, Mev: a.ledger, Receivers: a.indexer, Users: a.reputation, Facts: a.facts,
		Chain: chain, Senders: senders,
		Limits: a.limits(),
	}
	if a.cfg.Literal {
		methods.Prober = a.lifecycle
	}
	a.methods = methods.All()
	return a.serveMethods(a.methods)
}

// sendParallel is how many orders a builder is sent at a time. Versions of one order keep their
// order all the same.
const sendParallel = 16

// sendersKept is of how many transactions the sender is remembered: 20 MB at most.
const sendersKept = 100_000

// limits are the numbers of the rules.
func (a *App) limits() bundle.Config {
	limits := bundle.Defaults()
	limits.MaxBackruns, limits.PrivateBlocks = a.cfg.MaxBackruns, uint64(a.cfg.PrivateBlocks)
	limits.Literal = a.cfg.Literal
	limits.WantRefundPercent, limits.FastSharePercent = a.cfg.RefundPercent, a.cfg.FastPercent
	return limits
}

// discover answers with the OpenRPC document (OpenRPC 1.3, Service Discovery), in which it is not
// itself. It needs no signature, as GET /openrpc.json needs none.
const discover = "rpc.discover"

// rawJSON is a result that was written once, for all who ask.
type rawJSON []byte

// AppendJSON implements jsonrpc.Appender.
func (w rawJSON) AppendJSON(to []byte) []byte { return append(to, w...) }

// serveMethods puts the methods behind their envelope.
func (a *App) serveMethods(methods []method.Method) error {
	scheme := sign.Scheme{Headers: a.cfg.SignatureHeaders, Lenient0x: a.cfg.LenientSignatures}
	cfg := jsonrpc.Config{
		Methods: map[string]jsonrpc.Method{}, Clock: a.cfg.Clock, MaxBatch: a.cfg.Limits.Batch,
		TrustedProxies: a.cfg.Limits.TrustedProxies,
		Legacy:         a.cfg.LegacyErrors, Limits: a.rates(), Observe: a.watched.metrics.Call,
		SignatureHeaders: a.cfg.SignatureHeaders,
		Aliases: map[string][]string{
			"flashbots_":  {a.cfg.VendorPrefix, "buildernet_", a.cfg.PoolPrefix},
			"buildernet_": {a.cfg.PoolPrefix, "flashbots_", a.cfg.VendorPrefix},
		},
		Verify: func(header http.Header, body []byte) (common.Address, error) {
			signer, refused := scheme.Signer(header.Values, body)
			if refused != nil {
				return signer, refused
			}
			return signer, nil
		},
	}
	for _, m := range methods {
		if m.Unsigned {
			cfg.Unsigned = append(cfg.Unsigned, m.Name)
		}
		cfg.Methods[m.Name] = func(ctx context.Context, call *jsonrpc.Call) (any, error) {
			return m.Do(ctx, &method.Call{Params: call.Params, Signer: call.Signer, Source: sourceOf(call.Client),
				At: call.ReceivedAt})
		}
	}
	described, err := method.Describe(methods)
	if err != nil {
		return err
	}
	document, err := json.Marshal(described)
	if err != nil {
		return fmt.Errorf("write the OpenRPC document: %w", err)
	}
	cfg.Methods[discover] = func(context.Context, *jsonrpc.Call) (any, error) { return rawJSON(document), nil }
	cfg.Unsigned = append(cfg.Unsigned, discover)
	server, err := jsonrpc.New(cfg)
	if err != nil {
		return err
	}
	server.Handle(http.MethodGet, "/openrpc.json", func(w http.ResponseWriter, _ *http.Request) {
		serve.Bytes(w, http.StatusOK, "application/json", document)
	})
	a.handler = server
	return nil
}

func (a *App) rates() jsonrpc.Limits {
	limits := jsonrpc.Limits{Methods: map[string]jsonrpc.Rate{}}
	limits.Client.PerSecond, limits.Signer.PerSecond = float64(a.cfg.Limits.PerSecond),
		float64(a.cfg.Limits.SignerPerSecond)
	for name, perSecond := range a.cfg.Limits.MethodPerSecond {
		limits.Methods[name] = jsonrpc.Rate{PerSecond: float64(perSecond)}
	}
	return limits
}

// turnsOf lets the signers' reputation count when simulations wait.
type turnsOf struct {
	turns      *simulate.Turns
	reputation *reputation.Projection
}

// Do implements method.Turns.
func (t turnsOf) Do(ctx context.Context, signer common.Address, source string, run func(context.Context)) error {
	err := t.turns.Do(ctx, lane.Who{Signer: signer, Source: source, Known: t.reputation.High(signer)}, run)
	if errors.Is(err, simulate.ErrBusy) {
		return rpc.SimulationBusy.Plain()
	}
	return err
}

// sourceOf is the network of a client: of an IPv6 address the first 64 bits, since everybody has a
// whole such network.
func sourceOf(client netip.Addr) string {
	switch client = client.Unmap(); {
	case !client.IsValid():
		return ""
	case client.Is6():
		return netip.PrefixFrom(client, 64).Masked().String()
	}
	return client.String()
}

// classOf ranks a signer's orders.
func (a *App) classOf(signer common.Address) int {
	if a.reputation.High(signer) {
		return 1
	}
	return 0
}
