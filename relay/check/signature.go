package check

import (
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
)

// Signature wants the builder's signature over the message under the builder domain (S17), made
// with a valid key (S18). The message commits to the block hash, and thereby to all of the block.
func Signature(c *Case) *relay.Refused {
	if c.SignatureLater {
		return nil
	}
	root, err := c.Submission.Trace.HashTreeRoot()
	if err != nil {
		return relay.Malformed.With("hash message: %v", err)
	}
	err = verify(c.Submission, eth.SigningRoot(root, c.Spec.BuilderDomain()))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bls.ErrPublicKey), errors.Is(err, bls.ErrSignature):
		return relay.SubmissionBuilderKey.With("%s", fmt.Sprint(err))
	default:
		return relay.SubmissionSignature.Plain()
	}
}

// verify takes what was found while the body was on its way, if it is of this very signature.
func verify(s *relay.Submission, root phase0.Root) error {
	if s.Ahead.Verified != nil {
		ahead := s.Ahead.Verified.Do()
		if ahead.Builder == s.Trace.BuilderPubkey && ahead.Root == root && ahead.Signature == s.Signature {
			return ahead.Err
		}
	}
	return bls.Verify(s.Trace.BuilderPubkey, root, s.Signature)
}
