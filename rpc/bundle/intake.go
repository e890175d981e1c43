package bundle

import (
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/rpc"
)

// Intake is what a request's result depends on besides its own text.
type Intake struct {
	// Signer signed the request.
	Signer common.Address
	// At is when the request was complete.
	At time.Time
	// Head is the newest block.
	Head rpc.Head
	// Chain is the chain that transactions must be for.
	Chain *Chain
	// Senders finds the senders of transactions; nil uses Chain.
	Senders Senders
	Limits  Config
}

func (in *Intake) senders() Senders {
	if in.Senders == nil {
		return in.Chain
	}
	return in.Senders
}

// Config has the numbers of the rules. Defaults has those of the interface description.
type Config struct {
	// MaxTxs is the limit of eth_sendBundle and eth_callBundle, MaxShareTxs of mev_sendBundle and
	// mev_simBundle. MaxBytes is the limit of raw transactions for all of them.
	MaxTxs, MaxShareTxs, MaxBytes int
	// MaxBackruns is how many transactions may follow the order that is backrun; 0 is unlimited.
	MaxBackruns int
	// MaxDepth is how deep bundles may be nested with mev_sendBundle, MaxSimDepth with
	// mev_simBundle.
	MaxDepth, MaxSimDepth int
	// MaxBlocksAhead is how far the block of an eth_sendBundle may be from the head, because an
	// order that waits longer only costs memory; 0 is unlimited.
	MaxBlocksAhead uint64
	// MaxBlocksToFirst is how far the first block of a mev_sendBundle may be from the head;
	// MaxBlocksWide, how far its last block may be from its first.
	MaxBlocksToFirst, MaxBlocksWide uint64
	// PrivateBlocks is for how many blocks a private transaction is tried.
	PrivateBlocks uint64
	// WantRefundPercent is the part of a backrun's value that is given back by default.
	WantRefundPercent int
	// FastEnabled honours preferences.fast: the order goes to all builders, and FastSharePercent is
	// given back.
	FastEnabled      bool
	FastSharePercent int
	// Literal reads requests as the interface description says, where deployed services and their
	// clients do not follow it (docs/differences.md).
	Literal bool
	// MaxTimeout is the longest time that a request may ask for its simulation.
	MaxTimeout time.Duration
}

// Defaults has the numbers of the interface description; where that has none, those of the open
// order-flow node.
func Defaults() Config {
	return Config{
		MaxTxs: 100, MaxShareTxs: 50, MaxBytes: 300_000, MaxBackruns: 1, MaxDepth: 1, MaxSimDepth: 5,
		MaxBlocksAhead: 1000, MaxBlocksToFirst: 5, MaxBlocksWide: 30, PrivateBlocks: 25,
		WantRefundPercent: 90, FastEnabled: true, FastSharePercent: 50, MaxTimeout: 30 * time.Second,
	}
}
