// Package app puts the bundle RPC together: Config says what is wanted, wire.go draws every arrow
// between the rooms, Run keeps them going.
package app

import (
	"cmp"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/simulate"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/bundle"
	"github.com/gavel-relay/gavel/rpc/pool"
	"github.com/gavel-relay/gavel/rpc/send"
)

// Config is what the service needs to know. Validate fills in the defaults that are named here.
type Config struct {
	// Chain is followed, and States are what bundles are simulated on: a chain in this process, or
	// nodes by URL.
	Chain  exec.Chain
	States simulate.States
	// FetchAhead, if set, wraps the simulator by one that has the state fetched before it is read one
	// by one.
	FetchAhead func(exec.Simulator) exec.Simulator
	// ChainConfig has the chain's id and its forks.
	ChainConfig *params.ChainConfig
	// Key signs what is sent to builders.
	Key *ecdsa.PrivateKey
	// Builders are sent the orders.
	Builders []send.Builder
	// DataDir keeps journal and ledger; empty keeps them in memory, which is for tests and devnets
	// only: a restart forgets all orders.
	DataDir string
	// Database is the URL of the ledger (see store.Open); empty is a SQLite file in DataDir.
	Database string
	// OrdersFor is how long the ledger remembers orders that have ended (chain time); 0 is for ever.
	// Refunds it always remembers.
	OrdersFor time.Duration
	// Journal is where facts are; its Dir follows from DataDir.
	Journal journal.Config
	// BlockTime is how long after a block the next one is expected, in chain time: 12 s.
	BlockTime time.Duration
	// PrivateBlocks is how many blocks a private transaction is tried for: 25.
	PrivateBlocks int
	// MaxBackruns is how many transactions may follow a hash: 1. Negative is no bound.
	MaxBackruns int
	// RefundPercent is the part of a backrun's value that comes back by default: 90; with fast:
	// FastPercent, 50.
	RefundPercent, FastPercent int
	// Payers pay refunds beside the fee recipient of each block.
	Payers []common.Address
	// PayoutGas is what the payout of a refund costs, in gas at the base fee, and is taken from its
	// amount: 0.
	PayoutGas uint64
	// EarliestBlock is the first block with detailed fee refunds; 20802497 on mainnet.
	EarliestBlock uint64
	// DetailsDelay is how old a refund's block must be before the refund is listed, TotalsEvery how
	// often totals are computed (chain time): 0 is at once.
	DetailsDelay, TotalsEvery time.Duration
	// Prefixes are the neutral words for flashbots_ and buildernet_ in names of methods: vendor_ and
	// pool_.
	VendorPrefix, PoolPrefix string
	// SignatureHeaders are the headers that may hold the signature: X-Flashbots-Signature,
	// X-Vendor-Signature, X-BuilderNet-Signature. With the first one what is sent to builders is
	// signed.
	SignatureHeaders []string
	// LenientSignatures takes signatures without 0x.
	LenientSignatures bool
	// Literal does what the interface description says where deployed services do something else
	// (docs/differences.md). It sets LegacyErrors, and DetailsDelay to 4 hours and TotalsEvery to 7
	// days where these are 0.
	Literal bool
	// LegacyErrors answers single requests with {"error":"text"} and a status, as services did before
	// 2024.
	LegacyErrors bool
	// TraceEndpoint is the URL of an OpenTelemetry collector (OTLP over HTTP); empty for none.
	TraceEndpoint string
	// StaleAfter is how old the newest block may be before the service calls itself not ready (chain
	// time): 5 min.
	StaleAfter time.Duration
	// Simulations that run at a time: one for each processor.
	Simulations int
	// Limits bound what clients can take.
	Limits Limits
	// Clock is the real one unless a devnet brings its own.
	Clock clock.Clock
	// Observe, if set, is told every fact in the order of the journal, a moment after it happened.
	Observe func(rpc.Fact)
	Log     *slog.Logger
}

// Limits bound what clients can take. A zero takes the default that is named, a negative number of
// requests is no bound.
type Limits struct {
	// PerSecond are the requests of one client address: 10,000; SignerPerSecond those of one signer:
	// 10,000.
	PerSecond, SignerPerSecond int
	// MethodPerSecond are bounds of single methods, for each client address.
	MethodPerSecond map[string]int
	// Batch is how many requests may come at once: 100.
	Batch int
	// TrustedProxies may say in X-Forwarded-For whom they forward.
	TrustedProxies []netip.Prefix
	// BodyBytes is the memory for bodies that are being read and worked on: 256 MiB, and never less
	// than 64 MiB.
	BodyBytes int64
	// BodyBytesPerSecond have to come of each body after its first second: 64,000. Negative is no
	// bound.
	BodyBytesPerSecond int64
	// Connections that may be open: 8,192.
	Connections int
	// ConnectionsPerAddress are those of one address: 1,024; trusted proxies have no bound.
	ConnectionsPerAddress int
	// Linger is how long requests are still taken after the stop, with /readyz at 503: none.
	Linger time.Duration
	// Orders that may live at a time: 200,000, and of one signer: 20,000.
	Orders, OrdersPerSigner int
}

// Validate fills in defaults and says what is missing.
func (c *Config) Validate() error {
	switch {
	case c.Chain == nil || c.States == nil || c.ChainConfig == nil:
		return errors.New("rpc: no chain")
	case c.Key == nil:
		return errors.New("rpc: no key to sign requests to builders with")
	}
	if c.Literal {
		c.LegacyErrors = true
		c.DetailsDelay = cmp.Or(c.DetailsDelay, 4*time.Hour)
		c.TotalsEvery = cmp.Or(c.TotalsEvery, 7*24*time.Hour)
	}
	if c.Clock == nil {
		c.Clock = clock.Real{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.SignatureHeaders == nil {
		c.SignatureHeaders = []string{"X-Flashbots-Signature", "X-Vendor-Signature", "X-BuilderNet-Signature"}
	}
	c.VendorPrefix = cmp.Or(c.VendorPrefix, "vendor_")
	c.PoolPrefix = cmp.Or(c.PoolPrefix, "pool_")
	c.BlockTime = cmp.Or(c.BlockTime, 12*time.Second)
	if err := c.keepsLongEnough(c.Journal.FactsFor); err != nil {
		return err
	}
	c.StaleAfter = cmp.Or(c.StaleAfter, 5*time.Minute)
	c.Limits.BodyBytes = cmp.Or(c.Limits.BodyBytes, 256<<20)
	c.Limits.BodyBytesPerSecond = cmp.Or(c.Limits.BodyBytesPerSecond, 64_000)
	// 0 is the default here, and no bound in the envelope
	for _, rate := range []*int{&c.Limits.PerSecond, &c.Limits.SignerPerSecond} {
		*rate = cmp.Or(*rate, 10_000)
	}
	for field, value := range map[*int]int{
		&c.PrivateBlocks: 25, &c.MaxBackruns: 1, &c.RefundPercent: 90, &c.FastPercent: 50,
		&c.Limits.Batch: 100, &c.Limits.Connections: 8192, &c.Limits.ConnectionsPerAddress: 1024, &c.Limits.Orders: 200_000,
		&c.Limits.OrdersPerSigner: 20_000,
	} {
		*field = cmp.Or(*field, value)
		*field = max(*field, 0)
	}
	return nil
}

// keepsLongEnough refuses facts that go before the orders that wait for their blocks: a service
// that was killed would not find those of its last minutes.
func (c *Config) keepsLongEnough(factsFor time.Duration) error {
	if life := pool.LongestLife * c.BlockTime; factsFor > 0 && factsFor < life {
		return fmt.Errorf("rpc: facts are kept for %s, but an order may wait %d blocks, which is %s: raise --facts-for",
			factsFor, pool.LongestLife, life)
	}
	return nil
}

// rules are the numbers that requests are judged by.
func (c *Config) rules() bundle.Config {
	limits := bundle.Defaults()
	limits.MaxBackruns, limits.PrivateBlocks = c.MaxBackruns, uint64(c.PrivateBlocks)
	limits.Literal = c.Literal
	limits.WantRefundPercent, limits.FastSharePercent = c.RefundPercent, c.FastPercent
	return limits
}
