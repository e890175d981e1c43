package submit

import (
	"context"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/auction"
	"github.com/gavel-relay/gavel/relay/slots"
)

// ChainView is what the relay knows of the chain and of its proposers. Calls never block.
type ChainView interface {
	Head() relay.Head
	Duty(slot phase0.Slot) *relay.RegisteredDuty
	Attributes(slot phase0.Slot, parent phase0.Hash32) *relay.Attributes
}

// Builders says how builders are treated. Calls never block.
type Builders interface {
	// Of returns the zero value for a builder that the operator has not listed.
	Of(pubkey phase0.BLSPubKey) relay.Builder
	// Demote ends a builder's optimistic mode for all of its keys.
	Demote(at time.Time, name string, reason relay.Demotion) error
}

// TopBids serves the top bid of each auction. Show with nil ends the serving of one.
type TopBids interface {
	Show(key relay.Key, bid *relay.SignedBid)
}

// Escrow keeps payloads, and knows which of them proposers may still ask for. Needs and Settle
// never wait for I/O.
type Escrow interface {
	relay.Escrow
	// Settle notes that it is known whether a bid for a payload that was put leads, and that it was
	// shown if it does.
	Settle(id relay.PayloadID)
	// Needs says whether a payload leads its auction, led it lately, or belongs to a header that was
	// served.
	Needs(id relay.PayloadID) bool
	// Drop deletes a payload that is not needed.
	Drop(ctx context.Context, id relay.PayloadID) error
}

// Evidence keeps the submissions that builders were demoted for.
type Evidence interface {
	// Keep returns after the contents are stored permanently, under their block hash.
	Keep(ctx context.Context, contents *relay.Contents) error
}

// Config are the parts and rules of a Pipeline. All parts are needed, except Live, Unrecorded and
// ReportFailure.
type Config struct {
	Spec  *eth.Spec
	Clock clock.Clock
	Chain ChainView
	// Slots is shared with the delivery of payloads.
	Slots     *slots.Slots
	Builders  Builders
	Validator exec.Validator
	// Live says whether blocks can be executed at all now. If not, no bid is accepted optimistically.
	// nil means always.
	Live   func() bool
	Escrow Escrow
	// EscrowBytes is the size of the escrow, which is divided among builders; 0 for no bound.
	EscrowBytes int64
	Evidence    Evidence
	TopBids     TopBids
	Facts       relay.Facts
	// Unrecorded is called for a submission that is only counted and does not become a fact: it was
	// refused before a signature or an API key has shown whose it is, or a stranger sent it and it is
	// not recorded (isRecorded). If Unrecorded is nil, these become facts too. It must not block.
	Unrecorded func(relay.SubmissionJudged)
	// ReportFailure reports to the operator what no caller can be answered with. It must not block.
	ReportFailure func(action string, err error)
	// Key signs bids. Its public key is the relay's identity.
	Key *bls.SecretKey
	// ValidationTimeout bounds the execution of one block, in wall time.
	ValidationTimeout time.Duration
	// PayloadTimeout is how long after its header a payload may come, in chain time.
	PayloadTimeout time.Duration
	// Executors is how many blocks that were accepted optimistically are executed at a time; at least
	// one.
	Executors int
	// Cancellations allows ?cancellations=1.
	Cancellations bool
	// Log is the auction log that this instance shares with others, and Instance names this one there.
	// nil means that this is the only instance.
	Log      Log
	Instance string
}

// Pipeline receives submissions. It is safe for concurrent use. Run simulates what the optimistic
// queue holds.
type Pipeline struct {
	Config
	optimistic optimisticQueue
	senders    senderRecords
	factShares factShares

	mu           sync.Mutex // guards all below
	books        auction.Books
	prepared     map[bidID]*preparedBid               // of all bids in the books
	escrowed     map[relay.PayloadID]*escrowedPayload // what is in the escrow, or on its way
	awaited      map[bidID]*awaitedPayload            // headers whose payload has not come yet
	escrowShares escrowShares                         // of the escrow
	shared       *sharedAuction                       // in place of books; nil without a Log
}

// bidID identifies a bid. The block hash alone does not: a builder may offer one block at several
// values, two keys may offer the same block, and two messages may name different recipients for one
// block.
type bidID struct {
	builder   phase0.BLSPubKey
	block     phase0.Hash32
	value     [32]byte
	recipient relay.FeeRecipient
}

func idOf(bid *relay.Bid) bidID {
	return bidID{bid.Builder, bid.BlockHash, bid.ValueWei.Bytes32(), bid.FeeRecipient}
}

// New returns a pipeline without auctions.
func New(cfg Config) *Pipeline {
	p := &Pipeline{
		Config: cfg, prepared: map[bidID]*preparedBid{}, escrowed: map[relay.PayloadID]*escrowedPayload{},
		awaited:      map[bidID]*awaitedPayload{},
		escrowShares: escrowShares{bytes: cfg.EscrowBytes, least: leastShare},
		optimistic:   optimisticQueue{slots: cfg.Slots, jobs: map[bidID]*optimisticJob{}, wake: make(chan struct{}, 1)},
	}
	if cfg.Log != nil {
		p.shared = newSharedAuction()
	}
	return p
}

func (p *Pipeline) reportFailure(action string, err error) {
	if p.ReportFailure != nil {
		p.ReportFailure(action, err)
	}
}
