package check

import (
	"errors"
	"fmt"

	"github.com/gavel-relay/gavel/internal/defect"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
)

// Signature wants the builder's signature over the message under the builder domain (S17), made with a valid key (S18). The message
// commits to the block hash, and thereby to all of the block.
func Signature(c *Case) *relay.Refused {
	if c.SignatureLater {
		return nil
	}
	root, err := c.Submission.Trace.HashTreeRoot()
	if err != nil {
		return relay.Malformed.With("hash message: %v", err)
	}
	err = bls.Verify(c.Submission.Trace.BuilderPubkey, eth.SigningRoot(root, c.Spec.BuilderDomain()), c.Submission.Signature)
	switch {
	case err == nil, defect.On(defect.UnsignedBid):
		return nil
	case errors.Is(err, bls.ErrPublicKey), errors.Is(err, bls.ErrSignature):
		return relay.SubmissionBuilderKey.With("%s", fmt.Sprint(err))
	default:
		return relay.SubmissionSignature.Plain()
	}
}
