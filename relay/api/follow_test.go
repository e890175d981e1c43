package api

import (
	"errors"
	"sync"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/speculate"
	"github.com/gavel-relay/gavel/relay/wire"
)

// auction notes of which submissions it was asked whether work on them is worth while.
type auction struct {
	refuses bool  // no signature is worth verifying
	wrong   error // what is found of a signature

	mu       sync.Mutex // guards all below
	messages []*relay.Submission
	blocks   []*relay.Submission
}

func (a *auction) speculator() *speculate.Speculator {
	return speculate.New(speculate.Config{
		Spec: testSpec(), Auction: a, Key: bls.Derive("relay", 0),
		Verify: func(phase0.BLSPubKey, phase0.Root, phase0.BLSSignature) error { return a.wrong },
	})
}

func (a *auction) WorthVerifying(message *relay.Submission) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.messages = append(a.messages, message)
	return !a.refuses
}

func (a *auction) WorthSigning(block *relay.Submission) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.blocks = append(a.blocks, block)
	return true
}

// awaitSigning returns when the bid of a submission is signed, or will not be.
func awaitSigning(ahead *speculate.Ahead) {
	if signing := ahead.Signing(); signing != nil {
		signing.Bid(new(wire.Bid))
	}
}

// While the blobs are on the way the block of a builder with a key is hashed and its bid signed; of
// another one only after its signature was found right, and that is verified only if the message
// keeps the rules. Of what is packed nobody knows what its end will be, so its bid is not signed,
// and of a dehydrated one the transactions that count come later.
func TestWhatIsBegunWhileABodyComes(t *testing.T) {
	text, ssz := submission(t)
	const withKey = isSSZ + "X-Api-Key: alpha's"
	for _, row := range []struct {
		what, headers          string
		body                   []byte
		refuses                bool
		wrong                  error
		hashed, verify, signed bool
	}{
		{what: "with a key", headers: withKey, body: ssz, hashed: true, signed: true},
		{what: "with a key, packed", headers: withKey + "\nContent-Encoding: gzip", body: packed(t, "gzip", ssz),
			hashed: true},
		{what: "with a key, dehydrated", headers: withKey + "\nX-Submission-Type: dehydrated", body: ssz},
		{what: "with a key, in JSON", headers: "X-Api-Key: alpha's", body: text},
		{what: "a right signature", headers: isSSZ, body: ssz, hashed: true, verify: true, signed: true},
		{what: "a wrong signature", headers: isSSZ, body: ssz, wrong: errors.New("wrong"), hashed: true, verify: true},
		{what: "a message that breaks a rule", headers: isSSZ, body: ssz, refuses: true, verify: true},
		{what: "without a key, in JSON", headers: "", body: text},
	} {
		d := &builderFakePorts{outcome: relay.Outcome{}}
		d.auction.refuses, d.auction.wrong = row.refuses, row.wrong
		answer := askHandler(t, d.handler(), submitPath, row.headers, row.body)
		if answer.Code != 200 || len(d.received) != 1 {
			t.Fatalf("%s: %d %s", row.what, answer.Code, answer.Body)
		}
		ahead := d.ahead[0]
		awaitSigning(ahead)
		if got := ahead.HasRoot(); got != row.hashed {
			t.Errorf("%s: begun to be hashed %v, want %v", row.what, got, row.hashed)
		}
		if (len(d.auction.messages) == 1) != row.verify || (ahead.Verified() != nil) != (row.verify && !row.refuses) {
			t.Errorf("%s: %d messages looked at, verified %v", row.what, len(d.auction.messages), ahead.Verified())
		}
		if (len(d.auction.blocks) == 1) != row.signed {
			t.Errorf("%s: %d bids looked at, want one: %v", row.what, len(d.auction.blocks), row.signed)
		}
	}
}

// What is refused before it reaches the auction is refused all the same, and of another builder's
// block nothing is looked at.
func TestNothingIsBegunForAnothersKey(t *testing.T) {
	_, ssz := submission(t)
	d := &builderFakePorts{outcome: relay.Outcome{}}
	wantRefusal(t, askHandler(t, d.handler(), submitPath, isSSZ+"X-Api-Key: beta's", ssz),
		relay.APIKeyOtherBuilder)
	if len(d.auction.messages)+len(d.auction.blocks)+len(d.received) != 0 {
		t.Errorf("%d messages, %d blocks, %d received", len(d.auction.messages), len(d.auction.blocks), len(d.received))
	}
}

// A block without its blobs says how it came: cancellations and API key count there too.
func TestBlockSaysHowItCame(t *testing.T) {
	_, ssz := submission(t)
	d := &builderFakePorts{outcome: relay.Outcome{}}
	askHandler(t, d.handler(), submitPath+"?cancellations=1", isSSZ+"X-Api-Key: alpha's", ssz)
	awaitSigning(d.ahead[0])
	block := d.auction.blocks[0]
	if !block.Cancellable || !block.Identified || block.Trace.Slot != 65 || len(block.Payload.Transactions) != 1 {
		t.Errorf("%+v", block)
	}
}
