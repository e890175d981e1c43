package speculate

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay/check"
	"github.com/gavel-relay/gavel/relay/wire"
)

// Ahead is the work that was begun for one submission. A nil Ahead and the zero value stand for no
// work. That work was begun does not mean that the submission is valid. Ahead is safe for
// concurrent use.
type Ahead struct {
	verification *work[check.Verified]
	root         *transactionsRoot
	signing      *Signing
}

// Verified waits for the verification of the builder's signature; nil if none was begun.
func (a *Ahead) Verified() *check.Verified {
	if a == nil || a.verification == nil {
		return nil
	}
	verified := a.verification.do()
	return &verified
}

// HasRoot says whether TransactionsRoot may be called: the root is being computed or can be.
func (a *Ahead) HasRoot() bool { return a != nil && a.root != nil }

// TransactionsRoot computes the root of the payload's transactions, or waits for it. Call it only
// if HasRoot.
func (a *Ahead) TransactionsRoot() (phase0.Root, error) {
	transactions := a.root.do()
	return transactions.root, transactions.err
}

// Signing returns the signing of the relay's bid; nil if it was not begun.
func (a *Ahead) Signing() *Signing {
	if a == nil {
		return nil
	}
	return a.signing
}

// Signing is the signing of a bid, which runs or has ended. It keeps no part of the body after its
// end.
type Signing struct{ *work[*signedBid] }

// IsDone says whether Bid returns without waiting.
func (s *Signing) IsDone() bool { return s.isDone() }

// Bid waits until the bid is signed. It returns the bid's encodings (see relay.SignedBid) if
// exactly this message was signed, and nil otherwise.
func (s *Signing) Bid(message *wire.Bid) (ssz, json []byte) {
	signed := s.do()
	if signed == nil || signed.fork != message.Fork {
		return nil, nil
	}
	// If there is an error, the caller signs the bid itself and gets it again.
	if root, err := message.Root(); err != nil || root != signed.root {
		return nil, nil
	}
	return signed.ssz, signed.json
}
