// Package deliver reveals payloads: a proposer sends a signed blinded block, the relay publishes
// the whole block, and only then returns the payload, if the proposer asked for it.
//
//	blinded block ─▶ proposer? ─▶ signature ─▶ escrow: header equal? ─▶ not late? ─▶ wait for the slot ─▶ guard ─▶ publish ─▶ reveal
//	                 400          400       400/503                 400                              400/503   400
//
// The guard is claimed before anything is published: it lets one block of a slot pass, ever, also
// after a crash. A block is published once; repeated requests for it wait for that publication and
// get its answer. A failed publication reveals nothing and may be tried again.
package deliver

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/slots"
)

// Proposers says who proposes. Calls never block.
type Proposers interface {
	// Duty is nil if the duty is not known.
	Duty(slot phase0.Slot) *relay.RegisteredDuty
	// Pubkey returns the key of a validator, for slots whose duty is not known.
	Pubkey(index phase0.ValidatorIndex) (phase0.BLSPubKey, bool)
}

// Guard lets one block of each slot pass. Its memory outlives the process.
type Guard interface {
	// Claim returns true for the first root of a slot and for that root again, false for any other.
	// After an error it is not known whether the claim was stored.
	Claim(ctx context.Context, slot phase0.Slot, root phase0.Root) (bool, error)
}

// Payloads finds the payloads of headers that were served.
type Payloads interface {
	// Find returns a payload under a block hash that fits, or nil without an error if none does.
	// Several builders may have put a payload under one hash.
	Find(ctx context.Context, slot phase0.Slot, blockHash phase0.Hash32, fits func(*relay.Contents) bool) (*relay.Contents,
		error)
}

// Headers knows which bids proposers were given. It never blocks.
type Headers interface {
	// LastServed returns the header that the slot's proposer was last given for a block; nil if that
	// is not known.
	LastServed(slot phase0.Slot, block phase0.Hash32) *relay.HeaderServed
}

// Publisher hands a signed block to the beacon nodes.
type Publisher interface {
	// Publish returns nil as soon as one node has accepted the block of this root, or has it already,
	// and an error if none has. The SSZ is a SignedBeaconBlock before deneb and SignedBlockContents
	// from deneb on.
	Publish(ctx context.Context, fork eth.Fork, root phase0.Root, ssz []byte) error
}

// Config are the parts and rules of a Deliverer.
type Config struct {
	Spec      *eth.Spec
	Clock     clock.Clock
	Proposers Proposers
	Payloads  Payloads
	// Slots is shared with relay/submit.
	Slots     *slots.Slots
	Guard     Guard
	Headers   Headers // nil if bids are known only from the escrow
	Publisher Publisher
	Facts     relay.Facts
	// Unrecorded is called for a refusal that is only counted and does not become a fact: the block
	// has no valid signature, or its validator has had many facts since the last head. If Unrecorded
	// is nil, these become facts too. It must not block.
	Unrecorded func(relay.PayloadRefused)
	Log        *slog.Logger
	// CutOff is how far into its slot a block is still accepted, in chain time; 0 means always.
	CutOff time.Duration
	// RevealDelay is how long a payload is held back after its publication, in chain time (v1 only).
	RevealDelay time.Duration
	// PublishTimeout bounds a publication, in wall time.
	PublishTimeout time.Duration
	// StoreTimeout bounds one call to the escrow or to the guard, in wall time; 0 means 2 s. The
	// proposer must get its answer while there is still time to ask again, or to ask another relay.
	StoreTimeout time.Duration
}

// defaultStoreTimeout is half of what a sidecar waits.
const defaultStoreTimeout = 2 * time.Second

// Deliverer delivers payloads. It is safe for concurrent use.
type Deliverer struct {
	Config

	mu       sync.Mutex                    // guards what follows
	recorded map[phase0.ValidatorIndex]int // how many refusals became facts since the last Close
	running  map[phase0.Root]*publication
}

// publication is the publishing of one block. done is closed when contents and refused are final.
type publication struct {
	slot     phase0.Slot
	contents *relay.Contents // what the block is published with
	stages   relay.StagesUs  // of the request that came first
	done     chan struct{}
	refused  *relay.Refused
	at       time.Time // when it was published
}

// New returns a Deliverer that has delivered nothing.
func New(cfg Config) *Deliverer {
	if cfg.StoreTimeout == 0 {
		cfg.StoreTimeout = defaultStoreTimeout
	}
	return &Deliverer{Config: cfg, running: map[phase0.Root]*publication{}}
}

// Deliver publishes the block that a proposer signed blind. It returns the contents once they may
// be revealed. With reveal false it returns them as soon as the block is published, and the caller
// must not reveal them (v2). Errors are *relay.Refused, or the context's if the client went away
// before the guard was claimed.
func (d *Deliverer) Deliver(ctx context.Context, at time.Time, block *relay.BlindedBlock,
	reveal bool) (*relay.Contents, error) {
	var stages relay.StagesUs
	signature := observe.Stage(ctx, observe.Signature)
	refused := d.checkProposer(block)
	stages.Add(observe.Signature, signature())
	if refused != nil {
		d.recordRefusal(at, block, refused, false)
		return nil, refused
	}
	contents, err := d.deliver(ctx, at, block, stages)
	if err != nil {
		d.recordRefusal(at, block, err, true)
		return nil, err
	}
	if reveal {
		if err := d.Clock.Until(ctx, d.publishedAt(block.Root).Add(d.RevealDelay)); err != nil {
			return nil, err
		}
	}
	return contents, nil
}

// deliver delivers a block whose proposer and signature are checked. The request's stages so far go
// into the fact.
func (d *Deliverer) deliver(ctx context.Context, at time.Time, block *relay.BlindedBlock,
	stages relay.StagesUs) (*relay.Contents, error) {
	escrow := observe.Stage(ctx, observe.Escrow)
	contents, err := d.contents(ctx, block)
	stages.Add(observe.Escrow, escrow())
	if err != nil {
		return nil, err
	}
	start := d.Spec.SlotStart(block.Slot)
	if d.CutOff > 0 && at.Sub(start) > d.CutOff {
		return nil, relay.PayloadTooLate.With("%d ms into the slot", at.Sub(start).Milliseconds())
	}
	if err := d.Clock.Until(ctx, start); err != nil {
		return nil, err
	}
	// From here on the block is published even if the proposer goes away, since the guard is claimed.
	published, refused := d.publishOnce(context.WithoutCancel(ctx), at, block,
		publication{slot: block.Slot, contents: contents, stages: stages})
	if refused != nil {
		return nil, refused
	}
	return published, nil
}

// contents returns the payload that was served under the block's header. If the payload still has
// to follow its header, contents waits for it.
func (d *Deliverer) contents(ctx context.Context, block *relay.BlindedBlock) (*relay.Contents, error) {
	for last := false; ; {
		contents, mismatch, err := d.find(ctx, block)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err() // the client went away
		case err != nil:
			d.Log.Error("read escrow", "slot", block.Slot, "error", err)
			return nil, relay.PayloadEscrowDown.Plain()
		case contents != nil:
			return contents, nil
		case !last: // it may be expected, or have come since
			last = !d.Slots.Await(ctx, block.Header.BlockHash)
		case mismatch != nil:
			return nil, mismatch
		default:
			return nil, relay.PayloadUnknown.With("%#x", block.Header.BlockHash[:])
		}
	}
}

// find looks for the payload of exactly the header that was signed. If there is only another
// payload under the same hash, mismatch says how it differs.
func (d *Deliverer) find(ctx context.Context,
	block *relay.BlindedBlock) (_ *relay.Contents, mismatch *relay.Refused, _ error) {
	ctx, cancel := context.WithTimeout(ctx, d.StoreTimeout)
	defer cancel()
	contents, err := d.Payloads.Find(ctx, block.Slot, block.Header.BlockHash, func(contents *relay.Contents) bool {
		mismatch = checkHeader(block, contents)
		return mismatch == nil
	})
	return contents, mismatch, err
}

// Close forgets the publications of slots before the given one, which the guard still remembers. It
// also begins to count recorded refusals anew.
func (d *Deliverer) Close(before phase0.Slot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.recorded)
	for root, p := range d.running {
		if p.slot < before {
			delete(d.running, root)
		}
	}
}
