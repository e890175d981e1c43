package builder

import (
	"context"
	"errors"
	"fmt"
	"sync"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	builderspec "github.com/attestantio/go-builder-client/spec"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay/client"
)

// sign makes the submission of a block: the trace says what is bid, and the builder's key signs it
// under the builder domain.
func (b *Builder) sign(a Attributes, duty client.Duty,
	built *chain.Built) (*builderspec.VersionedSubmitBlockRequest, error) {
	message := duty.Registration.Message
	trace := &builderv1.BidTrace{
		Slot: uint64(a.Slot), ParentHash: a.ParentHash, BlockHash: built.Hash(), BuilderPubkey: b.Key.PublicKey(),
		ProposerPubkey: message.Pubkey, ProposerFeeRecipient: message.FeeRecipient, GasLimit: built.Payload.GasLimit,
		GasUsed: built.Payload.GasUsed, Value: built.PaidWei,
	}
	root, err := trace.HashTreeRoot()
	if err != nil {
		return nil, fmt.Errorf("hash bid trace: %w", err)
	}
	signature := b.Key.Sign(eth.SigningRoot(root, b.Spec.BuilderDomain()))

	return built.Submission(trace, signature)
}

// submit sends a bid to all relays at once. It is enough if one takes it; what the others say is
// logged.
func (b *Builder) submit(ctx context.Context, request *builderspec.VersionedSubmitBlockRequest) error {
	errs := make([]error, len(b.Relays))
	var group sync.WaitGroup
	for i, relay := range b.Relays {
		group.Go(func() {
			if _, err := relay.SubmitBlock(ctx, request, client.SubmitOptions{}); err != nil {
				errs[i] = fmt.Errorf("submit to %s: %w", relay.URL(), err)
			}
		})
	}
	group.Wait()
	err := errors.Join(errs...)
	for _, e := range errs {
		if e == nil {
			if err != nil {
				b.Log.Warn("bid not taken by all relays", "builder", b.Name, "error", err)
			}
			return nil
		}
	}
	return err
}
