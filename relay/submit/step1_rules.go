package submit

import (
	"context"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	utilbellatrix "github.com/attestantio/go-eth2-client/util/bellatrix"

	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/check"
)

func (p *Pipeline) refuseCancellation(_ context.Context, a *attempt) *relay.Refused {
	if a.submission.Cancellable && !p.Cancellations {
		return relay.SubmissionCancellations.Plain()
	}
	return nil
}

// checkRules applies the rules of relay/check. The signature of a bid that an API key vouches for
// is verified later: during the simulation, or after the bid counts.
func (p *Pipeline) checkRules(ctx context.Context, a *attempt) *relay.Refused {
	defer a.endStage(observe.Check, observe.Stage(ctx, observe.Check))
	a.rules = p.caseOf(a.submission)
	a.rules.Header, a.rules.SignatureLater = a.header, a.submission.Identified
	refused := p.firstBroken(a)
	a.authenticated = refused == nil
	if refused != nil && a.header == nil {
		return p.completeAfterSlot(ctx, a, refused)
	}
	return refused
}

// caseOf gathers what the rules compare a submission with.
func (p *Pipeline) caseOf(s *relay.Submission) *check.Case {
	slot := phase0.Slot(s.Trace.Slot)
	return &check.Case{
		Spec: p.Spec, Submission: s, HeadSlot: p.Chain.Head().Slot, NowSlot: p.Spec.SlotAt(p.Clock.Now()),
		Builder: p.Builders.Of(s.Trace.BuilderPubkey), Delivered: p.Slots.Delivered(slot),
		Duty: p.Chain.Duty(slot), Attributes: p.Chain.Attributes(slot, s.Trace.ParentHash),
	}
}

// firstBroken returns the refusal of the first rule that a submission breaks. It hashes the
// transactions while the signature is verified.
func (p *Pipeline) firstBroken(a *attempt) *relay.Refused {
	if a.header != nil || a.rules.SignatureLater {
		return check.Run(a.rules)
	}
	if refused := check.UpTo(check.Sidecars, a.rules); refused != nil {
		return refused
	}
	if a.ahead.HasRoot() && bytesOf(a.submission.Payload.Transactions) <= hashedUnverified {
		go func() { _, _ = a.ahead.TransactionsRoot() }() // its error is returned again when the root is needed
	}
	return verifySignature(a.rules, a.ahead.Verified())
}

// hashedUnverified is how many bytes of transactions are hashed before the signature has shown
// whose they are. Hashing this many costs less than verifying the signature.
const hashedUnverified = 512 << 10

func bytesOf(transactions []bellatrix.Transaction) (bytes int) {
	for _, tx := range transactions {
		bytes += len(tx)
	}
	return bytes
}

// verifySignature applies the rule of the signature, also if it was put off before. found is the
// result of an earlier verification; nil if there was none.
func verifySignature(rules *check.Case, found *check.Verified) *relay.Refused {
	now := *rules
	now.SignatureLater, now.Verified = false, found
	return check.Signature(&now)
}

// noTransactions is the root of an empty list of transactions: clients refuse such a block.
var noTransactions = func() phase0.Root {
	root, err := new(utilbellatrix.ExecutionPayloadTransactions).HashTreeRoot()
	if err != nil {
		panic(err) // an empty list has a root
	}
	return root
}()

// answerWorthless accepts a submission that can never lead, without effect.
func (p *Pipeline) answerWorthless(_ context.Context, a *attempt) *relay.Refused {
	empty := len(a.submission.Payload.Transactions) == 0
	if a.header != nil {
		empty = a.header.Header.TransactionsRoot == noTransactions
	}
	if empty || a.submission.Trace.Value.IsZero() {
		a.answer(accepted, "no value or no transactions: no effect")
	}
	return nil
}
