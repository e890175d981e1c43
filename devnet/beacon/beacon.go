package beacon

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/core/types"

	"github.com/gavel-relay/gavel/devnet/beacon/epbs"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Execution is the execution node. *chain.Node implements it.
type Execution interface {
	// Import executes a payload. An error that wraps chain.ErrInvalid says that the payload breaks
	// a rule.
	Import(ctx context.Context, fork eth.Fork, p *payload.Payload, commitments []deneb.KZGCommitment,
		parentBeaconRoot phase0.Root,
		requests *electra.ExecutionRequests) error
	// ImportGloas is Import for payloads of gloas.
	ImportGloas(ctx context.Context, p *gloas.ExecutionPayload, commitments []deneb.KZGCommitment,
		parentBeaconRoot phase0.Root, requests *gloas.ExecutionRequests) error
	// SetHead makes an imported payload the head.
	SetHead(ctx context.Context, hash phase0.Hash32) error
	// Build makes a block for a local proposal.
	Build(ctx context.Context, args chain.BuildArgs) (*chain.Built, error)
	// Pending returns transactions for such a block.
	Pending() []*types.Transaction
}

// Config says which network to emulate.
type Config struct {
	// Spec must have the GenesisValidatorsRoot that the function of this name returns for
	// Validators.
	Spec  *eth.Spec
	Clock clock.Clock
	// Validators propose in turn; their keys are bls.Derive("validator", index).
	Validators int
	// Seed determines the order of proposers and the first RANDAO mix.
	Seed      uint64
	Execution Execution
	// GenesisHash is the hash of the execution chain's genesis block.
	GenesisHash phase0.Hash32
	// ChainID is that of the execution chain.
	ChainID uint64
	// AttestationDeadline is until when in its slot a block is in time (chain time); 0 means a
	// third of the slot.
	AttestationDeadline time.Duration
	// GloasDeadline is AttestationDeadline for slots of gloas; 0 means a quarter of the slot.
	GloasDeadline time.Duration
	// Builders are staked from genesis on, for networks that have gloas in their schedule.
	Builders []gloas.Builder
	// BuilderTimeout is how long builders may take to answer a request for a bid (chain time); 0 means
	// 500 ms.
	BuilderTimeout time.Duration
	// CommitteeAbsent says in which slots the payload timeliness committee does not vote. nil means in
	// no slot.
	CommitteeAbsent func(slot phase0.Slot) bool
	// BidRefused is told of each builder that refuses a request for a bid: its URL, the status, and
	// the id in the X-Refusal header, if there is one. It must be safe for concurrent use; it may be
	// nil.
	BidRefused func(slot phase0.Slot, url string, status int, refusal string)
	// LocalTxLimit bounds the transactions of locally built blocks; 0 means 100.
	LocalTxLimit int
	// RefusesKnown says in which slots the node refuses a block that it has already, if the
	// publisher asks for a check of equivocations. Prysm does this, because it takes the same block
	// for an equivocation; the message is Prysm's. In other slots the answer is 200, as other nodes
	// do. nil means in no slot.
	RefusesKnown func(slot phase0.Slot) bool
	Log          *slog.Logger
}

// Beacon is a beacon node. It is safe for concurrent use.
type Beacon struct {
	cfg      Config
	log      *slog.Logger
	schedule schedule
	keys     []*bls.SecretKey
	events   *hub
	proofs   *proofCache

	importing sync.Mutex   // one block is imported at a time; locked before following
	following sync.Mutex   // the head is changed by one goroutine at a time; locked before mu
	mu        sync.RWMutex // guards all fields below
	choice    *forkChoice
	head      *Block // the head that was announced last, with its payload or without
	status    epbs.Status
	recipient map[phase0.ValidatorIndex]bellatrix.ExecutionAddress
	announced map[attributesKey]bool
	blobs     map[phase0.Root]*payload.Blobs // of the last final block and later ones
	pools     map[string][]json.RawMessage   // operations that validators sent, by pool
	kept      map[phase0.Root]*produced      // local blocks that were handed out blinded
	market    market                         // of gloas: payloads that were revealed, bids, preferences
}

// New makes a beacon node that is at genesis.
func New(cfg Config) (*Beacon, error) {
	if err := cfg.Spec.Validate(); err != nil {
		return nil, err
	}
	for _, point := range cfg.Spec.Forks {
		if _, err := forms.Of(point.Fork, "blocks"); err != nil {
			return nil, fmt.Errorf("beacon node: %w", err)
		}
	}
	if cfg.Validators < 1 || cfg.Execution == nil || cfg.Clock == nil {
		return nil, errors.New("beacon node: validators, execution node and clock are needed")
	}
	if cfg.AttestationDeadline == 0 {
		cfg.AttestationDeadline = cfg.Spec.SlotDuration / 3
	}
	if cfg.GloasDeadline == 0 {
		cfg.GloasDeadline = partOf(cfg.Spec, attestationDue)
	}
	if cfg.BuilderTimeout == 0 {
		cfg.BuilderTimeout = 500 * time.Millisecond
	}
	if cfg.LocalTxLimit == 0 {
		cfg.LocalTxLimit = 100
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	genesis, err := genesisBlock(cfg)
	if err != nil {
		return nil, err
	}
	b := &Beacon{
		cfg: cfg, log: cfg.Log, schedule: schedule{validators: uint64(cfg.Validators), seed: cfg.Seed}, events: newHub(),
		proofs: newProofCache(),
		choice: newForkChoice(genesis, cfg.Spec.SlotsPerEpoch), head: genesis,
		recipient: map[phase0.ValidatorIndex]bellatrix.ExecutionAddress{},
		announced: map[attributesKey]bool{}, blobs: map[phase0.Root]*payload.Blobs{}, pools: map[string][]json.RawMessage{},
		kept: map[phase0.Root]*produced{}, market: newMarket(), status: epbs.Full,
	}
	for i := range cfg.Validators {
		b.keys = append(b.keys, bls.Derive("validator", uint64(i)))
	}
	if b.hasGloas() {
		if _, err := b.stateAt(genesis); err != nil {
			return nil, err
		}
		b.choice.tree = newPayloadTree(b.schedule, cfg.Spec, genesis)
	}
	return b, nil
}

// GenesisValidatorsRoot returns the root to which block signatures are bound: a hash over the
// validators' public keys.
func GenesisValidatorsRoot(validators int) phase0.Root {
	hash := sha256.New()
	for i := range validators {
		key := bls.Derive("validator", uint64(i)).PublicKey()
		hash.Write(key[:])
	}
	return phase0.Root(hash.Sum(nil))
}

// ValidatorKey returns the secret key of a validator.
func (b *Beacon) ValidatorKey(index phase0.ValidatorIndex) *bls.SecretKey { return b.keys[index] }

// Duty says who proposes in a slot.
func (b *Beacon) Duty(slot phase0.Slot) (phase0.ValidatorIndex, phase0.BLSPubKey) {
	index := b.schedule.proposer(slot)
	return index, b.keys[index].PublicKey()
}

// Head returns the block at the head of the chain.
func (b *Beacon) Head() *Block {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.choice.head()
}

// Canonical returns the block of a slot on the chain that ends with the head; false if the slot was
// missed or its block orphaned.
func (b *Beacon) Canonical(slot phase0.Slot) (*Block, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return b.choice.canonical(slot)
}

// Run follows the clock: in each slot it announces the next slot's payload attributes and lets the
// committees vote. It returns nil when the context ends.
func (b *Beacon) Run(ctx context.Context) error {
	spec := b.cfg.Spec
	for slot := spec.SlotAt(b.cfg.Clock.Now()); ; slot++ {
		if b.cfg.Clock.Until(ctx, spec.SlotStart(slot)) != nil {
			return nil
		}
		b.beginSlot(slot)
		if b.Head().Slot == slot {
			b.announce(slot + 1) // the genesis block is the only one that is there when its slot begins
		}
		if b.cfg.Clock.Until(ctx, spec.SlotStart(slot).Add(b.deadline(slot))) != nil {
			return nil
		}
		b.mu.Lock()
		b.choice.attest(slot)
		b.mu.Unlock()
		b.followAfter(ctx, slot)
		if isGloas(spec.ForkAt(slot)) && !b.runPayload(ctx, slot) {
			return nil
		}
	}
}

// followAfter follows the head when votes may have moved it. If no block came in time, builders of
// the next slot build on the present head.
func (b *Beacon) followAfter(ctx context.Context, slot phase0.Slot) {
	if err := b.followHead(ctx); err != nil {
		b.log.Error("follow head", "slot", slot, "error", err)
	}
	b.announce(slot + 1)
}

// deadline is until when in its slot a block is in time.
func (b *Beacon) deadline(slot phase0.Slot) time.Duration {
	if isGloas(b.cfg.Spec.ForkAt(slot)) {
		return b.cfg.GloasDeadline
	}
	return b.cfg.AttestationDeadline
}

// beginSlot moves the fork choice to a slot. It sends an event for a block that becomes final, and
// forgets the blobs of older blocks. Twice for a slot is as once.
func (b *Beacon) beginSlot(slot phase0.Slot) {
	b.mu.Lock()
	before := b.choice.final
	b.choice.beginSlot(slot)
	final := b.choice.final
	for root := range b.blobs {
		if block := b.choice.blocks[root]; block.Slot < final.Slot {
			delete(b.blobs, root)
		}
	}
	b.market.forget(slot, final.Slot)
	b.mu.Unlock()
	if final != before {
		b.events.send("finalized_checkpoint", b.finalEvent(final, b.cfg.Spec.EpochOf(slot)-finalAfter))
	}
}

// stateRoot returns the emulated root of the state after a block.
func stateRoot(parent phase0.Root, slot phase0.Slot) phase0.Root {
	return sha256.Sum256(binary.BigEndian.AppendUint64(append([]byte("gavel devnet state"), parent[:]...), uint64(slot)))
}
