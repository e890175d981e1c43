package submit

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/deneb"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth/payload"
	"github.com/gavel-relay/gavel/relay"
)

// header is a submission without its payload.
func (h *pipelineUnderTest) header(s *relay.Submission) *relay.HeaderSubmission {
	h.t.Helper()
	header, err := payload.HeaderOf(s.Fork, s.Payload)
	if err != nil {
		h.t.Fatal(err)
	}
	return &relay.HeaderSubmission{
		Fork: s.Fork, Trace: s.Trace, Header: header, Commitments: s.Blobs.Commitments, Requests: s.Requests,
		Signature:  s.Signature,
		ReceivedAt: s.ReceivedAt, Cancellable: s.Cancellable, Sequence: s.Sequence,
	}
}

func (h *pipelineUnderTest) acceptHeader(s *relay.HeaderSubmission, want relay.Outcome) {
	h.t.Helper()
	outcome, err := h.pipeline.SubmitHeader(h.t.Context(), s)
	if err != nil || outcome != want {
		h.t.Fatalf("%+v, %v, want %+v", outcome, err, want)
	}
}

func (h *pipelineUnderTest) refuseHeader(s *relay.HeaderSubmission, want relay.Refusal) {
	h.t.Helper()
	_, err := h.pipeline.SubmitHeader(h.t.Context(), s)
	if refused := (*relay.Refused)(nil); !errors.As(err, &refused) || refused.ID != want.ID {
		h.t.Fatalf("%v, want %s", err, want.ID)
	}
}

// served is the block that is served in an auction, the zero hash when none is.
func (h *pipelineUnderTest) served(key relay.Key) phase0.Hash32 {
	if top := h.board.Top(key); top != nil {
		return top.BlockHash
	}
	return phase0.Hash32{}
}

// The bid counts with its header; whoever asks for the payload waits until it has come; then the
// block is executed like any other.
func TestHeaderFirst(t *testing.T) {
	h := newPipeline(t)
	h.trust(1)
	s := h.submission(1, 100)
	h.acceptHeader(h.header(s), accepted)
	if h.served(s.Key()) != s.Trace.BlockHash {
		t.Fatal("the header is not served")
	}
	if judged := h.last(); !judged.HeaderFirst || !judged.Optimistic || judged.Verified ||
		judged.BlockNumber != s.Payload.BlockNumber {
		t.Errorf("recorded as %+v", judged)
	}
	came, waiting := make(chan bool), &watchedContext{Context: t.Context(), asked: make(chan struct{})}
	go func() { came <- h.slots.Await(waiting, s.Trace.BlockHash) }()
	<-waiting.asked
	h.accept(s, accepted)
	if !<-came {
		t.Error("who waited for the payload was told that it does not come")
	}
	h.top(s)
	h.run()
	if executed := heard[relay.SubmissionExecuted](h); executed.Class != "valid" {
		t.Errorf("%+v", executed)
	}
}

// watchedContext tells that somebody begins to wait for its end.
type watchedContext struct {
	context.Context
	asked chan struct{}
	once  sync.Once
}

func (c *watchedContext) Done() <-chan struct{} {
	c.once.Do(func() { close(c.asked) })
	return c.Context.Done()
}

func TestNobodyWaitsForAPayloadThatIsNotAwaited(t *testing.T) {
	h := newPipeline(t)
	if h.slots.Await(t.Context(), phase0.Hash32{1}) {
		t.Error("a payload came that nobody sent")
	}
	h.trust(1)
	s := h.submission(1, 100)
	h.acceptHeader(h.header(s), accepted)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if h.slots.Await(gone, s.Trace.BlockHash) {
		t.Error("a payload came to somebody who went away")
	}
}

// A payload that comes too late, or never, demotes.
func TestPayloadThatDoesNotFollow(t *testing.T) {
	h := newPipeline(t)
	h.trust(1)
	s := h.submission(1, 100)
	h.acceptHeader(h.header(s), accepted)
	h.clock.Set(h.clock.Now().Add(h.pipeline.PayloadTimeout))
	demoted := heard[relay.BuilderDemoted](h)
	if demoted.Rule != relay.DemotedWithheld || demoted.BlockHash != s.Trace.BlockHash {
		t.Errorf("%+v", demoted)
	}
	h.settled(s)
	if h.trusted() || h.served(s.Key()) != (phase0.Hash32{}) {
		t.Error("a header without a payload is still served")
	}
}

// A payload that comes after another block of its slot was delivered, or after the slot, has not
// been withheld. Nobody else can bring it, or another one in its place.
func TestPayloadAfterItsSlot(t *testing.T) {
	for name, over := range map[string]func(*pipelineUnderTest){
		"delivered": func(h *pipelineUnderTest) {
			h.slots.MarkDelivered(1, phase0.Hash32{9})
		}, "past": func(h *pipelineUnderTest) {
			h.head.Slot = 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newPipeline(t)
			h.trust(1)
			s := h.submission(1, 100)
			h.acceptHeader(h.header(s), accepted)
			over(h)
			forged := h.impostor(s, 1, 100)
			forged.Signature[5] ^= 1
			if _, err := h.pipeline.Submit(t.Context(), forged, nil); err == nil || len(h.demotions()) != 0 {
				t.Errorf("a payload with somebody else's signature: %v, demotions %v", err, h.demotions())
			}
			h.accept(s, accepted)
			if len(h.pipeline.awaited) != 0 {
				t.Error("the payload is still awaited")
			}
			for h.executeNext() {
			}
			if list := h.demotions(); len(list) != 0 {
				t.Errorf("demoted: %+v", list)
			}
		})
	}
}

// Another payload under the same hash demotes at once.
func TestPayloadOfAnotherHeader(t *testing.T) {
	h := newPipeline(t)
	h.trust(1)
	s := h.submission(1, 100)
	h.acceptHeader(h.header(s), accepted)
	s.Payload.StateRoot[0] ^= 1
	h.refuse(s, relay.HeaderPayloadMismatch)
	if demoted := heard[relay.BuilderDemoted](h); demoted.Rule != relay.DemotedMismatch || h.trusted() {
		t.Errorf("%+v", demoted)
	}
	if h.served(s.Key()) != (phase0.Hash32{}) || len(h.evidence) != 1 {
		t.Error("the header is still served, or there is no evidence")
	}
}

// A header that comes after its payload needs nothing more.
func TestHeaderOfAPayloadThatIsHere(t *testing.T) {
	h := newPipeline(t)
	h.trust(1)
	s := h.submission(1, 100)
	s.Cancellable = true
	h.accept(s, accepted)
	h.acceptHeader(h.header(s), accepted)
	if len(h.pipeline.awaited) != 0 {
		t.Error("a payload is awaited that is here")
	}
	h.top(s)
}

func TestHeadersThatAreRefused(t *testing.T) {
	h := newPipeline(t)
	s := h.submission(1, 100)
	h.refuseHeader(h.header(s), relay.HeaderNotTrusted)
	h.trust(1)
	dear := h.submission(1, 100)
	dear.Trace.Value = uint256.NewInt(1001)
	h.sign(dear, 1)
	h.refuseHeader(h.header(dear), relay.HeaderNotTrusted)
	h.dead = true
	h.refuseHeader(h.header(s), relay.HeaderNotTrusted)
	h.dead = false

	for want, change := range map[*relay.Refusal]func(*relay.HeaderSubmission){
		&relay.SubmissionWithdrawals: func(s *relay.HeaderSubmission) { s.Header.WithdrawalsRoot[0] ^= 1 },
		&relay.SubmissionPrevRandao:  func(s *relay.HeaderSubmission) { s.Header.PrevRandao[0] ^= 1 },
		&relay.SubmissionBlockHash:   func(s *relay.HeaderSubmission) { s.Header.BlockHash[0] ^= 1 },
		&relay.SubmissionTimestamp:   func(s *relay.HeaderSubmission) { s.Header.Timestamp++ },
		&relay.SubmissionBlobLimit:   func(s *relay.HeaderSubmission) { s.Commitments = make([]deneb.KZGCommitment, 10) },
	} {
		changed := h.header(h.submission(1, 100))
		change(changed)
		h.refuseHeader(changed, *want)
	}
	h.dead, h.pipeline.Cancellations = false, false
	s.Cancellable = true
	h.refuseHeader(h.header(s), relay.SubmissionCancellations)
}

// What no client would take has no effect.
func TestWorthlessHeaderHasNoEffect(t *testing.T) {
	h := newPipeline(t)
	h.trust(1)
	empty := h.header(h.submission(1, 100))
	empty.Header.TransactionsRoot = noTransactions
	h.acceptHeader(empty, accepted)
	h.acceptHeader(h.header(h.submission(1, 0)), accepted)
	if h.served(relay.Key{Slot: 1, ParentHash: empty.Trace.ParentHash, Proposer: proposerKey}) != (phase0.Hash32{}) {
		t.Error("a worthless header is served")
	}
}

func TestHeaderBelowTheFloor(t *testing.T) {
	h := newPipeline(t)
	h.trust(1)
	h.accept(h.submission(2, 100), accepted)
	h.acceptHeader(h.header(h.submission(1, 100)), belowFloor)
}

// A builder that is blocked is told so.
func TestBlockedBuilder(t *testing.T) {
	h := newPipeline(t)
	h.trust(1)
	b, _ := h.builders.Named("alpha")
	b.Blocked = true
	if err := h.builders.Set(h.spec.GenesisTime, b, "cheats"); err != nil {
		t.Fatal(err)
	}
	s := h.submission(1, 100)
	h.refuse(s, relay.SubmissionBlocked)
	h.refuseHeader(h.header(s), relay.SubmissionBlocked)
	h.accept(h.submission(2, 100), accepted)
}
