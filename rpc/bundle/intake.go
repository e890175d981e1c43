package bundle

import (
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// Intake is what a request is judged by beside its own text.
type Intake struct {
	// Signer signed the request.
	Signer common.Address
	// At is when the request was complete.
	At time.Time
	// Head is the newest block.
	Head rpc.Head
	// Chain is the one that transactions must be for.
	Chain *Chain
	// Senders finds who sent transactions; nil is Chain.
	Senders Senders
	Limits  Config
}

func (in *Intake) senders() Senders {
	if in.Senders == nil {
		return in.Chain
	}
	return in.Senders
}

// Config are the numbers of the rules. Defaults has the interface description's.
type Config struct {
	// MaxTxs bounds eth_sendBundle and eth_callBundle, MaxShareTxs mev_sendBundle and mev_simBundle,
	// MaxBytes the raw transactions of all.
	MaxTxs, MaxShareTxs, MaxBytes int
	// MaxBackruns is how many transactions may follow what is backrun; 0 is unlimited.
	MaxBackruns int
	// MaxDepth is how deep bundles may be in bundles with mev_sendBundle, MaxSimDepth with
	// mev_simBundle.
	MaxDepth, MaxSimDepth int
	// MaxBlocksAhead is how far the block of an eth_sendBundle may be from the head: what waits longer
	// only costs memory; 0 is unlimited.
	MaxBlocksAhead uint64
	// MaxBlocksToFirst is how far the first block of a mev_sendBundle may be from the head,
	// MaxBlocksWide how far its last one from its first.
	MaxBlocksToFirst, MaxBlocksWide uint64
	// PrivateBlocks is for how many blocks a private transaction is tried.
	PrivateBlocks uint64
	// WantRefundPercent is the part of a backrun's value that goes back by default.
	WantRefundPercent int
	// FastEnabled honours preferences.fast: all builders, and FastSharePercent goes back.
	FastEnabled      bool
	FastSharePercent int
	// Literal reads requests as the interface description has them, where deployed services and their
	// clients differ (docs/differences.md).
	Literal bool
	// MaxTimeout bounds what a request may want for its simulation.
	MaxTimeout time.Duration
}

// Defaults are the numbers of the interface description, and beside them those of the open
// order-flow node.
func Defaults() Config {
	return Config{
		MaxTxs: 100, MaxShareTxs: 50, MaxBytes: 300_000, MaxBackruns: 1, MaxDepth: 1, MaxSimDepth: 5,
		MaxBlocksAhead: 1000, MaxBlocksToFirst: 5, MaxBlocksWide: 30, PrivateBlocks: 25,
		WantRefundPercent: 90, FastEnabled: true, FastSharePercent: 50, MaxTimeout: 30 * time.Second,
	}
}
