package client

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
)

// Trace is an item of the Data API, as the relay sends it: all numbers are decimal strings.
type Trace struct {
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
	// ValuePaid is only in delivered payloads whose block was executed.
	ValuePaid string `json:"value_paid,omitempty"`
	// Timestamp, TimestampMs and Optimistic are only in received blocks.
	Timestamp   string `json:"timestamp,omitempty"`
	TimestampMs string `json:"timestamp_ms,omitempty"`
	Optimistic  bool   `json:"optimistic_submission,omitempty"`
}

// Delivered lists delivered payloads; the query is the endpoint's own.
func (c *Client) Delivered(ctx context.Context, query url.Values) ([]Trace, error) {
	return c.traces(ctx, "proposer_payload_delivered", query)
}

// Received lists received blocks; the query is the endpoint's own.
func (c *Client) Received(ctx context.Context, query url.Values) ([]Trace, error) {
	return c.traces(ctx, "builder_blocks_received", query)
}

func (c *Client) traces(ctx context.Context, list string, query url.Values) ([]Trace, error) {
	got, err := c.do(ctx, http.MethodGet, "/relay/v1/data/bidtraces/"+list+"?"+query.Encode(), nil, nil)
	if err != nil {
		return nil, err
	}
	var traces []Trace
	if err := json.Unmarshal(got.body, &traces); err != nil {
		return nil, fmt.Errorf("decode %s: %w", list, err)
	}
	return traces, nil
}
