package client

import (
	"context"
	"fmt"
	"net/http"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// SubmitBlockV6 sends a block of gloas to the auction, in SSZ or JSON, as SubmitBlock does for the
// forks before.
func (c *Client) SubmitBlockV6(ctx context.Context, block *gloas.SignedBidSubmissionV6,
	o SubmitOptions) (SubmitResult, error) {
	encode, media := gloas.Mainnet.SignedBidSubmissionV6.Encode, mediaSSZ
	if c.json {
		encode, media = gloas.Mainnet.SignedBidSubmissionV6.ToJSON, mediaJSON
	}
	body, err := encode(block)
	if err != nil {
		return SubmitResult{}, fmt.Errorf("encode submission: %w", err)
	}
	return c.submit(ctx, http.Header{versionHeader: {"gloas"}, "Content-Type": {media}}, body, o)
}
