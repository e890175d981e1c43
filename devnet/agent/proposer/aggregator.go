package proposer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/api"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay/client"
)

// Relay is a relay that proposers trust: its address, and the key that must have signed its bids (a
// zero key: any).
type Relay struct {
	Client *client.Client
	Pubkey phase0.BLSPubKey
}

// Aggregator is a minimal sidecar over several relays. It is safe for concurrent use.
type Aggregator struct {
	Spec   *eth.Spec
	Relays []Relay
	// MinBidWei is the least value that a bid must have; nil is none.
	MinBidWei *uint256.Int
	// V1 has relays reveal the payload too, which was the only way before fulu, and wants it to be the
	// one that was sold.
	V1 bool
	// Log says what is wrong with single relays; nil is silent.
	Log *slog.Logger

	mu sync.Mutex // guards offered
	// offered is who offered which header, of the last few slots: a slot's block may be submitted when
	// the next one has begun.
	offered map[phase0.Slot]map[phase0.Hash32][]Relay
}

// slotsOffered is how many slots offers are kept.
const slotsOffered = 8

var _ Sidecar = (*Aggregator)(nil)

// Register implements Sidecar: every relay is told; it is enough if one takes all.
func (a *Aggregator) Register(ctx context.Context, batch []*builderv1.SignedValidatorRegistration) error {
	return a.enough("register", forEach(a.Relays, func(_ int, r Relay) error {
		return r.Client.RegisterValidators(ctx, batch)
	}))
}

// Header implements Sidecar: all relays are asked at once, the best bid that holds up wins.
func (a *Aggregator) Header(ctx context.Context, slot phase0.Slot, parent phase0.Hash32,
	proposer phase0.BLSPubKey) (*Bid, error) {
	bids := make([]*Bid, len(a.Relays))
	errs := forEach(a.Relays, func(i int, r Relay) error {
		versioned, err := r.Client.Header(ctx, slot, parent, proposer)
		if err != nil || versioned == nil {
			return err
		}
		bid, err := checkBid(a.Spec, slot, parent, r.Pubkey, versioned)
		if err != nil {
			return fmt.Errorf("bid: %w", err)
		}
		if a.MinBidWei == nil || !bid.ValueWei.Lt(a.MinBidWei) {
			bids[i] = bid
		}
		return nil
	})
	var best *Bid
	from := map[phase0.Hash32][]Relay{}
	for i, bid := range bids {
		if bid == nil {
			continue
		}
		from[bid.BlockHash] = append(from[bid.BlockHash], a.Relays[i])
		if better(bid, best) {
			best = bid
		}
	}
	if best == nil {
		return nil, a.enough("get header", errs)
	}
	a.remember(slot, from)
	return best, nil
}

func (a *Aggregator) remember(slot phase0.Slot, from map[phase0.Hash32][]Relay) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.offered == nil {
		a.offered = map[phase0.Slot]map[phase0.Hash32][]Relay{}
	}
	a.offered[slot] = from
	for old := range a.offered {
		if old+slotsOffered <= slot {
			delete(a.offered, old)
		}
	}
}

// Submit implements Sidecar: the block goes to the relays that offered its header; it is enough if
// one publishes it.
func (a *Aggregator) Submit(ctx context.Context, block *api.VersionedSignedBlindedBeaconBlock) error {
	slot, err := block.Slot()
	if err != nil {
		return fmt.Errorf("read blinded block: %w", err)
	}
	hash, err := block.ExecutionBlockHash()
	if err != nil {
		return fmt.Errorf("read blinded block: %w", err)
	}
	a.mu.Lock()
	relays := a.offered[slot][hash]
	a.mu.Unlock()
	if len(relays) == 0 {
		return fmt.Errorf("no relay has offered %#x", hash[:])
	}
	return a.enough("submit", forEach(relays, func(_ int, r Relay) error {
		if a.V1 {
			return unblind(ctx, r.Client, block, hash)
		}
		return r.Client.SubmitBlindedBlock(ctx, block)
	}))
}

// unblind submits a block by v1 and wants the payload with a block hash for it.
func unblind(ctx context.Context, relay *client.Client, block *api.VersionedSignedBlindedBeaconBlock,
	hash phase0.Hash32) error {
	payload, err := relay.UnblindBlock(ctx, block)
	if err != nil {
		return err
	}
	revealed, err := payload.BlockHash()
	if err != nil {
		return fmt.Errorf("read payload: %w", err)
	}
	if revealed != hash {
		return fmt.Errorf("payload %#x is revealed for header %#x", revealed[:], hash[:])
	}
	return nil
}

// forEach does something with all relays at once and returns their errors in order, nil where there
// was none.
func forEach(relays []Relay, do func(int, Relay) error) []error {
	errs := make([]error, len(relays))
	var group sync.WaitGroup
	for i, r := range relays {
		group.Go(func() {
			if err := do(i, r); err != nil {
				errs[i] = fmt.Errorf("%s: %w", r.Client.URL(), err)
			}
		})
	}
	group.Wait()
	return errs
}

// enough is nil if one relay did what was wanted, and all errors otherwise; those that do not
// matter then are logged.
func (a *Aggregator) enough(what string, errs []error) error {
	err := errors.Join(errs...)
	if !slices.Contains(errs, nil) {
		return err
	}
	if err != nil && a.Log != nil {
		a.Log.Warn("a relay failed", "to", what, "error", err)
	}
	return nil
}

// Remote is a sidecar by URL, such as a real mev-boost, which speaks the Proposer API itself and
// has checked the bids.
type Remote struct {
	Client *client.Client
	Spec   *eth.Spec
}

var _ Sidecar = (*Remote)(nil)

// Register implements Sidecar.
func (s *Remote) Register(ctx context.Context, batch []*builderv1.SignedValidatorRegistration) error {
	return s.Client.RegisterValidators(ctx, batch)
}

// Header implements Sidecar.
func (s *Remote) Header(ctx context.Context, slot phase0.Slot, parent phase0.Hash32,
	proposer phase0.BLSPubKey) (*Bid, error) {
	versioned, err := s.Client.Header(ctx, slot, parent, proposer)
	if err != nil || versioned == nil {
		return nil, err
	}
	return checkBid(s.Spec, slot, parent, phase0.BLSPubKey{}, versioned)
}

// Submit implements Sidecar.
func (s *Remote) Submit(ctx context.Context, block *api.VersionedSignedBlindedBeaconBlock) error {
	return s.Client.SubmitBlindedBlock(ctx, block)
}
