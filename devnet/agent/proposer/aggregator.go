package proposer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"

	builderapi "github.com/attestantio/go-builder-client/api"
	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/api"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay/client"
)

// Relay is a relay that proposers trust: a client of it, and the public key that must have signed
// its bids (a zero key accepts any).
type Relay struct {
	Client *client.Client
	Pubkey phase0.BLSPubKey
}

// Aggregator is a minimal sidecar for several relays. It is safe for concurrent use.
type Aggregator struct {
	Spec   *eth.Spec
	Relays []Relay
	// MinBidWei is the lowest value that a bid may have; nil means no limit.
	MinBidWei *uint256.Int
	// V1 makes relays answer with the payload, which was the only way before fulu, and checks that
	// it is the payload that was sold.
	V1 bool
	// Log reports failures of single relays; it may be nil.
	Log *slog.Logger

	mu sync.Mutex // guards offered
	// offered has the relays that offered each header in the last few slots. It has more than one
	// slot, because a slot's block may be submitted when the next slot has begun.
	offered map[phase0.Slot]map[phase0.Hash32][]Relay
}

// slotsOffered is for how many slots offers are kept.
const slotsOffered = 8

var _ Sidecar = (*Aggregator)(nil)

// Register implements Sidecar. It sends the batch to every relay; it is enough if one accepts it.
func (a *Aggregator) Register(ctx context.Context, batch []*builderv1.SignedValidatorRegistration) error {
	return a.enough("register", forEach(a.Relays, func(_ int, r Relay) error {
		return r.Client.RegisterValidators(ctx, batch)
	}))
}

// Header implements Sidecar. It asks all relays at once; the best valid bid wins.
func (a *Aggregator) Header(ctx context.Context, slot phase0.Slot, parent phase0.Hash32,
	proposer phase0.BLSPubKey) (*Bid, error) {
	bids := make([]*Bid, len(a.Relays))
	errs := forEach(a.Relays, func(i int, r Relay) error {
		versioned, err := askHeader(ctx, r, slot, parent, proposer)
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
	if a.offered[slot] == nil {
		a.offered[slot] = map[phase0.Hash32][]Relay{}
	}
	maps.Copy(a.offered[slot], from)
	for old := range a.offered {
		if old+slotsOffered <= slot {
			delete(a.offered, old)
		}
	}
}

// Submit implements Sidecar. It sends the block to the relays that offered its header; it is enough
// if one publishes it.
func (a *Aggregator) Submit(ctx context.Context, block *api.VersionedSignedBlindedBeaconBlock) error {
	relays, hash, err := a.offering(block)
	if err != nil {
		return err
	}
	return a.enough("submit", forEach(relays, func(_ int, r Relay) error {
		if a.V1 {
			_, err := unblind(ctx, r.Client, block, hash)
			return err
		}
		return publish(ctx, r.Client, block, hash)
	}))
}

// offering returns the relays that offered a block's header, and its hash. It returns an error if
// there is none.
func (a *Aggregator) offering(block *api.VersionedSignedBlindedBeaconBlock) (list []Relay, hash phase0.Hash32,
	err error) {
	slot, err := block.Slot()
	if err != nil {
		return nil, hash, fmt.Errorf("read blinded block: %w", err)
	}
	if hash, err = block.ExecutionBlockHash(); err != nil {
		return nil, hash, fmt.Errorf("read blinded block: %w", err)
	}
	a.mu.Lock()
	list = a.offered[slot][hash]
	a.mu.Unlock()
	if len(list) == 0 {
		return nil, hash, fmt.Errorf("no relay has offered %#x", hash[:])
	}
	return list, hash, nil
}

// publish submits a block by version 2 of the endpoint, and by version 1 to a relay that does not
// have version 2.
func publish(ctx context.Context, relay *client.Client, block *api.VersionedSignedBlindedBeaconBlock,
	hash phase0.Hash32) error {
	err := relay.SubmitBlindedBlock(askPayload(ctx, block, hash), block)
	if client.IsRefused(err, http.StatusNotFound) {
		_, err = unblind(ctx, relay, block, hash)
	}
	return err
}

// unblind submits a block by version 1 of the endpoint, and checks the block hash of the payload in
// the answer.
func unblind(ctx context.Context, relay *client.Client, block *api.VersionedSignedBlindedBeaconBlock,
	hash phase0.Hash32) (*builderapi.VersionedSubmitBlindedBlockResponse, error) {
	payload, err := relay.UnblindBlock(askPayload(ctx, block, hash), block)
	if err != nil {
		return nil, err
	}
	revealed, err := payload.BlockHash()
	if err != nil {
		return nil, fmt.Errorf("read payload: %w", err)
	}
	if revealed != hash {
		return nil, fmt.Errorf("payload %#x is revealed for header %#x", revealed[:], hash[:])
	}
	return payload, nil
}

// forEach calls a function for all relays at once and returns the errors in the relays' order, nil
// where there was none.
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

// enough returns nil if one relay did what was asked, and otherwise all errors. If one did, it logs
// the errors of the others.
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

// Remote is a sidecar at a URL, such as a real mev-boost. It offers the Proposer API itself, and
// has checked the relays' signatures.
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
