package check

import "github.com/gavel-relay/gavel/internal/eth/gloas"

// requests requires the execution requests that the bid commits to.
func (c *EnvelopeCase) requests() string {
	root, err := gloas.Mainnet.ExecutionRequests.Root(c.Envelope.Message.ExecutionRequests)
	if err != nil {
		return err.Error()
	}
	return differ(root, c.Bid.ExecutionRequestsRoot)
}
