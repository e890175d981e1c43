package speculate

import (
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/check"
)

// verify is the verification of a builder's signature, which the caller must begin at once; nil if
// the message breaks a cheap rule, or if too many are being verified.
func (s *Speculator) verify(message *relay.Submission) *work[check.Verified] {
	if !s.Auction.WorthVerifying(message) {
		return nil // it is refused, and told why, when all is here
	}
	root, err := message.Trace.HashTreeRoot()
	if err != nil || !s.takePlace() {
		return nil
	}
	verified := check.Verified{
		Builder: message.Trace.BuilderPubkey, Root: eth.SigningRoot(root, s.Spec.BuilderDomain()),
		Signature: message.Signature,
	}
	return newWork(func() check.Verified {
		defer s.leavePlace()
		verified.Err = s.Verify(verified.Builder, verified.Root, verified.Signature)
		return verified
	})
}
