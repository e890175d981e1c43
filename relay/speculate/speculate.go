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

// Auction says what is worth beginning. Its calls change nothing and wait for no I/O.
type Auction interface {
	// WorthVerifying says whether a message keeps all rules that are cheaper to check than its
	// signature.
	WorthVerifying(message *relay.Submission) bool
	// WorthSigning says whether the bid would lead at once if its proofs and blobs, which have not
	// come yet, are right.
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

// Speculator begins work on submissions that are still on the way. That work may be in vain, so it
// bounds it and leaves most of the processors to submissions that are here. It is safe for
// concurrent use.
type Speculator struct {
	Config
	signing sync.Mutex // held while a bid is signed: one at a time

	mu        sync.Mutex // guards verifying
	verifying int        // signatures being verified: at most half as many as processors, but at least one
}

// New returns a Speculator that has begun no work.
func New(cfg Config) *Speculator { return &Speculator{Config: cfg} }

// Source is what is known of a request before its body is read.
type Source struct {
	// Owns says whether a public key belongs to the builder whose API key came with the request. It is
	// nil without an API key.
	Owns func(phase0.BLSPubKey) bool
	// Cancellable is ?cancellations=1.
	Cancellable bool
	// Bytes is the announced length of the body; 0 if none was announced.
	Bytes int64
}

// Body is one SSZ body that is still arriving. Only one goroutine may use it.
type Body struct {
	speculator *Speculator
	source     Source
	prefix     wire.Prefix
	worth      bool // the message is here, and the rest is worth reading
	hashing    hashing
	ahead      Ahead
}

// Follow returns the Body of a request of whose body nothing has arrived yet.
func (s *Speculator) Follow(source Source) *Body {
	return &Body{speculator: s, source: source, prefix: wire.Prefix{ForkAt: s.Spec.ForkAt, Bytes: source.Bytes}}
}

// Ahead returns the work that was begun for the body.
func (b *Body) Ahead() *Ahead { return &b.ahead }

// Extend is called with the whole of what has arrived, whenever more has. The caller must not
// change these bytes afterwards. Arrived starts goroutines for the work that can be begun, cheap
// work first. Nothing of the block is hashed or signed before the builder is known.
func (b *Body) Extend(soFar []byte) {
	if message := b.prefix.Message(soFar); message != nil {
		b.worth = b.beginMessage(message)
	}
	if !b.worth {
		return
	}
	if b.isKnown() {
		if part := b.hashing.add(b.prefix.Transactions(soFar)); part != nil {
			go func() { _ = part.do() }() // do returns the error again to the caller that needs the root
		}
	}
	if block := b.prefix.Block(soFar); block != nil {
		b.ahead.root = b.hashing.finish(block)
		b.ahead.signing = &Signing{newWork(func() *signedBid { return b.sign(block) })}
		go b.ahead.signing.do()
	}
}

// isKnown says whether the builder is known: by an API key, or by a signature that was found right.
func (b *Body) isKnown() bool {
	if b.source.Owns != nil {
		return true
	}
	v := b.ahead.verification
	return v != nil && v.isDone() && v.do().Err == nil
}

// beginMessage begins to verify the signature of a builder without an API key. It says whether the
// rest of the body is worth reading ahead.
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

// takePlace takes a place for one more verification. It is false if none is free.
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
