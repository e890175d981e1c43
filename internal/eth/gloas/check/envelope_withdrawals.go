package check

import "github.com/gavel-relay/gavel/internal/eth/gloas"

// withdrawals requires those that the state expects, in their order.
func (c *EnvelopeCase) withdrawals() string {
	got, err := gloas.Mainnet.Withdrawals.Root(&c.Envelope.Message.Payload.Withdrawals)
	if err != nil {
		return err.Error()
	}
	want, err := gloas.Mainnet.Withdrawals.Root(&c.Withdrawals)
	if err != nil {
		return err.Error()
	}
	return differ(got, want)
}
