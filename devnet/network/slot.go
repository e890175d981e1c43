package network

import (
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/devnet/beacon"
	"github.com/gavel-relay/gavel/devnet/beacon/epbs"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// Slot is what the canonical chain has for a slot.
type Slot struct {
	Proposer phase0.ValidatorIndex
	// Canonical says that the slot has a block on the chain that ends with the head. Without one,
	// the fields below are zero.
	Canonical  bool
	BlockHash  phase0.Hash32
	Txs, Blobs int
	// Withdrawn is what the payload pays from builders' stakes.
	Withdrawn []Withdrawal
	// Sale is set from gloas on. Without the payload (EMPTY), BlockHash is that of the bid, and the
	// block has neither transactions nor blobs.
	Sale *beacon.Sale
}

// Withdrawal is a payment from a builder's stake.
type Withdrawal struct {
	Builder gloas.BuilderIndex      `json:"builder_index"`
	To      common.Address          `json:"to"`
	Amount  phase0.Gwei             `json:"amount"`
	Index   capella.WithdrawalIndex `json:"index"`
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
	for _, w := range block.Withdrawals() {
		one := &capella.Withdrawal{ValidatorIndex: phase0.ValidatorIndex(w.Validator)}
		if builder, ok := epbs.BuilderOf(one); ok {
			found.Withdrawn = append(found.Withdrawn, Withdrawal{
				Builder: builder, To: w.Address, Amount: phase0.Gwei(w.Amount), Index: capella.WithdrawalIndex(w.Index),
			})
		}
	}
	found.Txs = len(block.Transactions())
	for _, tx := range block.Transactions() {
		found.Blobs += len(tx.BlobHashes())
	}
	return found
}
