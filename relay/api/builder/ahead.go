package builder

import (
	"net/http"
	"strings"

	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// Foresight begins what can be done for a submission while the rest of its body is on the way.
// Nothing that it does shows: what comes of it counts once the whole submission has passed
// Receiver. Its calls are safe for concurrent use and never block but for the work itself.
type Foresight interface {
	// VerifyAhead is told of message and signature. What it returns must be begun at once; nil if it
	// is not worth while.
	VerifyAhead(s *relay.Submission) *relay.Work[relay.VerifiedAhead]
	// SignAhead is told of all but proofs and blobs, of a builder that is known. nil if it is not
	// worth while.
	SignAhead(s *relay.Submission) *relay.SignedAhead
}

// ahead follows one body in SSZ while it comes, and has done what can be done meanwhile. The cheap
// comes before the dear, and before a builder is known, by an API key or a signature that is right,
// nothing of its block is looked at.
//
//	message, signature ─▶ API key, or cheap rules and verify ─┐
//	payload, commitments ─────────────────────────────────────┴─▶ hash the transactions ─▶ sign the relay's own bid
type ahead struct {
	wire.Ahead
	foresight   Foresight
	from        caller
	cancellable bool

	worth    bool // the message is here, and the rest is worth reading ahead
	verified *relay.Work[relay.VerifiedAhead]
	signed   *relay.Work[*relay.SignedAhead]
}

// aheadOf is for the body of a request.
func (a *skin) aheadOf(r *http.Request, from caller, cancellable bool) *ahead {
	whole := int64(0)
	if encoding := strings.ToLower(r.Header.Get("Content-Encoding")); encoding == "" || encoding == "identity" {
		whole = max(r.ContentLength, 0)
	}
	return &ahead{Ahead: wire.Ahead{ForkAt: a.Spec.ForkAt, Bytes: whole}, foresight: a.Foresight, from: from,
		cancellable: cancellable}
}

// arrived is told what of the body is here.
func (a *ahead) arrived(soFar []byte) {
	if message := a.Message(soFar); message != nil {
		a.begin(message)
	}
	if !a.worth {
		return
	}
	if a.known() {
		if hash := a.Transactions(soFar); hash != nil {
			go hash()
		}
	}
	if read := a.Block(soFar); read != nil {
		a.signed = relay.NewWork(func() *relay.SignedAhead { return a.sign(read) })
		go a.signed.Do()
	}
}

// known says that the builder is one: an API key, or a signature that was found right meanwhile,
// shows which.
func (a *ahead) known() bool {
	return a.from.identified || (a.verified != nil && a.verified.Done() && a.verified.Do().Err == nil)
}

// begin decides by the message whether the rest is worth while.
func (a *ahead) begin(message *relay.Submission) {
	message.Cancellable, message.Identified = a.cancellable, a.from.identified
	if a.from.identified {
		a.worth = a.from.owns(message.Trace.BuilderPubkey) == nil
		return
	}
	if a.verified = a.foresight.VerifyAhead(message); a.verified != nil {
		a.worth = true
		go a.verified.Do()
	}
}

// sign is done on a goroutine of its own, or by who needs what it makes.
func (a *ahead) sign(read func() *relay.Submission) *relay.SignedAhead {
	if a.verified != nil && a.verified.Do().Err != nil {
		return nil
	}
	if block := read(); block != nil {
		return a.foresight.SignAhead(block)
	}
	return nil
}
