package gloas

import (
	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/shape"
)

// ExecutionPayload is a block of the execution layer, with its access list (EIP-7928) and its slot
// (EIP-7843).
type ExecutionPayload struct {
	ParentHash    phase0.Hash32              `ssz-index:"0"`
	FeeRecipient  bellatrix.ExecutionAddress `ssz-index:"1"`
	StateRoot     phase0.Root                `ssz-index:"2"`
	ReceiptsRoot  phase0.Root                `ssz-index:"3"`
	LogsBloom     [256]byte                  `ssz-index:"4"`
	PrevRandao    [32]byte                   `ssz-index:"5"`
	BlockNumber   uint64                     `ssz-index:"6"`
	GasLimit      uint64                     `ssz-index:"7"`
	GasUsed       uint64                     `ssz-index:"8"`
	Timestamp     uint64                     `ssz-index:"9"`
	ExtraData     []byte                     `ssz-index:"10" ssz-max:"32"`
	BaseFeePerGas *uint256.Int               `ssz-index:"11" ssz-size:"32" ssz-type:"uint256"`
	BlockHash     phase0.Hash32              `ssz-index:"12"`
	Transactions  []bellatrix.Transaction    `ssz-index:"13" ssz-type:"progressive-list,progressive-list"`
	Withdrawals   []*capella.Withdrawal      `ssz-index:"14" ssz-type:"progressive-list"`
	BlobGasUsed   uint64                     `ssz-index:"15"`
	ExcessBlobGas uint64                     `ssz-index:"16"`
	// BlockAccessList is RLP; the header has its hash.
	BlockAccessList []byte      `ssz-index:"17" ssz-type:"progressive-list"`
	SlotNumber      phase0.Slot `ssz-index:"18"`
}

// maxExtraData is MAX_EXTRA_DATA_BYTES.
const maxExtraData = 32

func payloadShape() shape.Shape[ExecutionPayload] {
	type p = ExecutionPayload
	return shape.ProgressiveContainer(
		shape.In("parent_hash", hash32, func(p *p) *phase0.Hash32 { return &p.ParentHash }),
		shape.In("fee_recipient", address, func(p *p) *bellatrix.ExecutionAddress { return &p.FeeRecipient }),
		shape.In("state_root", root, func(p *p) *phase0.Root { return &p.StateRoot }),
		shape.In("receipts_root", root, func(p *p) *phase0.Root { return &p.ReceiptsRoot }),
		shape.In("logs_bloom", shape.Bytes(func(v *[256]byte) []byte { return v[:] }),
			func(p *p) *[256]byte { return &p.LogsBloom }),
		shape.In("prev_randao", bytes32, func(p *p) *[32]byte { return &p.PrevRandao }),
		number("block_number", func(p *p) *uint64 { return &p.BlockNumber }),
		number("gas_limit", func(p *p) *uint64 { return &p.GasLimit }),
		number("gas_used", func(p *p) *uint64 { return &p.GasUsed }),
		number("timestamp", func(p *p) *uint64 { return &p.Timestamp }),
		shape.In("extra_data", shape.ByteList[[]byte](maxExtraData), func(p *p) *[]byte { return &p.ExtraData }),
		shape.In("base_fee_per_gas", shape.Wei(), func(p *p) **uint256.Int { return &p.BaseFeePerGas }),
		shape.In("block_hash", hash32, func(p *p) *phase0.Hash32 { return &p.BlockHash }),
		shape.In("transactions", shape.ProgressiveOf(shape.ProgressiveBytes[bellatrix.Transaction](), eth.MostTransactions),
			func(p *p) *[]bellatrix.Transaction { return &p.Transactions }),
		shape.In("withdrawals", withdrawalsShape(), func(p *p) *[]*capella.Withdrawal { return &p.Withdrawals }),
		number("blob_gas_used", func(p *p) *uint64 { return &p.BlobGasUsed }),
		number("excess_blob_gas", func(p *p) *uint64 { return &p.ExcessBlobGas }),
		shape.In("block_access_list", shape.ProgressiveBytes[[]byte](), func(p *p) *[]byte { return &p.BlockAccessList }),
		number("slot_number", func(p *p) *phase0.Slot { return &p.SlotNumber }),
	)
}

func withdrawalsShape() shape.Shape[[]*capella.Withdrawal] {
	type w = capella.Withdrawal
	return shape.Progressive(shape.Pointer(shape.Container(
		number("index", func(w *w) *capella.WithdrawalIndex { return &w.Index }),
		number("validator_index", func(w *w) *phase0.ValidatorIndex { return &w.ValidatorIndex }),
		shape.In("address", address, func(w *w) *bellatrix.ExecutionAddress { return &w.Address }),
		number("amount", func(w *w) *phase0.Gwei { return &w.Amount }),
	)))
}
