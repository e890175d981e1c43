package speculate

import (
	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay/check"
	"github.com/gavel-relay/gavel/relay/wire"
)

// Ahead is what was begun for one submission. A nil one is of a submission for which nothing was
// begun; the zero value too. It says nothing of whether the submission is good. It is safe for
// concurrent use.
type Ahead struct {
	verification *work[check.Verified]
	root         *transactionsRoot
	signing      *Signing
}

// Verified waits for what was found of the builder's signature; nil if it is not being verified.
func (a *Ahead) Verified() *check.Verified {
	if a == nil || a.verification == nil {
		return nil
	}
	verified := a.verification.do()
	return &verified
}

// HasRoot says that TransactionsRoot has an answer: the root is being computed or can be.
func (a *Ahead) HasRoot() bool { return a != nil && a.root != nil }

// TransactionsRoot waits for the root of the payload's transactions. Only call it if HasRoot.
func (a *Ahead) TransactionsRoot() (phase0.Root, error) {
	transactions := a.root.do()
	return transactions.root, transactions.err
}

// Signing is the relay's signature on the bid; nil if it was not begun.
func (a *Ahead) Signing() *Signing {
	if a == nil {
		return nil
	}
	return a.signing
}

// Signing is a bid that is being signed, or was. It keeps nothing of the body once it is done.
type Signing struct{ *work[*signedBid] }

// IsDone says that Bid will not wait.
func (s *Signing) IsDone() bool { return s.isDone() }

// Bid waits until the bid is signed, and returns its encodings (see relay.SignedBid) if it is this
// very one; nil if not.
func (s *Signing) Bid(message *wire.Bid) (ssz, json []byte) {
	signed := s.do()
	if signed == nil || signed.fork != message.Fork {
		return nil, nil
	}
	// An error comes again when the bid is signed anew.
	if root, err := message.Root(); err != nil || root != signed.root {
		return nil, nil
	}
	return signed.ssz, signed.json
}
