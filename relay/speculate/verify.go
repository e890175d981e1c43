package speculate

import (
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/check"
)

// verify returns the verification of a builder's signature, which the caller must begin at once. It
// is nil if the message breaks a cheap rule, or if too many signatures are being verified.
func (s *Speculator) verify(message *relay.Submission) *work[check.Verified] {
	if !s.Auction.WorthVerifying(message) {
		return nil // the pipeline refuses it, with the reason, when the whole body is here
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
