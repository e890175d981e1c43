package network

import (
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common"
	"github.com/holiman/uint256"

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
	ParentHash phase0.Hash32
	// Number and GasUsed are those of the payload.
	Number, GasUsed uint64
	// FeeRecipient is that of the payload: a builder's own account, or a proposer's.
	FeeRecipient common.Address
	Txs, Blobs   int
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
	found.ParentHash, found.Number, found.GasUsed = phase0.Hash32(block.ParentHash()), block.NumberU64(), block.GasUsed()
	found.FeeRecipient = block.Coinbase()
	found.Txs = len(block.Transactions())
	for _, tx := range block.Transactions() {
		found.Blobs += len(tx.BlobHashes())
	}
	return found
}

// PaidBy returns what the transactions of a block have paid to an account: by how much its balance
// has grown, without withdrawals.
func (n *Network) PaidBy(hash phase0.Hash32, payee common.Address) (*uint256.Int, error) {
	bc := n.Chain.Chain()
	b := bc.GetBlockByHash(common.Hash(hash))
	if b == nil {
		return nil, fmt.Errorf("the chain does not have block %#x", hash[:])
	}
	parent := bc.GetHeaderByHash(b.ParentHash())
	before, err := bc.StateAt(parent.Root, parent.Number, parent.Time)
	if err != nil {
		return nil, fmt.Errorf("read the state before: %w", err)
	}
	after, err := bc.StateAt(b.Root(), b.Number(), b.Time())
	if err != nil {
		return nil, fmt.Errorf("read the state after: %w", err)
	}
	had := before.GetBalance(payee).Clone()
	for _, w := range b.Withdrawals() {
		if w.Address == payee {
			had.Add(had, new(uint256.Int).Mul(uint256.NewInt(w.Amount), uint256.NewInt(1e9)))
		}
	}
	paid, spent := new(uint256.Int).SubOverflow(after.GetBalance(payee), had)
	if spent {
		return nil, fmt.Errorf("%s has spent more in block %#x than it was paid", payee, hash[:])
	}
	return paid, nil
}
