package speculate

import (
	"runtime"
	"sync"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

// Auction says what is worth beginning. Calls never block and change nothing.
type Auction interface {
	// WorthVerifying: the message of a submission breaks no rule that costs less than its signature.
	WorthVerifying(message *relay.Submission) bool
	// WorthSigning: were proofs and blobs here and right, the bid would lead at once.
	WorthSigning(block *relay.Submission) bool
}

// Config are the parts of a Speculator. All are needed.
type Config struct {
	Spec    *eth.Spec
	Auction Auction
	// Key signs bids. Its public key is the relay's identity.
	Key *bls.SecretKey
	// Verify verifies a builder's signature: bls.Verify.
	Verify func(phase0.BLSPubKey, phase0.Root, phase0.BLSSignature) error
}

// Speculator bounds what is begun for submissions that are still on the way: that may be in vain,
// so most of the processors are left to those that are here. It is safe for concurrent use.
type Speculator struct {
	Config
	signing sync.Mutex // held while a bid is signed: one at a time

	mu        sync.Mutex // guards verifying
	verifying int        // signatures: at most half as many as there are processors, but one at least
}

// New returns a Speculator that has begun nothing.
func New(cfg Config) *Speculator { return &Speculator{Config: cfg} }

// Source is what a request says of its body.
type Source struct {
	// Owns says whether a public key is one of the builder whose API key came with the request; nil
	// without an API key.
	Owns func(phase0.BLSPubKey) bool
	// Cancellable is ?cancellations=1.
	Cancellable bool
	// Bytes is the announced length of the body as it is read; 0 if there is none.
	Bytes int64
}

// Body is one body in SSZ on its way. One goroutine may use it.
type Body struct {
	speculator *Speculator
	source     Source
	prefix     wire.Prefix
	worth      bool // the message is here, and the rest is worth reading
	hashing    hashing
	ahead      Ahead
}

// Follow is for a body of which nothing is here yet.
func (s *Speculator) Follow(source Source) *Body {
	return &Body{speculator: s, source: source, prefix: wire.Prefix{ForkAt: s.Spec.ForkAt, Bytes: source.Bytes}}
}

// Ahead is what was begun for the body.
func (b *Body) Ahead() *Ahead { return &b.ahead }

// Arrived is told what of the body is here, whenever more of it is; nobody may change these bytes
// any more. It begins on goroutines what can be begun, the cheap before the dear. Before the
// builder is known nothing of its block is looked at.
func (b *Body) Arrived(soFar []byte) {
	if message := b.prefix.Message(soFar); message != nil {
		b.worth = b.beginMessage(message)
	}
	if !b.worth {
		return
	}
	if b.isKnown() {
		if part := b.hashing.add(b.prefix.Transactions(soFar)); part != nil {
			go part.do() // who asks for the root is told what is wrong
		}
	}
	if block := b.prefix.Block(soFar); block != nil {
		b.ahead.root = b.hashing.finish(block)
		b.ahead.signing = &Signing{newWork(func() *signedBid { return b.sign(block) })}
		go b.ahead.signing.do()
	}
}

// isKnown says that the builder is known: by an API key, or by a signature that was found right.
func (b *Body) isKnown() bool {
	if b.source.Owns != nil {
		return true
	}
	v := b.ahead.verification
	return v != nil && v.isDone() && v.do().Err == nil
}

// beginMessage says whether the rest of the body is worth reading, and begins to verify the
// signature of a builder without an API key.
func (b *Body) beginMessage(message *relay.Submission) bool {
	if b.source.Owns != nil {
		return b.source.Owns(message.Trace.BuilderPubkey)
	}
	b.ahead.verification = b.speculator.verify(message)
	if b.ahead.verification == nil {
		return false
	}
	go b.ahead.verification.do()
	return true
}

// takePlace takes a place for one more verification, if there is one.
func (s *Speculator) takePlace() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.verifying >= max(1, runtime.GOMAXPROCS(0)/2) {
		return false
	}
	s.verifying++
	return true
}

func (s *Speculator) leavePlace() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.verifying--
}
