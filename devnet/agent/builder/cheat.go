package builder

import (
	"fmt"
	"slices"
	"time"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/beacon/engine"
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/devnet/chain"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// Conduct says which rules a builder breaks; the zero value is honest.
type Conduct struct {
	// Cheats are the rules that it breaks in every submission.
	Cheats []Cheat
	// Burst is how many more submissions of the same block it sends after each bid, all at once.
	Burst int
	// Replay sends each submission again in the next auction, with its old signature.
	Replay bool
	// Stall is for how long it stops reading leading bids after the first one, in chain time.
	Stall time.Duration
	// Stubborn stays with the first parent that is announced for a slot.
	Stubborn bool
	// Exit asks the chain to let the builder go, when its first auction begins.
	Exit bool
	// Withhold keeps the payloads that a staked builder has sold, WithholdBlobs only their blobs.
	// RevealAt is the earliest time in its slot at which a payload is revealed.
	Withhold, WithholdBlobs bool
	RevealAt                time.Duration
}

// follows says whether the builder turns from the block on which it works to another announcement.
func (c Conduct) follows(now, next Attributes) bool { return !c.Stubborn || next.Slot != now.Slot }

// Cheat is a way to break a rule, named after the field or the rule.
type Cheat string

// CheatPayment pays the builder itself and not the proposer. CheatStateRoot changes the block so
// that only execution shows the fault. The others are named after the field that they change.
const (
	CheatValue        Cheat = "value"
	CheatPayment      Cheat = "payment"
	CheatBlockHash    Cheat = "block-hash"
	CheatParentHash   Cheat = "parent-hash"
	CheatGasLimit     Cheat = "gas-limit"
	CheatGasUsed      Cheat = "gas-used"
	CheatTimestamp    Cheat = "timestamp"
	CheatPrevRandao   Cheat = "prev-randao"
	CheatWithdrawals  Cheat = "withdrawals"
	CheatFeeRecipient Cheat = "fee-recipient"
	CheatProposer     Cheat = "proposer"
	CheatSlot         Cheat = "slot"
	CheatSignature    Cheat = "signature"
	CheatStateRoot    Cheat = "state-root"
	CheatEmptyPayload Cheat = "empty-payload"
)

// Known says whether there is such a cheat.
func (on Cheat) Known() bool { return slices.Contains(cheats, on) }

// cheats lists all cheats.
var cheats = []Cheat{
	CheatValue, CheatPayment, CheatBlockHash, CheatParentHash, CheatGasLimit, CheatGasUsed, CheatTimestamp,
	CheatPrevRandao, CheatWithdrawals, CheatFeeRecipient, CheatProposer, CheatSlot, CheatSignature,
	CheatStateRoot, CheatEmptyPayload,
}

func (c Conduct) cheats(on Cheat) bool { return slices.Contains(c.Cheats, on) }

// cheat breaks the rules of the conduct in a submission, and returns the key to sign with.
func (c Conduct) cheat(a Attributes, trace *builderv1.BidTrace, built *chain.Built,
	key *bls.SecretKey) (*bls.SecretKey, error) {
	for _, on := range c.Cheats {
		key = on.apply(trace, built.Payload, key)
	}
	if !c.cheats(CheatStateRoot) {
		return key, nil
	}
	if err := rehash(a, built); err != nil {
		return nil, err
	}
	trace.BlockHash = built.Hash()
	return key, nil
}

// apply breaks one rule, and returns the key to sign with.
func (on Cheat) apply(trace *builderv1.BidTrace, block *payload.Payload, key *bls.SecretKey) *bls.SecretKey {
	switch on {
	case CheatValue:
		trace.Value = new(uint256.Int).Add(trace.Value, uint256.NewInt(1e18))
	case CheatBlockHash:
		trace.BlockHash[0] ^= 1
	case CheatParentHash:
		trace.ParentHash[0] ^= 1
	case CheatGasLimit:
		trace.GasLimit++
	case CheatGasUsed:
		trace.GasUsed++
	case CheatTimestamp:
		block.Timestamp++
	case CheatPrevRandao:
		block.PrevRandao[0] ^= 1
	case CheatWithdrawals:
		block.Withdrawals = nil
	case CheatFeeRecipient:
		trace.ProposerFeeRecipient[0] ^= 1
	case CheatProposer:
		trace.ProposerPubkey = key.PublicKey()
	case CheatSlot:
		trace.Slot--
	case CheatSignature:
		return bls.Derive("somebody else", trace.Slot)
	case CheatStateRoot:
		block.StateRoot[0] ^= 1
	case CheatEmptyPayload:
		block.Transactions = nil
	case CheatPayment: // bid has built the block with the wrong payee already
	}
	return key
}

// rehash computes the hash of a changed block, so that only execution shows what is wrong with it.
func rehash(a Attributes, built *chain.Built) error {
	var hashes []common.Hash
	var root *common.Hash
	var items [][]byte
	if built.Fork.HasBlobs() {
		hashes, root = []common.Hash{}, (*common.Hash)(&a.ParentRoot)
		for _, commitment := range built.Blobs.Commitments {
			hashes = append(hashes, payload.VersionedHash(commitment))
		}
	}
	if built.Fork.HasRequests() {
		var err error
		if items, err = payload.EncodeRequests(built.Requests); err != nil {
			return fmt.Errorf("hash changed block: %w", err)
		}
	}
	whole, err := engine.ExecutableDataToBlockNoHash(payload.ToEngine(built.Fork, built.Payload), hashes, root, items)
	if err != nil {
		return fmt.Errorf("hash changed block: %w", err)
	}
	built.Payload.BlockHash = phase0.Hash32(whole.Hash())
	return nil
}
