package relay

import (
	"sync/atomic"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Ahead is what was begun for a submission while its body was still on the way; the zero value when
// nothing was. It says nothing of whether the submission is good, and nothing of it may be shown
// before all checks have passed. Each part names what exactly it was made of, so that it is used
// for that alone.
type Ahead struct {
	// TransactionsRoot waits for the root of the payload's transactions.
	TransactionsRoot func() (phase0.Root, error)
	// Verified is the verification of the builder's signature.
	Verified *Work[VerifiedAhead]
	// Signed is the relay's own signature on the bid. Its result is nil if it was not worth while.
	Signed *Work[*SignedAhead]
}

// VerifiedAhead is what came of verifying a signature over a signing root.
type VerifiedAhead struct {
	Builder   phase0.BLSPubKey
	Root      phase0.Root
	Signature phase0.BLSSignature
	Err       error // of bls.Verify
}

// SignedAhead is a bid that the relay has signed, in both encodings (see SignedBid).
type SignedAhead struct {
	Fork eth.Fork
	// Root is the hash tree root of the bid's message.
	Root      phase0.Root
	SSZ, JSON []byte
}

// Work is done once, by whoever needs it first; others wait. A goroutine that is to begin it may
// thus come late, and nobody waits for it to wake. What the work was made of is forgotten when it
// is done. It is safe for concurrent use.
type Work[T any] struct {
	begun atomic.Bool
	ended chan struct{} // closed when value is here
	work  func() T      // owned by who has begun
	value T
}

// NewWork is work that nobody has begun.
func NewWork[T any](work func() T) *Work[T] { return &Work[T]{work: work, ended: make(chan struct{})} }

// Do does the work, or waits for who does it, and returns its result.
func (w *Work[T]) Do() T {
	if w.begun.CompareAndSwap(false, true) {
		defer close(w.ended)
		w.value, w.work = w.work(), nil
		return w.value
	}
	<-w.ended
	return w.value
}

// Begun says that somebody does the work, or has done it.
func (w *Work[T]) Begun() bool { return w.begun.Load() }

// Done says that Do will not wait.
func (w *Work[T]) Done() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}
