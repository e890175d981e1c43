package network

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/devnet/beacon"
)

// Slot is what the canonical chain has for a slot.
type Slot struct {
	Proposer phase0.ValidatorIndex
	// Canonical says that the slot has a block on the chain that ends with the head. Without one,
	// the fields below are zero.
	Canonical  bool
	BlockHash  phase0.Hash32
	Txs, Blobs int
	// Sale is set from gloas on. Without the payload (EMPTY), BlockHash is that of the bid, and the
	// block has neither transactions nor blobs.
	Sale *beacon.Sale
}

// SlotAt returns what the canonical chain has for a slot now.
func (n *Network) SlotAt(slot phase0.Slot) (found Slot) {
	found.Proposer, _ = n.Beacon.Duty(slot)
	canonical, ok := n.Beacon.Canonical(slot)
	if !ok {
		return found
	}
	found.Canonical, found.BlockHash = true, canonical.BlockHash
	if sale, ok := n.Beacon.SaleOf(canonical); ok {
		if found.Sale = &sale; !sale.Full {
			return found
		}
	}
	block := n.Chain.Chain().GetBlockByHash(common.Hash(canonical.BlockHash))
	if block == nil {
		return found
	}
	found.Txs = len(block.Transactions())
	for _, tx := range block.Transactions() {
		found.Blobs += len(tx.BlobHashes())
	}
	return found
}
