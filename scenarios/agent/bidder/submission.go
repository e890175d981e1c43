package bidder

import (
	"context"
	"fmt"
	"slices"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/agent/builder"
	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay/client"
)

// submission is a signed bid.
type submission struct {
	slot          phase0.Slot
	request       *builderspec.VersionedSubmitBlockRequest
	cancellations bool
}

// build makes a block of what is in the pool, which pays its proposer what the value asks for.
func (b *Bidder) build(ctx context.Context, a builder.Attributes, duty client.Duty,
	value func(*uint256.Int) *uint256.Int) (*chain.Built, error) {
	message := duty.Registration.Message
	to := common.Address(message.FeeRecipient)
	if slices.Contains(b.strategy.cheats, "payment") {
		to = crypto.PubkeyToAddress(b.Wallet.PublicKey)
	}
	pending := b.Node.Pending()
	return b.Node.Build(ctx, chain.BuildArgs{
		Parent: a.ParentHash, Slot: a.Slot, PrevRandao: a.PrevRandao, Withdrawals: a.Withdrawals,
		ParentBeaconRoot: a.ParentRoot,
		Coinbase:         crypto.PubkeyToAddress(b.Wallet.PublicKey), GasLimitTarget: message.GasLimit,
		ExtraData:    []byte(b.Name),
		Transactions: pending[:min(len(pending), b.TxLimit)],
		Payment:      &chain.Payment{From: b.Wallet, To: to, Share: value},
	})
}

// sign makes the submission of a block for a value: the trace says what is bid, and the builder's
// key signs it under the builder domain.
func (b *Bidder) sign(a builder.Attributes, duty client.Duty, built *chain.Built,
	valueWei *uint256.Int) (submission, error) {
	message := duty.Registration.Message
	trace := &builderv1.BidTrace{
		Slot: uint64(a.Slot), ParentHash: a.ParentHash, BlockHash: built.Hash(), BuilderPubkey: b.Key.PublicKey(),
		ProposerPubkey: message.Pubkey, ProposerFeeRecipient: message.FeeRecipient, GasLimit: built.Payload.GasLimit,
		GasUsed: built.Payload.GasUsed, Value: valueWei,
	}
	key, block := b.Key, *built.Payload
	for _, check := range b.strategy.cheats {
		key = cheat(check, trace, &block, key)
	}
	if slices.Contains(b.strategy.cheats, "state-root") {
		if err := b.rehash(a, built, &block); err != nil {
			return submission{}, err
		}
		trace.BlockHash = block.BlockHash
	}
	root, err := trace.HashTreeRoot()
	if err != nil {
		return submission{}, fmt.Errorf("hash bid trace: %w", err)
	}
	changed := *built
	changed.Payload = &block
	request, err := changed.Submission(trace, key.Sign(eth.SigningRoot(root, b.Spec.BuilderDomain())))
	return submission{slot: a.Slot, request: request}, err
}

// cheat breaks one check, and returns the key to sign with.
func cheat(check string, trace *builderv1.BidTrace, block *payload.Payload, key *bls.SecretKey) *bls.SecretKey {
	switch check {
	case "value":
		trace.Value = new(uint256.Int).Add(trace.Value, uint256.NewInt(1e18))
	case "block-hash":
		trace.BlockHash[0] ^= 1
	case "parent-hash":
		trace.ParentHash[0] ^= 1
	case "gas-limit":
		trace.GasLimit++
	case "gas-used":
		trace.GasUsed++
	case "timestamp":
		block.Timestamp++
	case "prev-randao":
		block.PrevRandao[0] ^= 1
	case "withdrawals":
		block.Withdrawals = nil
	case "fee-recipient":
		trace.ProposerFeeRecipient[0] ^= 1
	case "proposer":
		trace.ProposerPubkey = key.PublicKey()
	case "slot":
		trace.Slot--
	case "signature":
		return bls.Derive("somebody else", trace.Slot)
	case "state-root":
		block.StateRoot[0] ^= 1
	case "empty-payload":
		block.Transactions = nil
	}
	return key
}
