package generate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/OffchainLabs/go-bitfield"
	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	"github.com/attestantio/go-eth2-client/api/v1/electra"
	"github.com/attestantio/go-eth2-client/spec/altair"
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/deliver"
	"github.com/gavel-relay/gavel/relay/slots"
	"github.com/gavel-relay/gavel/relay/wire"
)

// header returns the signed header of a bid that counts, in SSZ, as a proposer gets it.
func (h *house) header(spec *eth.Spec, one *counted) ([]byte, error) {
	c := one.contents
	header, err := payload.HeaderOf(c.Fork, c.Payload)
	if err != nil {
		return nil, err
	}
	ssz, _, err := wire.SignBid(wire.Bid{
		Fork: c.Fork, Header: header, Commitments: c.Blobs.Commitments, Requests: c.Requests, ValueWei: one.bid.ValueWei,
	}, h.key, spec.BuilderDomain())
	return ssz, err
}

// sign verifies a relay's header, and returns the signed blinded block with it, in SSZ. All in the
// block but the header is empty.
func (p *proposer) sign(spec *eth.Spec, a *slotAuction, relayKey phase0.BLSPubKey, header []byte) ([]byte, error) {
	bid := new(builderelectra.SignedBuilderBid)
	if err := bid.UnmarshalSSZ(header); err != nil {
		return nil, fmt.Errorf("read a header: %w", err)
	}
	root, err := bid.Message.HashTreeRoot()
	if err == nil {
		err = bls.Verify(relayKey, eth.SigningRoot(root, spec.BuilderDomain()), bid.Signature)
	}
	if err != nil {
		return nil, fmt.Errorf("verify a header: %w", err)
	}
	block := &electra.BlindedBeaconBlock{
		Slot: a.attributes.Slot, ProposerIndex: p.index, ParentRoot: a.attributes.ParentRoot,
		Body: &electra.BlindedBeaconBlockBody{
			ETH1Data:               &phase0.ETH1Data{BlockHash: make([]byte, 32)},
			SyncAggregate:          &altair.SyncAggregate{SyncCommitteeBits: bitfield.NewBitvector512()},
			ExecutionPayloadHeader: bid.Message.Header, BlobKZGCommitments: bid.Message.BlobKZGCommitments,
			ExecutionRequests: bid.Message.ExecutionRequests,
		},
	}
	if root, err = block.HashTreeRoot(); err != nil {
		return nil, fmt.Errorf("hash a blinded block: %w", err)
	}
	signed := &electra.SignedBlindedBeaconBlock{
		Message: block, Signature: p.secret.Sign(eth.SigningRoot(root, spec.ProposerDomain(a.attributes.Slot))),
	}
	return signed.MarshalSSZ()
}

// openDeliverer opens the part of a relay that reveals payloads. Its guard and its escrow are in
// memory, and the beacon node takes each block that it publishes.
func (w *world) openDeliverer(h *house) *deliver.Deliverer {
	const never = 24 * time.Hour // a slow machine must not change the outcome
	return deliver.New(deliver.Config{
		Spec: w.spec, Clock: houseClock{w, h}, Proposers: duties{w}, Payloads: h, Slots: new(slots.Slots), Guard: h,
		Publisher: h, Facts: unwritten{}, Log: slog.New(slog.DiscardHandler), CutOff: cutOff, PublishTimeout: never,
		StoreTimeout: never,
	})
}

// houseClock is a relay's clock.
type houseClock struct {
	*world
	*house
}

// Now implements clock.Clock.
func (c houseClock) Now() time.Time { return c.clock(c.now) }

// Until implements clock.Clock. Nobody hands over a block before its slot.
func (c houseClock) Until(ctx context.Context, _ time.Time) error { return ctx.Err() }

// duties say who proposes.
type duties struct{ *world }

// Duty implements deliver.Proposers.
func (d duties) Duty(slot phase0.Slot) *relay.RegisteredDuty { return d.dutyOf(slot) }

// Pubkey implements deliver.Proposers.
func (d duties) Pubkey(index phase0.ValidatorIndex) (phase0.BLSPubKey, bool) {
	if int(index) >= len(d.proposers) {
		return phase0.BLSPubKey{}, false
	}
	return d.proposers[index].key, true
}

// unwritten takes facts that rows have already.
type unwritten struct{}

// Record implements relay.Facts.
func (unwritten) Record(relay.Fact) {}

// Find implements deliver.Payloads. A relay may be asked for a payload that another one has
// published already.
func (h *house) Find(_ context.Context, _ phase0.Slot, block phase0.Hash32,
	fits func(*relay.Contents) bool) (*relay.Contents, error) {
	for _, c := range slices.Concat(h.counts, h.before) {
		if c.bid.BlockHash == block && fits(c.contents) {
			return c.contents, nil
		}
	}
	return nil, nil
}

// Claim implements deliver.Guard.
func (h *house) Claim(_ context.Context, slot phase0.Slot, root phase0.Root) (bool, error) {
	if slot > h.guarded {
		h.guarded, h.guardedRoot = slot, root
	}
	return slot == h.guarded && root == h.guardedRoot, nil
}

var errNothing = errors.New("nothing to publish")

// Publish implements deliver.Publisher.
func (h *house) Publish(_ context.Context, _ eth.Fork, _ phase0.Root, ssz []byte) error {
	if len(ssz) == 0 {
		return errNothing
	}
	return nil
}
