package check

import (
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// signature requires the signature of who made the payload.
func (c *EnvelopeCase) signature() string {
	root, err := gloas.Mainnet.ExecutionPayloadEnvelope.Root(c.Envelope.Message)
	if err != nil {
		return err.Error()
	}
	root = eth.SigningRoot(root, gloas.BuilderDomain(c.Spec, c.Bid.Slot))
	if err := bls.Verify(c.Signer, root, c.Envelope.Signature); err != nil {
		return err.Error()
	}
	return ""
}
