package speculate

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/capella"
	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/wire"
)

var relayKey = bls.Derive("relay", 0)

// asked is an auction that finds everything worth while, until it is closed.
type asked struct{ closed bool }

func (a *asked) WorthVerifying(*relay.Submission) bool { return !a.closed }
func (a *asked) WorthSigning(*relay.Submission) bool   { return !a.closed }

// newSpeculator finds of each signature what is said here.
func newSpeculator(auction Auction, found error) *Speculator {
	spec := &eth.Spec{
		GenesisTime: time.Unix(1_700_000_000, 0), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32,
		Forks: []eth.ForkPoint{{Fork: eth.Fulu, Version: phase0.Version{6}}},
	}
	return New(Config{
		Spec: spec, Auction: auction, Key: relayKey,
		Verify: func(phase0.BLSPubKey, phase0.Root, phase0.BLSSignature) error { return found },
	})
}

// randomSubmission is a submission whose transactions and blobs are noise.
func randomSubmission(random *rand.Rand) *relay.Submission {
	s := &relay.Submission{
		Fork: eth.Fulu, Requests: payload.EmptyRequests(), Trace: &relay.BidTrace{Slot: 1, Value: uint256.NewInt(7)},
		Payload: &payload.Payload{
			BaseFeePerGas: uint256.NewInt(7), Withdrawals: []*capella.Withdrawal{}, ExtraData: make([]byte, random.IntN(32)),
			Transactions: make([]bellatrix.Transaction, random.IntN(60)),
		},
		Blobs: &payload.Blobs{Commitments: make([]deneb.KZGCommitment, random.IntN(3))},
	}
	for i := range s.Payload.Transactions {
		s.Payload.Transactions[i] = make([]byte, 1+random.IntN(5000))
		for at := range s.Payload.Transactions[i] {
			s.Payload.Transactions[i][at] = byte(random.Uint32())
		}
	}
	return s
}

// come shows a body to a Body in random pieces.
func come(random *rand.Rand, following *Body, body []byte) {
	for at := 0; at < len(body); {
		at = min(at+1+random.IntN(len(body)), len(body))
		following.Extend(body[:at:at])
	}
}

func encode(t *testing.T, s *relay.Submission) []byte {
	t.Helper()
	body, err := wire.EncodeSubmission(wire.SSZ, s)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func known(phase0.BLSPubKey) bool { return true }

// However a body is cut, and whatever of it is spoiled: if it can be read at its end, the root that
// was begun is that of its transactions, and a bid that was signed is its bid.
func TestResultsAreThoseOfTheWholeBody(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	signed, refused := 0, 0
	for try := range 400 {
		body := encode(t, randomSubmission(random))
		if try%2 == 1 { // mostly among the offsets
			places := []int{random.IntN(len(body)), random.IntN(min(len(body), 1200))}
			body[places[random.IntN(len(places))]] ^= byte(1 + random.IntN(255))
		}
		following := newSpeculator(new(asked), nil).Follow(Source{Owns: known, Bytes: int64(len(body))})
		following.prefix.BatchBytes = 1 + random.IntN(5000)
		come(random, following, bytes.Clone(body))
		ahead := following.Ahead()
		s, err := wire.DecodeSubmission(eth.Fulu, wire.SSZ, body)
		if err != nil {
			refused++
			if ahead.HasRoot() {
				_, _ = ahead.TransactionsRoot() // must come to an end
			}
			continue
		}
		if !ahead.HasRoot() {
			if try%2 == 0 {
				t.Fatal("a good body's root is not begun")
			}
			continue
		}
		want, err := payload.TransactionsRoot(s.Payload.Transactions)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ahead.TransactionsRoot(); err != nil || got != want {
			t.Fatalf("root %#x, want %#x, %v", got, want, err)
		}
		header, err := payload.HeaderOf(eth.Fulu, s.Payload)
		if err != nil {
			t.Fatal(err)
		}
		message := wire.Bid{
			Fork: eth.Fulu, Header: header, Commitments: s.Blobs.Commitments, Requests: s.Requests, ValueWei: s.Trace.Value,
			Relay: relayKey.PublicKey(),
		}
		if ssz, _ := ahead.Signing().Bid(&message); ssz != nil {
			signed++
		} else if try%2 == 0 {
			t.Error("a good bid is not signed")
		}
		message.ValueWei = uint256.NewInt(8)
		if ssz, _ := ahead.Signing().Bid(&message); ssz != nil {
			t.Error("another bid is taken for the one that was signed")
		}
	}
	if signed < 200 || refused == 0 {
		t.Errorf("%d signed, %d refused", signed, refused)
	}
}

// The transactions of a large block are hashed in parts as they come.
func TestTransactionsAreHashedAsTheyCome(t *testing.T) {
	s := randomSubmission(rand.New(rand.NewPCG(3, 4)))
	for range 200 {
		s.Payload.Transactions = append(s.Payload.Transactions, make([]byte, 1000))
	}
	body := encode(t, s)
	following := newSpeculator(new(asked), nil).Follow(Source{Owns: known, Bytes: int64(len(body))})
	for at := 0; at < len(body); at += 48 << 10 {
		following.Extend(body[:at:at])
	}
	following.Extend(body)
	if parts := len(following.hashing.parts); parts < 4 {
		t.Errorf("%d parts", parts)
	}
}

// Of a builder that nobody knows the signature is verified first; if it is wrong, nothing is
// signed.
func TestWrongSignatureSignsNothing(t *testing.T) {
	for _, found := range []error{nil, bls.ErrMismatch} {
		body := encode(t, randomSubmission(rand.New(rand.NewPCG(5, 6))))
		following := newSpeculator(new(asked), found).Follow(Source{Bytes: int64(len(body))})
		following.Extend(body)
		if got := following.Ahead().Verified(); got == nil || !errors.Is(got.Err, found) {
			t.Errorf("verified: %+v, want %v", got, found)
		}
		if signed := following.Ahead().Signing().do(); (signed != nil) != (found == nil) {
			t.Errorf("found %v: signed %v", found, signed)
		}
	}
}

// At most half of the processors verify ahead, one bid is signed at a time, and what is not worth
// while is not begun.
func TestWhatIsBegunIsBounded(t *testing.T) {
	auction := new(asked)
	s := newSpeculator(auction, nil)
	message := randomSubmission(rand.New(rand.NewPCG(7, 8)))
	var begun []interface{ isBegun() bool }
	first := s.verify(message)
	for range 1000 {
		work := s.verify(message)
		if work == nil {
			break
		}
		begun = append(begun, work)
	}
	if first == nil || len(begun) == 1000 {
		t.Fatalf("%d at a time", len(begun)+1)
	}
	first.do()
	if s.verify(message) == nil {
		t.Error("no place, though one has ended")
	}
	if s.verify(message) != nil {
		t.Error("a place for one more than there was")
	}
	if s.sign(message, phase0.Root{}) == nil {
		t.Error("a good bid is not signed")
	}
	s.signing.Lock()
	if s.sign(message, phase0.Root{}) != nil {
		t.Error("two bids are signed at a time")
	}
	s.signing.Unlock()
	auction.closed = true
	if s.sign(message, phase0.Root{}) != nil || newSpeculator(auction, nil).verify(message) != nil {
		t.Error("begun, though it is not worth while")
	}
}

// Of another builder's block, by the API key, nothing is begun.
func TestNothingIsBegunForAnothersKey(t *testing.T) {
	body := encode(t, randomSubmission(rand.New(rand.NewPCG(9, 10))))
	following := newSpeculator(new(asked), nil).Follow(Source{Owns: func(phase0.BLSPubKey) bool { return false }})
	following.Extend(body)
	if ahead := following.Ahead(); ahead.HasRoot() || ahead.Signing() != nil || ahead.Verified() != nil {
		t.Errorf("%+v", ahead)
	}
	var none *Ahead
	if none.HasRoot() || none.Signing() != nil || none.Verified() != nil {
		t.Error("something is begun of nothing")
	}
}
