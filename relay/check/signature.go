package check

import (
	"errors"
	"fmt"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
)

// Signature requires the builder's signature over the message under the builder domain, made with a
// valid key (REL-SUB-04). The message commits to the block hash, and thereby to the whole block.
func Signature(c *Case) *relay.Refused {
	if c.SignatureLater {
		return nil
	}
	root, err := c.Submission.Trace.HashTreeRoot()
	if err != nil {
		return relay.Malformed.With("hash message: %v", err)
	}
	err = verify(c, eth.SigningRoot(root, c.Spec.BuilderDomain()))
	switch {
	case err == nil:
		return nil
	case errors.Is(err, bls.ErrPublicKey), errors.Is(err, bls.ErrSignature):
		return relay.SubmissionBuilderKey.With("%s", fmt.Sprint(err))
	default:
		return relay.SubmissionSignature.Plain()
	}
}

// Verified is the result of an earlier verification of a signature over a signing root.
type Verified struct {
	Builder   phase0.BLSPubKey
	Root      phase0.Root
	Signature phase0.BLSSignature
	Err       error // what bls.Verify returned
}

// verify returns the earlier result, if it is of the same signature, and verifies otherwise.
func verify(c *Case, root phase0.Root) error {
	builder, signature := c.Submission.Trace.BuilderPubkey, c.Submission.Signature
	if v := c.Verified; v != nil && v.Builder == builder && v.Root == root && v.Signature == signature {
		return v.Err
	}
	return bls.Verify(builder, root, signature)
}
