package submit

import (
	"runtime"
	"sync"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/check"
)

// foresight bounds what is done for submissions that are still on the way: it may turn out to be in
// vain, so most of the processors are left to those that are here. Who finds no room does without.
type foresight struct {
	signing   sync.Mutex // held while a bid is signed ahead: one at a time
	mu        sync.Mutex // guards verifying
	verifying int        // signatures: at most half as many as there are processors, but one at least
}

// enter takes room for a signature that is to be verified, if there is some.
func (f *foresight) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.verifying >= max(1, runtime.GOMAXPROCS(0)/2) {
		return false
	}
	f.verifying++
	return true
}

func (f *foresight) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.verifying--
}

// VerifyAhead is for a submission of which only message and signature are here: the verification of
// the signature, which the caller must begin at once. nil if the message breaks a rule that costs
// less, or if there is no room.
func (p *Pipeline) VerifyAhead(s *relay.Submission) *relay.Work[relay.VerifiedAhead] {
	facts := p.caseOf(s)
	if refused := check.First(check.OfMessage, facts); refused != nil { // is told when all is here
		return nil
	}
	root, err := s.Trace.HashTreeRoot()
	if err != nil || !p.foresight.enter() {
		return nil
	}
	ahead := relay.VerifiedAhead{
		Builder: s.Trace.BuilderPubkey, Root: eth.SigningRoot(root, p.Spec.BuilderDomain()), Signature: s.Signature,
	}
	return relay.NewWork(func() relay.VerifiedAhead {
		defer p.foresight.leave()
		ahead.Err = bls.Verify(ahead.Builder, ahead.Root, ahead.Signature)
		return ahead
	})
}

// SignAhead signs the bid of a submission of which all but proofs and blobs is here, and whose
// builder we know, by an API key or a verified signature. nil if it breaks a rule, would not be
// accepted optimistically, would not lead now, or if another bid is being signed ahead. The bid is
// not in the book, nor served by this: it is used if the submission is accepted, and if its bid is
// the same.
func (p *Pipeline) SignAhead(s *relay.Submission) *relay.SignedAhead {
	if !p.worthSigning(s) || !p.foresight.signing.TryLock() {
		return nil
	}
	defer p.foresight.signing.Unlock()
	bid, err := prepare(s)
	if err != nil { // is told when all is here
		return nil
	}
	message := bid.message(p.Key)
	root, err := message.Root()
	if err != nil {
		return nil
	}
	signed := &relay.SignedAhead{Fork: message.Fork, Root: root}
	signed.SSZ, signed.JSON, err = message.Encode(p.Key.Sign(eth.SigningRoot(root, p.Spec.BuilderDomain())))
	if err != nil {
		return nil
	}
	return signed
}

// worthSigning says whether a bid would lead at once, were it all here and right.
func (p *Pipeline) worthSigning(s *relay.Submission) bool {
	if (s.Cancellable && !p.Cancellations) || s.Trace.Value.IsZero() || len(s.Payload.Transactions) == 0 {
		return false
	}
	facts := p.caseOf(s)
	return check.First(check.OfBlock, facts) == nil && p.trusts(facts.Builder, s.Trace.Value) &&
		len(p.awaitedOf(s)) == 0 && p.leads(s)
}
