package envelopecheck

import "github.com/attestantio/go-eth2-client/spec/phase0"

// PrevRandao requires the randomness that the bid names.
func PrevRandao(c *Case) string {
	return differ(phase0.Root(c.Envelope.Message.Payload.PrevRandao), c.Bid.PrevRandao)
}
