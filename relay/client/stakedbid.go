package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// SubmitBid sends a bid that a staked builder has signed itself, alone or with its payload, to a
// relay that takes such (docs/gloas.md).
func (c *Client) SubmitBid(ctx context.Context, signed *gloas.SignedBuilderBid) error {
	body, err := gloas.Mainnet.SignedBuilderBid.Encode(signed)
	if err != nil {
		return fmt.Errorf("encode bid: %w", err)
	}
	return c.sendGloas(ctx, "/relay/v1/builder/bids", body)
}

// SignEnvelope sends the builder's signature of the envelope of a payload that the relay has.
func (c *Client) SignEnvelope(ctx context.Context, signed *gloas.SignedBlindedExecutionPayloadEnvelope) error {
	body, err := gloas.Mainnet.SignedBlindedEnvelope.Encode(signed)
	if err != nil {
		return fmt.Errorf("encode envelope: %w", err)
	}
	return c.sendGloas(ctx, "/relay/v1/builder/envelopes", body)
}

// sendGloas sends a body in SSZ whose answer has no body.
func (c *Client) sendGloas(ctx context.Context, path string, body []byte) error {
	_, err := c.do(ctx, http.MethodPost, path, http.Header{versionHeader: {"gloas"}, "Content-Type": {mediaSSZ}}, body)
	return err
}
