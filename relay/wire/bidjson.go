package wire

import (
	"encoding/hex"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/payload"
)

// json encodes the bid in the envelope of an answer.
//
//	{"version":…,"data":{"message":{"header":{…},["blob_kzg_commitments":[…],["execution_requests":{…},]]
//	  "value":…,"pubkey":…},"signature":…}}
func (b *Bid) json(signature phase0.BLSSignature) ([]byte, error) {
	to := make(text, 0, 4096+len(b.Commitments)*(2*kzgBytes+5))
	to = append(append(append(to, `{"version":"`...), b.Fork.String()...), `","data":{"message":{"header":{`...)
	to = to.header(b.Fork, b.Header)
	to = append(to, `},`...)
	if b.Fork.HasBlobs() {
		to = append(to, `"blob_kzg_commitments":[`...)
		for i := range b.Commitments {
			if i > 0 {
				to = append(to, ',')
			}
			to = append(hex.AppendEncode(append(to, `"0x`...), b.Commitments[i][:]), '"')
		}
		to = append(to, `],`...)
	}
	if b.Fork.HasRequests() {
		requests, err := requestsJSON(b.Requests)
		if err != nil {
			return nil, err
		}
		to = append(append(append(to, `"execution_requests":`...), requests...), ',')
	}
	to = to.decimal("value", b.ValueWei)
	to = append(to, ',')
	to = to.hex("pubkey", b.Relay[:])
	to = append(to, `},`...)
	to = to.hex("signature", signature[:])
	return append(to, `}}`...), nil
}

// requestsJSON encodes requests. Most blocks have none, so that encoding is a constant.
func requestsJSON(requests *electra.ExecutionRequests) ([]byte, error) {
	if requests == nil || len(requests.Deposits)+len(requests.Withdrawals)+len(requests.Consolidations) == 0 {
		return []byte(`{"deposits":[],"withdrawals":[],"consolidations":[]}`), nil
	}
	return requestsOf(requests).MarshalJSON()
}

// text is JSON that is being written.
type text []byte

// header writes the fields of an ExecutionPayloadHeader in the shape of a fork.
func (t text) header(fork eth.Fork, h *payload.Header) text {
	t = append(t.hex("parent_hash", h.ParentHash[:]), ',')
	// in letters with the checksum (EIP-55)
	t = append(append(append(t, `"fee_recipient":"`...), h.FeeRecipient.String()...), `",`...)
	t = append(t.hex("state_root", h.StateRoot[:]), ',')
	t = append(t.hex("receipts_root", h.ReceiptsRoot[:]), ',')
	t = append(t.hex("logs_bloom", h.LogsBloom[:]), ',')
	t = append(t.hex("prev_randao", h.PrevRandao[:]), ',')
	t = append(t.number("block_number", h.BlockNumber), ',')
	t = append(t.number("gas_limit", h.GasLimit), ',')
	t = append(t.number("gas_used", h.GasUsed), ',')
	t = append(t.number("timestamp", h.Timestamp), ',')
	t = append(t.hex("extra_data", h.ExtraData), ',')
	t = append(t.decimal("base_fee_per_gas", h.BaseFeePerGas), ',')
	t = append(t.hex("block_hash", h.BlockHash[:]), ',')
	t = t.hex("transactions_root", h.TransactionsRoot[:])
	if fork.HasWithdrawals() {
		t = append(t, ',')
		t = t.hex("withdrawals_root", h.WithdrawalsRoot[:])
	}
	if fork.HasBlobs() {
		t = append(t, ',')
		t = append(t.number("blob_gas_used", h.BlobGasUsed), ',')
		t = t.number("excess_blob_gas", h.ExcessBlobGas)
	}
	return t
}

func (t text) hex(name string, raw []byte) text {
	return append(hex.AppendEncode(append(t.name(name), "0x"...), raw), '"')
}

func (t text) number(name string, number uint64) text {
	return append(strconv.AppendUint(t.name(name), number, 10), '"')
}

// decimal writes a number of 256 bits; nil means zero.
func (t text) decimal(name string, number *uint256.Int) text {
	if number == nil {
		return t.number(name, 0)
	}
	return append(append(t.name(name), number.Dec()...), '"')
}

// name begins a member whose value is a string.
func (t text) name(name string) text {
	return append(append(append(t, '"'), name...), `":"`...)
}
