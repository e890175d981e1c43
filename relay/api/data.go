package api

import (
	"context"
	"net/http"
	"strconv"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"golang.org/x/sync/singleflight"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
)

// Archive answers queries. Lists are never nil. Errors are about the archive itself, such as
// relay.ArchiveUnavailable if it does not answer now.
type Archive interface {
	Delivered(ctx context.Context, q relay.TraceQuery) ([]relay.DeliveredTrace, error)
	Received(ctx context.Context, q relay.TraceQuery) ([]relay.ReceivedTrace, error)
	// ReceivedMark changes whenever the received submissions of a slot do. Reading it costs far less
	// than reading them.
	ReceivedMark(ctx context.Context, slot phase0.Slot) (relay.Mark, error)
	// Registration returns nil for a validator that has none.
	Registration(ctx context.Context, pubkey phase0.BLSPubKey) (*relay.SignedRegistration, error)
}

// DataConfig are the ports of the handlers.
type DataConfig struct{ Archive Archive }

// MountData adds the API to a mux.
func MountData(mux *serve.Mux, cfg DataConfig) {
	a := &dataHandlers{DataConfig: cfg}
	mux.Handle(http.MethodGet, "/relay/v1/data/bidtraces/proposer_payload_delivered", negotiateFirst(a.delivered))
	mux.Handle(http.MethodGet, "/relay/v1/data/bidtraces/builder_blocks_received", negotiateFirst(a.received))
	mux.Handle(http.MethodGet, "/relay/v1/data/validator_registration", negotiateFirst(a.registration))
}

type dataHandlers struct {
	DataConfig
	receivedAnswers answers
	// receivedReads are the reads under way, by the question and the mark of the slot's rows.
	receivedReads singleflight.Group
}

// trace is an item of both lists (relay-specs, BidTraceV2): all numbers are decimal strings.
type trace struct {
	Slot                 string `json:"slot"`
	ParentHash           string `json:"parent_hash"`
	BlockHash            string `json:"block_hash"`
	BuilderPubkey        string `json:"builder_pubkey"`
	ProposerPubkey       string `json:"proposer_pubkey"`
	ProposerFeeRecipient string `json:"proposer_fee_recipient"`
	GasLimit             string `json:"gas_limit"`
	GasUsed              string `json:"gas_used"`
	Value                string `json:"value"`
	NumTx                string `json:"num_tx"`
	BlockNumber          string `json:"block_number"`
}

func (trace) columns() []string {
	return []string{
		"slot", "parent_hash", "block_hash", "builder_pubkey", "proposer_pubkey", "proposer_fee_recipient", "gas_limit",
		"gas_used", "value",
		"num_tx", "block_number",
	}
}

func (t trace) cells() []string {
	return []string{
		t.Slot, t.ParentHash, t.BlockHash, t.BuilderPubkey, t.ProposerPubkey, t.ProposerFeeRecipient, t.GasLimit,
		t.GasUsed, t.Value,
		t.NumTx, t.BlockNumber,
	}
}

func traceOf(t relay.Trace) trace {
	decimal := func(n uint64) string { return strconv.FormatUint(n, 10) }
	return trace{
		Slot: decimal(uint64(t.Slot)), ParentHash: lowerHex(t.ParentHash[:]), BlockHash: lowerHex(t.BlockHash[:]),
		BuilderPubkey: lowerHex(t.Builder[:]), ProposerPubkey: lowerHex(t.Proposer[:]),
		ProposerFeeRecipient: lowerHex(t.FeeRecipient[:]),
		GasLimit:             decimal(t.GasLimit), GasUsed: decimal(t.GasUsed), Value: t.ValueWei.Dec(),
		NumTx:       strconv.Itoa(t.NumTx),
		BlockNumber: decimal(t.BlockNumber),
	}
}
