package envelopecheck

import "github.com/gavel-relay/gavel/internal/eth/gloas"

// Withdrawals requires those that the state expects, in their order.
func Withdrawals(c *Case) string {
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
