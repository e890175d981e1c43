package submit

import (
	"bytes"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// onTheWay is a submission of which proofs and blobs are not here yet.
func onTheWay(s *relay.Submission) *relay.Submission {
	part := *s
	part.Blobs = &payload.Blobs{Commitments: s.Blobs.Commitments}
	return &part
}

// signAhead has a bid signed while its body is on the way, which must be worth while, and gives the
// whole submission the result.
func (h *pipelineUnderTest) signAhead(s *relay.Submission) *relay.SignedAhead {
	h.t.Helper()
	signed := h.pipeline.SignAhead(onTheWay(s))
	if signed == nil {
		h.t.Fatal("the bid is not signed ahead")
	}
	s.Ahead.Signed = relay.NewWork(func() *relay.SignedAhead { return signed })
	s.Ahead.Signed.Do()
	return signed
}

// newTrustingPipeline trusts builder 1, and counts what its submissions say as what an API key
// vouches for.
func newTrustingPipeline(t *testing.T) *pipelineUnderTest {
	t.Helper()
	h := newPipeline(t)
	h.trust(1)
	return h
}

// A bid that was signed while its body was on the way is served as it was signed, with nobody
// waiting, and not before the submission is accepted.
func TestBidThatWasSignedAheadIsServed(t *testing.T) {
	h := newTrustingPipeline(t)
	s := h.submission(1, 100)
	signed := h.signAhead(s)
	if h.board.Top(s.Key()) != nil {
		t.Fatal("served before it was checked")
	}
	h.accept(s, 200)
	shown := h.board.Top(s.Key())
	if shown == nil || shown.Signing != nil || !bytes.Equal(shown.SSZ, signed.SSZ) ||
		!bytes.Equal(shown.JSON, signed.JSON) {
		t.Errorf("served %+v, want what was signed ahead", shown)
	}
	h.top(s)
}

// Work that is still being done ahead is waited for by who asks for the header, not by the auction.
func TestBidThatIsBeingSignedAheadLeadsMeanwhile(t *testing.T) {
	h := newTrustingPipeline(t)
	s := h.submission(1, 100)
	release := make(chan struct{})
	var signed *relay.SignedAhead
	s.Ahead.Signed = relay.NewWork(func() *relay.SignedAhead {
		<-release
		signed = h.pipeline.SignAhead(onTheWay(s))
		return signed
	})
	go s.Ahead.Signed.Do()
	h.accept(s, 200)
	shown := h.board.Top(s.Key())
	if shown == nil || shown.Signing == nil {
		t.Fatalf("shown %+v, want a bid that is being signed", shown)
	}
	close(release)
	h.top(s)
	if whole, err := shown.Signing(); err != nil || signed == nil || !bytes.Equal(whole.SSZ, signed.SSZ) {
		t.Errorf("served %+v, %v; want what was signed ahead: %+v", whole, err, signed)
	}
}

// Whatever a check finds after the relay has signed, the bid is never served.
func TestSignedAheadIsNotServedUnlessAllChecksPass(t *testing.T) {
	for name, row := range map[string]struct {
		spoil func(h *pipelineUnderTest, s *relay.Submission)
		want  relay.Refusal
	}{
		"a blob is missing": {func(_ *pipelineUnderTest, s *relay.Submission) {
			s.Blobs.Blobs = make([]deneb.Blob, len(s.Blobs.Blobs)+1)
		}, relay.SubmissionBlobCounts},
		"the signature is wrong": {func(h *pipelineUnderTest, s *relay.Submission) {
			h.sign(s, 2)
		}, relay.SubmissionSignature},
		"the slot was over meanwhile": {func(h *pipelineUnderTest, _ *relay.Submission) {
			h.head.Slot = 1
		}, relay.SubmissionPastSlot},
		"another was revealed": {func(h *pipelineUnderTest, _ *relay.Submission) {
			h.delivered = true
		}, relay.SubmissionDelivered},
		"the escrow is down": {func(h *pipelineUnderTest, _ *relay.Submission) {
			h.noEscrow = true
		}, relay.SubmissionEscrowDown},
		"cancellations, which are off": {func(h *pipelineUnderTest, s *relay.Submission) {
			h.pipeline.Cancellations, s.Cancellable = false, true
		}, relay.SubmissionCancellations},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTrustingPipeline(t)
			s := h.submission(1, 100)
			h.signAhead(s)
			row.spoil(h, s)
			h.refuse(s, row.want)
			if shown := h.board.Top(s.Key()); shown != nil {
				t.Errorf("served %+v", shown)
			}
		})
	}
}

// A builder that lost our trust while its body was on the way has its block executed first, however
// early the bid was signed.
func TestSignedAheadIsNotServedUnlessTheBlockIsValid(t *testing.T) {
	h := newTrustingPipeline(t)
	s := h.submission(1, 100)
	s.Payload.StateRoot[0] ^= 1
	h.signAhead(s)
	if err := h.builders.Demote(h.spec.GenesisTime, "alpha", relay.Demotion{Rule: "test"}); err != nil {
		t.Fatal(err)
	}
	h.refuse(s, relay.SubmissionInvalid)
	if shown := h.board.Top(s.Key()); shown != nil {
		t.Errorf("served %+v", shown)
	}
}

// A bid that turns out to be another one than was assumed is signed anew: nothing of the other one
// is served.
func TestBidThatDiffersFromWhatWasSignedAheadIsSignedAnew(t *testing.T) {
	for name, assume := range map[string]func(s *relay.Submission){
		"other requests": func(s *relay.Submission) {
			s.Requests = &electra.ExecutionRequests{Consolidations: []*electra.ConsolidationRequest{{}}}
		},
		"other commitments": func(s *relay.Submission) {
			s.Blobs = &payload.Blobs{Commitments: []deneb.KZGCommitment{{0xc0}}}
		},
		"another value": func(s *relay.Submission) {
			trace := *s.Trace
			trace.Value = uint256.NewInt(101)
			s.Trace = &trace
		},
		"other transactions": func(s *relay.Submission) {
			block := *s.Payload
			block.Transactions = block.Transactions[1:]
			s.Payload = &block
		},
		"another fork": func(s *relay.Submission) { s.Fork-- },
	} {
		t.Run(name, func(t *testing.T) {
			h := newTrustingPipeline(t)
			s := h.submission(1, 100)
			assumed := onTheWay(s)
			assume(assumed)
			signed := h.pipeline.SignAhead(assumed)
			if signed == nil {
				t.Fatal("the assumed bid is not signed")
			}
			s.Ahead.Signed = relay.NewWork(func() *relay.SignedAhead { return signed })
			s.Ahead.Signed.Do()
			h.accept(s, 200)
			h.top(s)
			shown, err := h.board.Top(s.Key()).Signing()
			if err != nil || bytes.Equal(shown.JSON, signed.JSON) {
				t.Errorf("served what was signed for another bid, %v", err)
			}
		})
	}
}

// Signing ahead may be in vain, so it is not done for what would not lead at once.
func TestSigningAheadThatIsNotWorthWhile(t *testing.T) {
	for name, spoil := range map[string]func(h *pipelineUnderTest, s *relay.Submission){
		"a builder that is not trusted": func(h *pipelineUnderTest, s *relay.Submission) {
			s.Trace.BuilderPubkey = bls.Derive("builder", 2).PublicKey()
		},
		"above the collateral": func(_ *pipelineUnderTest, s *relay.Submission) { s.Trace.Value = uint256.NewInt(1001) },
		"worth nothing":        func(_ *pipelineUnderTest, s *relay.Submission) { s.Trace.Value = new(uint256.Int) },
		"no transactions":      func(_ *pipelineUnderTest, s *relay.Submission) { s.Payload.Transactions = nil },
		"a rule is broken":     func(_ *pipelineUnderTest, s *relay.Submission) { s.Payload.Timestamp++ },
		"another bid leads":    func(h *pipelineUnderTest, _ *relay.Submission) { h.accept(h.submission(1, 200), 200) },
		"cancellations, which are off": func(h *pipelineUnderTest, s *relay.Submission) {
			h.pipeline.Cancellations, s.Cancellable = false, true
		},
		"nobody can execute blocks":    func(h *pipelineUnderTest, _ *relay.Submission) { h.dead = true },
		"its header is in the auction": func(h *pipelineUnderTest, s *relay.Submission) { h.acceptHeader(h.header(s), 200) },
		"another is being signed ahead": func(h *pipelineUnderTest, _ *relay.Submission) {
			h.pipeline.foresight.signing.Lock()
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTrustingPipeline(t)
			s := h.submission(1, 100)
			if h.pipeline.SignAhead(onTheWay(s)) == nil {
				t.Fatal("a good bid is not signed ahead")
			}
			spoil(h, s)
			if h.pipeline.SignAhead(onTheWay(s)) != nil {
				t.Error("signed ahead")
			}
		})
	}
}

// The builder's signature is verified once, while its body is on the way, and refused as it would
// be afterwards.
func TestSignatureIsVerifiedAhead(t *testing.T) {
	for name, signer := range map[string]int{"right": 1, "wrong": 2} {
		t.Run(name, func(t *testing.T) {
			h := newPipeline(t)
			s := h.submission(1, 100)
			h.sign(s, signer)
			message := &relay.Submission{Fork: s.Fork, Trace: s.Trace, Signature: s.Signature}
			s.Ahead.Verified = h.pipeline.VerifyAhead(message)
			if s.Ahead.Verified == nil {
				t.Fatal("not verified")
			}
			if signer == 1 {
				h.accept(s, 200)
				h.top(s)
			} else {
				h.refuse(s, relay.SubmissionSignature)
			}
			if !s.Ahead.Verified.Done() {
				t.Error("verified again")
			}
		})
	}
}

// What a rule that costs nothing refuses is not verified, nor more at a time than there is room
// for.
func TestVerifyingAheadIsBounded(t *testing.T) {
	h := newPipeline(t)
	s := h.submission(1, 100)
	message := func() *relay.Submission {
		trace := *s.Trace
		return &relay.Submission{Fork: s.Fork, Trace: &trace, Signature: s.Signature}
	}
	for name, spoil := range map[string]func(m *relay.Submission){
		"another fee recipient": func(m *relay.Submission) { m.Trace.ProposerFeeRecipient[0] ^= 1 },
		"another proposer":      func(m *relay.Submission) { m.Trace.ProposerPubkey[0] ^= 1 },
		"a slot that is over":   func(m *relay.Submission) { m.Trace.Slot = 0 },
	} {
		m := message()
		spoil(m)
		if h.pipeline.VerifyAhead(m) != nil {
			t.Errorf("%s: verified all the same", name)
		}
	}
	var begun []*relay.Work[relay.VerifiedAhead]
	for range 1000 {
		work := h.pipeline.VerifyAhead(message())
		if work == nil {
			break
		}
		begun = append(begun, work)
	}
	if len(begun) == 0 || len(begun) == 1000 {
		t.Fatalf("%d at a time", len(begun))
	}
	begun[0].Do()
	if h.pipeline.VerifyAhead(message()) == nil {
		t.Error("no room, though one has ended")
	}
	if h.pipeline.VerifyAhead(message()) != nil {
		t.Error("room for one more than there was")
	}
}
