package proposer

import (
	"errors"
	"fmt"

	builderspec "github.com/attestantio/go-builder-client/spec"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
)

// Bid is a relay's bid that was checked.
type Bid struct {
	Versioned *builderspec.VersionedSignedBuilderBid
	ValueWei  *uint256.Int
	BlockHash phase0.Hash32
}

// emptyTransactions is the root of an empty list of transactions (consensus-specs, hash_tree_root
// of an empty list of at most 2^20).
var emptyTransactions = phase0.Root{
	0x7f, 0xfe, 0x24, 0x1e, 0xa6, 0x01, 0x87, 0xfd, 0xb0, 0x18, 0x7b, 0xfa, 0x22, 0xde, 0x35, 0xd1,
	0xf9, 0xbe, 0xd7, 0xab, 0x06, 0x1d, 0x94, 0x01, 0xfd, 0x47, 0xe3, 0x4a, 0x54, 0xfb, 0xed, 0xe1,
}

// checkBid checks that a bid is for the slot and on the parent, that it has a value and
// transactions, and that the relay has signed it. A zero relay key accepts the key that the bid
// names.
func checkBid(
	spec *eth.Spec, slot phase0.Slot, parent phase0.Hash32, relay phase0.BLSPubKey,
	v *builderspec.VersionedSignedBuilderBid,
) (*Bid, error) {
	if fork := spec.ForkAt(slot); eth.ForkOf(v.Version) != fork {
		return nil, fmt.Errorf("a %s bid in a slot of %s", v.Version, fork)
	}
	bid := &Bid{Versioned: v}
	var err error
	read := func(e error) { err = errors.Join(err, e) }
	value, e := v.Value()
	read(e)
	hash, e := v.BlockHash()
	read(e)
	parentHash, e := v.ParentHash()
	read(e)
	transactions, e := v.TransactionsRoot()
	read(e)
	timestamp, e := v.Timestamp()
	read(e)
	signer, e := v.Builder()
	read(e)
	root, e := v.MessageHashTreeRoot()
	read(e)
	signature, e := v.Signature()
	read(e)
	switch {
	case err != nil:
		return nil, fmt.Errorf("incomplete bid: %w", err)
	case value.IsZero():
		return nil, errors.New("the bid is worth nothing")
	case parentHash != parent:
		return nil, fmt.Errorf("the bid is on %#x, not on %#x", parentHash[:], parent[:])
	case transactions == emptyTransactions:
		return nil, errors.New("the block has no transactions")
	case timestamp != spec.Timestamp(slot):
		return nil, fmt.Errorf("timestamp %d, expected %d", timestamp, spec.Timestamp(slot))
	case relay != (phase0.BLSPubKey{}) && signer != relay:
		return nil, fmt.Errorf("signed by %#x, not by the relay", signer[:])
	}
	if err := bls.Verify(signer, eth.SigningRoot(root, spec.BuilderDomain()), signature); err != nil {
		return nil, fmt.Errorf("bid signature: %w", err)
	}
	bid.ValueWei, bid.BlockHash = value, hash
	return bid, nil
}

// better says whether bid a is preferred to b: it has a higher value, or the same value and a lower
// block hash, so that all proposers choose the same.
func better(a, b *Bid) bool {
	if b == nil {
		return true
	}
	if a.ValueWei.Eq(b.ValueWei) {
		return string(a.BlockHash[:]) < string(b.BlockHash[:])
	}
	return a.ValueWei.Gt(b.ValueWei)
}
