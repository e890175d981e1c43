package proposer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/api"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay/client"
)

// Relay is a relay that proposers trust: its address, and the key that must have signed its bids (a zero key: any).
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
	Log       *slog.Logger

	mu      sync.Mutex // guards offered
	offered map[phase0.Hash32][]Relay
}

var _ Sidecar = (*Aggregator)(nil)

// Register implements Sidecar: every relay is told; it is enough if one takes all.
func (a *Aggregator) Register(ctx context.Context, batch []*builderv1.SignedValidatorRegistration) error {
	errs := a.each(func(r Relay) error { return r.Client.RegisterValidators(ctx, batch) })
	return unlessOne(errs)
}

// Header implements Sidecar: all relays are asked at once, the best bid that holds up wins.
func (a *Aggregator) Header(ctx context.Context, slot phase0.Slot, parent phase0.Hash32, proposer phase0.BLSPubKey) (*Bid, error) {
	var mu sync.Mutex // guards best and from
	var best *Bid
	from := map[phase0.Hash32][]Relay{}
	errs := a.each(func(r Relay) error {
		versioned, err := r.Client.Header(ctx, slot, parent, proposer)
		if err != nil || versioned == nil {
			return err
		}
		bid, err := checkBid(a.Spec, slot, parent, r.Pubkey, versioned)
		if err != nil {
			return fmt.Errorf("bid of %s: %w", r.Client.URL(), err)
		}
		if a.MinBidWei != nil && bid.ValueWei.Lt(a.MinBidWei) {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		from[bid.BlockHash] = append(from[bid.BlockHash], r)
		if better(bid, best) {
			best = bid
		}
		return nil
	})
	if best == nil {
		return nil, unlessOne(errs)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.offered = from // of this slot only
	return best, nil
}

// Submit implements Sidecar: the block goes to the relays that offered its header; it is enough if one publishes it.
func (a *Aggregator) Submit(ctx context.Context, block *api.VersionedSignedBlindedBeaconBlock) error {
	hash, err := block.ExecutionBlockHash()
	if err != nil {
		return err
	}
	a.mu.Lock()
	relays := a.offered[hash]
	a.mu.Unlock()
	if len(relays) == 0 {
		return fmt.Errorf("no relay has offered %#x", hash[:])
	}
	return unlessOne(forEach(relays, func(r Relay) error { return r.Client.SubmitBlindedBlock(ctx, block) }))
}

func (a *Aggregator) each(do func(Relay) error) []error { return forEach(a.Relays, do) }

// forEach does something with all relays at once and returns their errors in order, nil where there was none.
func forEach(relays []Relay, do func(Relay) error) []error {
	errs := make([]error, len(relays))
	var group sync.WaitGroup
	for i, r := range relays {
		group.Go(func() { errs[i] = do(r) })
	}
	group.Wait()
	return errs
}

// unlessOne is nil if one of the errors is, and all of them otherwise.
func unlessOne(errs []error) error {
	for _, err := range errs {
		if err == nil {
			return nil
		}
	}
	return errors.Join(errs...)
}

// Remote is a sidecar by URL, such as a real mev-boost, which speaks the Proposer API itself and has checked the bids.
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
func (s *Remote) Header(ctx context.Context, slot phase0.Slot, parent phase0.Hash32, proposer phase0.BLSPubKey) (*Bid, error) {
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
