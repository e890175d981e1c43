// Package app puts the bundle RPC together: Config says what is wanted, wire.go connects the
// packages, and Run keeps the service running.
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
	"github.com/gavel-relay/gavel/rpc/lease"
	"github.com/gavel-relay/gavel/rpc/pool"
	"github.com/gavel-relay/gavel/rpc/send"
)

// Config is what the service needs to know. Validate sets the defaults that the comments name.
type Config struct {
	// Chain is followed, and bundles are simulated on States: a chain in this process, or nodes by
	// URL.
	Chain  exec.Chain
	States simulate.States
	// FetchAhead, if set, wraps the simulator in one that fetches state before the execution reads
	// it value by value.
	FetchAhead func(exec.Simulator) exec.Simulator
	// ChainConfig has the chain's id and its forks.
	ChainConfig *params.ChainConfig
	// Genesis is the hash of the chain's first block; zero if it is not known. With it the journal
	// is not mistaken for that of another chain with the same id.
	Genesis common.Hash
	// Key signs the requests to builders.
	Key *ecdsa.PrivateKey
	// Builders get the orders.
	Builders []send.Builder
	// DataDir has the journal and the ledger. Empty keeps them in memory, which is for tests and
	// devnets only: a restart forgets all orders.
	DataDir string
	// Database is the URL of the ledger (see projection.OpenDatabase); empty is a SQLite file in
	// DataDir.
	Database string
	// OrdersFor is how long the ledger remembers orders that have ended (chain time); 0 is for
	// ever. It remembers refunds for ever.
	OrdersFor time.Duration
	// Journal is the journal of the facts; its Dir follows from DataDir.
	Journal journal.Config
	// Lease has the times of the lease with which the instances on the journal of a cluster agree on
	// who owns the orders. All of them need the same ones.
	Lease lease.Config
	// BlockTime is how long after a block the next one is expected, in chain time: 12 s.
	BlockTime time.Duration
	// PrivateBlocks is for how many blocks a private transaction is tried: 25.
	PrivateBlocks int
	// MaxBackruns is how many transactions may follow a hash: 1. Negative is unlimited.
	MaxBackruns int
	// RefundPercent is the part of a backrun's value that is given back by default: 90. FastPercent
	// is the part with fast: 50.
	RefundPercent, FastPercent int
	// Payers are addresses that pay refunds, in addition to the fee recipient of each block.
	Payers []common.Address
	// PayoutGas is the gas of a refund's payout. Its cost at the base fee is deducted from the
	// refund: 0.
	PayoutGas uint64
	// EarliestBlock is the first block whose refunds are listed; 20802497 on mainnet.
	EarliestBlock uint64
	// DetailsDelay is how old a refund's block must be before the refund is listed; TotalsEvery is
	// how often totals are computed (chain time): 0 is at once.
	DetailsDelay, TotalsEvery time.Duration
	// VendorPrefix and PoolPrefix may replace flashbots_ and buildernet_ in names of methods:
	// vendor_ and pool_.
	VendorPrefix, PoolPrefix string
	// SignatureHeaders are the headers that may have the signature: X-Flashbots-Signature,
	// X-Vendor-Signature, X-BuilderNet-Signature. Requests to builders are signed in the first one.
	SignatureHeaders []string
	// LenientSignatures accepts signatures without 0x.
	LenientSignatures bool
	// Literal follows the interface description where deployed services do something else
	// (docs/differences.md). It sets LegacyErrors, and DetailsDelay to 4 hours and TotalsEvery to 7
	// days if these are 0.
	Literal bool
	// LegacyErrors answers single requests with {"error":"text"} and a status, as services did before
	// 2024.
	LegacyErrors bool
	// TraceEndpoint is the URL of an OpenTelemetry collector (OTLP over HTTP); empty for none.
	TraceEndpoint string
	// Region is the operator's name of the place where this runs, for the metrics; it may be empty.
	Region string
	// ExecutionNodes says of each node, by host and port, whether it answers; nil if there are none.
	ExecutionNodes func() map[string]bool
	// StaleAfter is how old the newest block may be before the service reports that it is not ready
	// (chain time): 5 min.
	StaleAfter time.Duration
	// Simulations is how many run at a time: one for each processor.
	Simulations int
	// Limits bound what clients can use.
	Limits Limits
	// Clock is the real one unless a devnet sets its own.
	Clock clock.Clock
	// Observe, if set, is called with every fact in the order of the journal, shortly after it
	// happened.
	Observe func(rpc.Fact)
	Log     *slog.Logger
}

// Limits bound what clients can use. Zero takes the default that the comment names; a negative
// number of requests is unlimited.
type Limits struct {
	// PerSecond is the rate of requests of one client address: 10,000. SignerPerSecond is the rate
	// of one signer: 10,000.
	PerSecond, SignerPerSecond int
	// MethodPerSecond are rates of single methods, for each client address.
	MethodPerSecond map[string]int
	// Batch is how many requests a batch may have: 100.
	Batch int
	// RefundsPerPage is how many refunds an answer lists: 500.
	RefundsPerPage int
	// TrustedProxies may name the client in X-Forwarded-For.
	TrustedProxies []netip.Prefix
	// BodyBytes is the memory for request bodies that are being read or processed: 256 MiB, and
	// never less than 64 MiB.
	BodyBytes int64
	// BodyBytesPerSecond is the rate at which each body must arrive after its first second: 64,000.
	// Negative is unlimited.
	BodyBytesPerSecond int64
	// Connections is how many may be open: 8,192.
	Connections int
	// ConnectionsPerAddress is how many one address may have: 1,024; trusted proxies are not
	// limited.
	ConnectionsPerAddress int
	// Linger is how long requests are still accepted after the stop, while /readyz answers 503:
	// none.
	Linger time.Duration
	// Orders is how many may be alive at a time: 200,000. OrdersPerSigner is how many of one
	// signer: 20,000.
	Orders, OrdersPerSigner int
}

// Validate sets defaults, and returns an error if something is missing.
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
	// 0 means the default here, but unlimited in package jsonrpc.
	for _, rate := range []*int{&c.Limits.PerSecond, &c.Limits.SignerPerSecond} {
		*rate = cmp.Or(*rate, 10_000)
	}
	for field, value := range map[*int]int{
		&c.PrivateBlocks: 25, &c.MaxBackruns: 1, &c.RefundPercent: 90, &c.FastPercent: 50,
		&c.Limits.Batch: 100, &c.Limits.RefundsPerPage: 500, &c.Limits.Connections: 8192,
		&c.Limits.ConnectionsPerAddress: 1024, &c.Limits.Orders: 200_000,
		&c.Limits.OrdersPerSigner: 20_000,
	} {
		*field = cmp.Or(*field, value)
		*field = max(*field, 0)
	}
	return nil
}

// keepsLongEnough refuses a time after which facts are forgotten although their orders may still
// wait for their blocks: after a kill, the service would not find these orders again.
func (c *Config) keepsLongEnough(factsFor time.Duration) error {
	if life := pool.LongestLife * c.BlockTime; factsFor > 0 && factsFor < life {
		return fmt.Errorf("rpc: facts are kept for %s, but an order may wait %d blocks, which is %s: raise --facts-for",
			factsFor, pool.LongestLife, life)
	}
	return nil
}

// network is what the service knows of its network, for journal.KeepNetwork.
func (c *Config) network() map[string]string {
	known := map[string]string{"chain": c.ChainConfig.ChainID.String()}
	if c.Genesis != (common.Hash{}) {
		known["execution-genesis"] = c.Genesis.Hex()
	}
	return known
}

// rules are the limits for requests.
func (c *Config) rules() bundle.Config {
	limits := bundle.Defaults()
	limits.MaxBackruns, limits.PrivateBlocks = c.MaxBackruns, uint64(c.PrivateBlocks)
	limits.Literal = c.Literal
	limits.WantRefundPercent, limits.FastSharePercent = c.RefundPercent, c.FastPercent
	return limits
}
