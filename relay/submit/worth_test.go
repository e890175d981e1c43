package submit

import (
	"bytes"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/speculate"
	"github.com/gavel-relay/gavel/relay/wire"
)

// withoutBlobs is a submission of which proofs and blobs are not here yet.
func withoutBlobs(s *relay.Submission) *relay.Submission {
	part := *s
	part.Blobs = &payload.Blobs{Commitments: s.Blobs.Commitments}
	return &part
}

// comes has the body of a submission come, of a builder with an API key or without, and returns
// what was begun for it.
func (h *pipelineUnderTest) comes(s *relay.Submission, auction speculate.Auction, identified bool) *speculate.Ahead {
	h.t.Helper()
	body, err := wire.EncodeSubmission(wire.SSZ, s)
	if err != nil {
		h.t.Fatal(err)
	}
	source := speculate.Source{Bytes: int64(len(body)), Cancellable: s.Cancellable}
	if identified {
		source.Owns = func(phase0.BLSPubKey) bool { return true }
	}
	following := speculate.New(speculate.Config{
		Spec: h.spec, Auction: auction, Key: h.pipeline.Key, Verify: bls.Verify,
	}).Follow(source)
	following.Extend(body)
	return following.Ahead()
}

// signs has the bid of a submission signed while its body comes, and returns it.
func (h *pipelineUnderTest) signs(s *relay.Submission) (ahead *speculate.Ahead, ssz, json []byte) {
	h.t.Helper()
	ahead = h.comes(s, h.pipeline, true)
	bid, err := prepare(s, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	message := bid.message(h.pipeline.Key)
	if ssz, json = ahead.Signing().Bid(&message); ssz == nil {
		h.t.Fatal("the bid is not signed while its body comes")
	}
	return ahead, ssz, json
}

// newTrustingPipeline trusts builder 1, and counts what its submissions say as what an API key
// vouches for.
func newTrustingPipeline(t *testing.T) *pipelineUnderTest {
	t.Helper()
	h := newPipeline(t)
	h.trust(1)
	return h
}

// A bid that was signed while its body came is served as it was signed, with nobody waiting, and
// not before the submission is accepted.
func TestBidThatWasSignedAheadIsServed(t *testing.T) {
	h := newTrustingPipeline(t)
	s := h.submission(1, 100)
	ahead, ssz, json := h.signs(s)
	if h.board.Top(s.Key()) != nil {
		t.Fatal("served before it was checked")
	}
	h.acceptWith(s, ahead, accepted)
	shown := h.board.Top(s.Key())
	if shown == nil || shown.Signing != nil || !bytes.Equal(shown.SSZ, ssz) || !bytes.Equal(shown.JSON, json) {
		t.Errorf("served %+v, want what was signed ahead", shown)
	}
	h.top(s)
}

// gate holds up whoever asks whether a bid is worth signing.
type gate struct {
	*Pipeline
	open chan struct{}
}

func (g gate) WorthSigning(block *relay.Submission) bool {
	<-g.open
	return g.Pipeline.WorthSigning(block)
}

// A bid that is still being signed ahead is waited for by who asks for the header, not by the
// auction.
func TestBidThatIsBeingSignedAheadLeadsMeanwhile(t *testing.T) {
	h := newTrustingPipeline(t)
	s := h.submission(1, 100)
	held := gate{h.pipeline, make(chan struct{})}
	ahead := h.comes(s, held, true)
	h.acceptWith(s, ahead, accepted)
	shown := h.board.Top(s.Key())
	if shown == nil || shown.Signing == nil {
		t.Fatalf("shown %+v, want a bid that is being signed", shown)
	}
	close(held.open)
	h.top(s)
	whole, err := shown.Signing()
	if err != nil {
		t.Fatal(err)
	}
	message := h.pipeline.prepared[idOf(ref(s.Bid()))].message(h.pipeline.Key)
	if ssz, _ := ahead.Signing().Bid(&message); ssz == nil || &ssz[0] != &whole.SSZ[0] {
		t.Error("it was signed once more")
	}
}

func ref[T any](value T) *T { return &value }

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
			h.slots.MarkDelivered(1, phase0.Hash32{9})
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
			ahead, _, _ := h.signs(s)
			row.spoil(h, s)
			h.refuseWith(s, ahead, row.want)
			if shown := h.board.Top(s.Key()); shown != nil {
				t.Errorf("served %+v", shown)
			}
		})
	}
}

// A builder that lost our trust while its body came has its block executed first, however early the
// bid was signed.
func TestSignedAheadIsNotServedUnlessTheBlockIsValid(t *testing.T) {
	h := newTrustingPipeline(t)
	s := h.submission(1, 100)
	s.Payload.StateRoot[0] ^= 1
	ahead, _, _ := h.signs(s)
	if err := h.builders.Demote(h.spec.GenesisTime, "alpha", relay.Demotion{Rule: "test"}); err != nil {
		t.Fatal(err)
	}
	h.refuseWith(s, ahead, relay.SubmissionInvalid)
	if shown := h.board.Top(s.Key()); shown != nil {
		t.Errorf("served %+v", shown)
	}
}

// A bid that turns out to be another one than was signed ahead is signed anew: nothing of the other
// one is served.
func TestBidThatDiffersFromWhatWasSignedAheadIsSignedAnew(t *testing.T) {
	for name, differ := range map[string]func(announced, s *relay.Submission){
		"other requests": func(_, s *relay.Submission) {
			s.Requests = &electra.ExecutionRequests{Consolidations: []*electra.ConsolidationRequest{{}}}
		},
		"other commitments": func(announced, _ *relay.Submission) {
			announced.Blobs = &payload.Blobs{Commitments: []deneb.KZGCommitment{{0xc0}}}
		},
		"another value": func(announced, s *relay.Submission) {
			trace := *s.Trace
			trace.Value = uint256.NewInt(101)
			announced.Trace = &trace
		},
		"another header": func(_, s *relay.Submission) {
			block := *s.Payload
			block.StateRoot[0] ^= 1
			s.Payload = &block
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTrustingPipeline(t)
			s := h.submission(1, 100)
			announced := *s
			differ(&announced, s)
			ahead, _, json := h.signs(&announced)
			h.acceptWith(s, ahead, accepted)
			h.top(s)
			shown, err := h.board.Top(s.Key()).Signing()
			if err != nil || bytes.Equal(shown.JSON, json) {
				t.Errorf("served what was signed for another bid, %v", err)
			}
		})
	}
}

// Signing ahead may be in vain, so it is not done for what would not lead at once.
func TestWhatIsWorthSigning(t *testing.T) {
	for name, spoil := range map[string]func(h *pipelineUnderTest, s *relay.Submission){
		"a builder that is not trusted": func(_ *pipelineUnderTest, s *relay.Submission) {
			s.Trace.BuilderPubkey = bls.Derive("builder", 2).PublicKey()
		},
		"above the collateral": func(_ *pipelineUnderTest, s *relay.Submission) { s.Trace.Value = uint256.NewInt(1001) },
		"worth nothing":        func(_ *pipelineUnderTest, s *relay.Submission) { s.Trace.Value = new(uint256.Int) },
		"no transactions":      func(_ *pipelineUnderTest, s *relay.Submission) { s.Payload.Transactions = nil },
		"a rule is broken":     func(_ *pipelineUnderTest, s *relay.Submission) { s.Payload.Timestamp++ },
		"another bid leads":    func(h *pipelineUnderTest, _ *relay.Submission) { h.accept(h.submission(1, 200), accepted) },
		"cancellations, which are off": func(h *pipelineUnderTest, s *relay.Submission) {
			h.pipeline.Cancellations, s.Cancellable = false, true
		},
		"nobody can execute blocks": func(h *pipelineUnderTest, _ *relay.Submission) { h.dead = true },
		"its header is in the auction": func(h *pipelineUnderTest, s *relay.Submission) {
			h.acceptHeader(h.header(s), accepted)
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTrustingPipeline(t)
			s := h.submission(1, 100)
			if !h.pipeline.WorthSigning(withoutBlobs(s)) {
				t.Fatal("a good bid is not worth signing")
			}
			spoil(h, s)
			if h.pipeline.WorthSigning(withoutBlobs(s)) {
				t.Error("worth signing")
			}
		})
	}
}

// What a rule that costs nothing refuses is not verified.
func TestWhatIsWorthVerifying(t *testing.T) {
	h := newPipeline(t)
	s := h.submission(1, 100)
	message := func() *relay.Submission {
		trace := *s.Trace
		return &relay.Submission{Fork: s.Fork, Trace: &trace, Signature: s.Signature}
	}
	if !h.pipeline.WorthVerifying(message()) {
		t.Error("a good message is not worth verifying")
	}
	for name, spoil := range map[string]func(m *relay.Submission){
		"another fee recipient": func(m *relay.Submission) { m.Trace.ProposerFeeRecipient[0] ^= 1 },
		"another proposer":      func(m *relay.Submission) { m.Trace.ProposerPubkey[0] ^= 1 },
		"a slot that is over":   func(m *relay.Submission) { m.Trace.Slot = 0 },
	} {
		m := message()
		spoil(m)
		if h.pipeline.WorthVerifying(m) {
			t.Errorf("%s: worth verifying", name)
		}
	}
}

// What was found of the signature while the body came is what counts; it is not verified again.
func TestSignatureIsVerifiedAhead(t *testing.T) {
	h := newPipeline(t)
	for name, found := range map[string]error{"right": nil, "wrong": bls.ErrMismatch} {
		s := h.submission(1, 100)
		body, err := wire.EncodeSubmission(wire.SSZ, s)
		if err != nil {
			t.Fatal(err)
		}
		following := speculate.New(speculate.Config{
			Spec: h.spec, Auction: h.pipeline, Key: h.pipeline.Key,
			Verify: func(phase0.BLSPubKey, phase0.Root, phase0.BLSSignature) error { return found },
		}).Follow(speculate.Source{})
		following.Extend(body[:len(body)/2])
		_, err = h.pipeline.Submit(t.Context(), s, following.Ahead())
		if (err != nil) != (found != nil) {
			t.Errorf("found %s: %v", name, err)
		}
	}
}
