package check

import (
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/gloas"
)

// signature requires the builder's signature over the bid.
func (c *BidCase) signature() string {
	root, err := gloas.Mainnet.ExecutionPayloadBid.Root(c.Bid.Message)
	if err != nil {
		return err.Error()
	}
	root = eth.SigningRoot(root, gloas.BuilderDomain(c.Spec, c.Bid.Message.Slot))
	if err := bls.Verify(c.Builder.Pubkey, root, c.Bid.Signature); err != nil {
		return err.Error()
	}
	return ""
}
