package relay

import (
	"slices"

	"github.com/attestantio/go-eth2-client/spec/deneb"

	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/internal/eth"
)

// headerFields are the fields of a header, each with a function that changes it, and the fork from
// which on headers have it.
var headerFields = []struct {
	name   string
	since  eth.Fork
	change func(h *deneb.ExecutionPayloadHeader)
}{
	{"parent_hash", eth.Bellatrix, func(h *deneb.ExecutionPayloadHeader) { h.ParentHash[3] ^= 1 }},
	{"fee_recipient", eth.Bellatrix, func(h *deneb.ExecutionPayloadHeader) { h.FeeRecipient[3] ^= 1 }},
	{"state_root", eth.Bellatrix, func(h *deneb.ExecutionPayloadHeader) { h.StateRoot[3] ^= 1 }},
	{"receipts_root", eth.Bellatrix, func(h *deneb.ExecutionPayloadHeader) { h.ReceiptsRoot[3] ^= 1 }},
	{"logs_bloom", eth.Bellatrix, func(h *deneb.ExecutionPayloadHeader) { h.LogsBloom[3] ^= 1 }},
	{"prev_randao", eth.Bellatrix, func(h *deneb.ExecutionPayloadHeader) { h.PrevRandao[3] ^= 1 }},
	{"block_number", eth.Bellatrix, func(h *deneb.ExecutionPayloadHeader) { h.BlockNumber++ }},
	{"gas_limit", eth.Bellatrix, func(h *deneb.ExecutionPayloadHeader) { h.GasLimit++ }},
	{"gas_used", eth.Bellatrix, func(h *deneb.ExecutionPayloadHeader) { h.GasUsed++ }},
	{"timestamp", eth.Bellatrix, func(h *deneb.ExecutionPayloadHeader) { h.Timestamp++ }},
	{"extra_data", eth.Bellatrix, func(h *deneb.ExecutionPayloadHeader) {
		h.ExtraData = slices.Clone(h.ExtraData)
		h.ExtraData[0] ^= 1
	}},
	{"base_fee_per_gas", eth.Bellatrix, func(h *deneb.ExecutionPayloadHeader) {
		h.BaseFeePerGas = h.BaseFeePerGas.Clone()
		h.BaseFeePerGas.AddUint64(h.BaseFeePerGas, 1)
	}},
	{"block_hash", eth.Bellatrix, func(h *deneb.ExecutionPayloadHeader) { h.BlockHash[3] ^= 1 }},
	{"transactions_root", eth.Bellatrix, func(h *deneb.ExecutionPayloadHeader) { h.TransactionsRoot[3] ^= 1 }},
	{"withdrawals_root", eth.Capella, func(h *deneb.ExecutionPayloadHeader) { h.WithdrawalsRoot[3] ^= 1 }},
	{"blob_gas_used", eth.Deneb, func(h *deneb.ExecutionPayloadHeader) { h.BlobGasUsed++ }},
	{"excess_blob_gas", eth.Deneb, func(h *deneb.ExecutionPayloadHeader) { h.ExcessBlobGas++ }},
}

// describeFields adds specs about blinded blocks whose header differs in one field from the served
// one.
func describeFields(r *specs) {
	r.It("REL-PAY-14", "refuses a header that differs in any field", func(t *suite.T) {
		a, s, block := r.prepareWon(t, 0)
		right := *block.Message.Body.ExecutionPayloadHeader
		for _, field := range headerFields {
			if !a.fork().Includes(field.since) {
				continue
			}
			wrong := right
			field.change(&wrong)
			block.Message.Body.ExecutionPayloadHeader = &wrong
			answer := a.ask(payloadPath, a.signBlind(block, a.proposer))
			t.Check(answer.Status == 400, "400 to another "+field.name, answer)
			checkRevealsNothing(t, answer, s)
		}
		block.Message.Body.ExecutionPayloadHeader = &right
		checkPayloadOf(t, a.readPayload(a.ask(payloadPath, a.signBlind(block, a.proposer))), s) // as it was, it is right
	})
}
