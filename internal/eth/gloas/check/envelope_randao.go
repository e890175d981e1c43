package check

import "github.com/attestantio/go-eth2-client/spec/phase0"

// prevRandao requires the randomness that the bid names.
func (c *EnvelopeCase) prevRandao() string {
	return differ(phase0.Root(c.Envelope.Message.Payload.PrevRandao), c.Bid.PrevRandao)
}
