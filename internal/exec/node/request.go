package node

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/internal/exec"
)

// askable returns nil if a block has all that a request needs. A node judges by the signed message
// alone, so the message must promise the same fee recipient and value as the block's fields.
func askable(b *exec.Block) error {
	switch {
	case !b.Fork.HasBlindedBlocks() && !b.Fork.HasAccessLists(): // what a request of it looks like is unknown
		return fmt.Errorf("blocks of %s cannot be validated yet", b.Fork)
	case b.Fork.HasAccessLists() && b.Gloas == nil:
		return errors.New("the block comes without its access list")
	case b.Payload == nil || b.Payload.BaseFeePerGas == nil || b.ValueWei == nil:
		return errors.New("the block is incomplete")
	case b.Trace == nil || b.Trace.Value == nil:
		return errors.New("the block comes without the builder's message, which nodes judge by")
	case b.Trace.ProposerFeeRecipient != b.FeeRecipient || !b.Trace.Value.Eq(b.ValueWei):
		return errors.New("the builder's message promises something else than the block is to be judged by")
	}
	return nil
}

// request is the JSON-RPC request for a block. It is written without encoding/json: nearly all of
// it is hexadecimal digits, and reflection over megabytes of them costs many times as much as
// writing them (BenchmarkRequest).
func request(b *exec.Block) (*body, error) {
	w := writer{out: make([]byte, 0, shortBytes(b))}
	w.text(`{"jsonrpc":"2.0","id":1,"method":"`).text(b.Fork.Validation().Method).text(`","params":[`)
	if err := w.submission(b); err != nil {
		return nil, err
	}
	w.text(`]}`)
	return &body{w.out, w.gaps}, nil
}

// shortBytes estimates the length of a request without its long values: mostly commitments and
// proofs, and what is written around transactions.
func shortBytes(b *exec.Block) int {
	const digits = 2*len(deneb.KZGProof{}) + len(`"0x",`)
	size := 8<<10 + len(`"0x",`)*len(b.Payload.Transactions) + 256*len(b.Payload.Withdrawals)
	if b.Blobs != nil {
		size += digits * (len(b.Blobs.Commitments) + len(b.Blobs.Proofs))
	}
	return size
}

// writer appends JSON. It leaves gaps for long values, which are written when the request is sent.
type writer struct {
	out  []byte
	gaps []gap
}

func (w *writer) text(s string) *writer {
	w.out = append(w.out, s...)
	return w
}

// name begins a field: a comma unless it is the first of its object, and the key.
func (w *writer) name(key string) *writer {
	if last := w.out[len(w.out)-1]; last != '{' {
		w.out = append(w.out, ',')
	}
	w.out = append(append(append(w.out, '"'), key...), '"', ':')
	return w
}

func (w *writer) hex(key string, value []byte) { w.name(key).digits(value) }

// longValue is the length in bytes from which on a value becomes a gap.
const longValue = 256

func (w *writer) digits(value []byte) {
	w.out = append(w.out, `"0x`...)
	if len(value) < longValue {
		at := len(w.out)
		w.out = slices.Grow(w.out, 2*len(value))[:at+2*len(value)]
		encode(w.out[at:], value)
	} else {
		w.gaps = append(w.gaps, gap{len(w.out), value})
	}
	w.out = append(w.out, '"')
}

func (w *writer) number(key string, value uint64) {
	w.name(key)
	w.out = append(strconv.AppendUint(append(w.out, '"'), value, 10), '"')
}

func (w *writer) decimal(key, value string) { w.name(key).text(`"`).text(value).text(`"`) }

// writeList writes a field that is a list; an empty list is [] and never null.
func writeList[T any](w *writer, key string, list []T, each func(*T)) {
	w.name(key).text(`[`)
	for i := range list {
		if i > 0 {
			w.text(`,`)
		}
		each(&list[i])
	}
	w.text(`]`)
}

// submission is the builder's submission (relay-specs, "SubmitBlockRequest") with the fields that
// nodes want beside it.
func (w *writer) submission(b *exec.Block) error {
	w.text(`{`)
	w.trace(b)
	w.payload(b)
	if b.Fork.HasBlobs() {
		w.blobs(b)
	}
	if b.Fork.HasRequests() {
		w.requests(b)
	}
	w.hex("signature", b.Signature[:])
	w.number("registered_gas_limit", b.RegisteredGasLimit)
	if b.Fork.Validation().WithdrawalsRoot {
		root, err := payload.WithdrawalsRoot(b.Payload.Withdrawals)
		if err != nil {
			return err
		}
		w.hex("withdrawals_root", root[:])
	}
	if b.Fork.Validation().ParentBeaconRoot {
		w.hex("parent_beacon_block_root", b.ParentBeaconRoot[:])
	}
	w.text(`}`)
	return nil
}

func (w *writer) trace(b *exec.Block) {
	t := b.Trace
	w.name("message").text(`{`)
	w.number("slot", t.Slot)
	w.hex("parent_hash", t.ParentHash[:])
	w.hex("block_hash", t.BlockHash[:])
	w.hex("builder_pubkey", t.BuilderPubkey[:])
	w.hex("proposer_pubkey", t.ProposerPubkey[:])
	w.hex("proposer_fee_recipient", t.ProposerFeeRecipient[:])
	w.number("gas_limit", t.GasLimit)
	w.number("gas_used", t.GasUsed)
	w.decimal("value", t.Value.Dec())
	w.text(`}`)
}

func (w *writer) payload(b *exec.Block) {
	p := b.Payload
	w.name("execution_payload").text(`{`)
	w.hex("parent_hash", p.ParentHash[:])
	w.hex("fee_recipient", p.FeeRecipient[:])
	w.hex("state_root", p.StateRoot[:])
	w.hex("receipts_root", p.ReceiptsRoot[:])
	w.hex("logs_bloom", p.LogsBloom[:])
	w.hex("prev_randao", p.PrevRandao[:])
	w.number("block_number", p.BlockNumber)
	w.number("gas_limit", p.GasLimit)
	w.number("gas_used", p.GasUsed)
	w.number("timestamp", p.Timestamp)
	w.hex("extra_data", p.ExtraData)
	w.decimal("base_fee_per_gas", p.BaseFeePerGas.Dec())
	w.hex("block_hash", p.BlockHash[:])
	writeList(w, "transactions", p.Transactions, func(tx *bellatrix.Transaction) { w.digits(*tx) })
	if b.Fork.HasWithdrawals() {
		writeList(w, "withdrawals", p.Withdrawals, w.withdrawal)
	}
	if b.Fork.HasBlobs() {
		w.number("blob_gas_used", p.BlobGasUsed)
		w.number("excess_blob_gas", p.ExcessBlobGas)
	}
	if b.Fork.HasAccessLists() {
		w.hex("block_access_list", b.Gloas.AccessList)
		w.number("slot_number", uint64(b.Gloas.Slot))
	}
	w.text(`}`)
}

func (w *writer) withdrawal(each **capella.Withdrawal) {
	w.text(`{`)
	w.number("index", uint64((*each).Index))
	w.number("validator_index", uint64((*each).ValidatorIndex))
	w.hex("address", (*each).Address[:])
	w.number("amount", uint64((*each).Amount))
	w.text(`}`)
}

func (w *writer) blobs(b *exec.Block) {
	bundle := b.Blobs
	if bundle == nil {
		bundle = &payload.Blobs{}
	}
	w.name("blobs_bundle").text(`{`)
	writeList(w, "commitments", bundle.Commitments, func(each *deneb.KZGCommitment) { w.digits(each[:]) })
	writeList(w, "proofs", bundle.Proofs, func(each *deneb.KZGProof) { w.digits(each[:]) })
	writeList(w, "blobs", bundle.Blobs, func(each *deneb.Blob) { w.digits(each[:]) })
	w.text(`}`)
}

func (w *writer) requests(b *exec.Block) {
	list := b.Requests
	if list == nil {
		list = &electra.ExecutionRequests{}
	}
	w.name("execution_requests").text(`{`)
	writeList(w, "deposits", list.Deposits, func(each **electra.DepositRequest) {
		w.text(`{`)
		w.hex("pubkey", (*each).Pubkey[:])
		w.hex("withdrawal_credentials", (*each).WithdrawalCredentials)
		w.number("amount", uint64((*each).Amount))
		w.hex("signature", (*each).Signature[:])
		w.number("index", (*each).Index)
		w.text(`}`)
	})
	writeList(w, "withdrawals", list.Withdrawals, func(each **electra.WithdrawalRequest) {
		w.text(`{`)
		w.hex("source_address", (*each).SourceAddress[:])
		w.hex("validator_pubkey", (*each).ValidatorPubkey[:])
		w.number("amount", uint64((*each).Amount))
		w.text(`}`)
	})
	writeList(w, "consolidations", list.Consolidations, func(each **electra.ConsolidationRequest) {
		w.text(`{`)
		w.hex("source_address", (*each).SourceAddress[:])
		w.hex("source_pubkey", (*each).SourcePubkey[:])
		w.hex("target_pubkey", (*each).TargetPubkey[:])
		w.text(`}`)
	})
	if b.Fork.HasAccessLists() {
		w.builderRequests(b.Gloas)
	}
	w.text(`}`)
}

func (w *writer) builderRequests(added *payload.Gloas) {
	writeList(w, "builder_deposits", added.BuilderDeposits, func(each **gloas.BuilderDepositRequest) {
		w.text(`{`)
		w.hex("pubkey", (*each).Pubkey[:])
		w.hex("withdrawal_credentials", (*each).WithdrawalCredentials[:])
		w.number("amount", uint64((*each).Amount))
		w.hex("signature", (*each).Signature[:])
		w.text(`}`)
	})
	writeList(w, "builder_exits", added.BuilderExits, func(each **gloas.BuilderExitRequest) {
		w.text(`{`)
		w.hex("source_address", (*each).SourceAddress[:])
		w.hex("pubkey", (*each).Pubkey[:])
		w.text(`}`)
	})
}
