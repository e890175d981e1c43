package submit

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/relay"
)

// trust lets a builder bid before its block is executed, up to 1,000 wei.
func (h *pipelineUnderTest) trust(builder int) {
	h.t.Helper()
	err := h.builders.Set(h.spec.GenesisTime, relay.Builder{
		Name: "alpha", Pubkeys: []phase0.BLSPubKey{bls.Derive("builder", uint64(builder)).PublicKey()}, Optimistic: true,
		CollateralWei: uint256.NewInt(1000), HeaderFirst: true,
	}, "test")
	if err != nil {
		h.t.Fatal(err)
	}
}

// trusted says whether the builder is still taken at its word.
func (h *pipelineUnderTest) trusted() bool {
	b, _ := h.builders.Named("alpha")
	return b.Optimistic
}

// run executes what was accepted optimistically until the test ends.
func (h *pipelineUnderTest) run() {
	ctx, cancel := context.WithCancel(h.t.Context())
	done := make(chan error)
	go func() { done <- h.pipeline.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
	})
}

// heard waits for a fact of a kind and returns it.
func heard[F relay.Fact](h *pipelineUnderTest) F {
	h.t.Helper()
	for {
		h.mu.Lock()
		changed := h.changed
		for _, fact := range h.facts {
			if f, ok := fact.(F); ok {
				h.mu.Unlock()
				return f
			}
		}
		h.mu.Unlock()
		select {
		case <-changed:
		case <-h.t.Context().Done():
			h.t.Fatal("the fact was never told")
		}
	}
}

// settled waits until a block is no longer served: the withdrawal is the last thing that a demotion
// does.
func (h *pipelineUnderTest) settled(s *relay.Submission) {
	h.t.Helper()
	for {
		h.mu.Lock()
		changed := h.changed
		h.mu.Unlock()
		if top := h.board.Top(s.Key()); top == nil || top.BlockHash != s.Trace.BlockHash {
			return
		}
		select {
		case <-changed:
		case <-h.t.Context().Done():
			h.t.Fatal("it is served for ever")
		}
	}
}

// withHeld makes execution wait until the returned function is called.
func (h *pipelineUnderTest) withHeld() (release func()) {
	gate, inner := make(chan struct{}), h.validator
	h.validator = validatorFunc(func(ctx context.Context, b *exec.Block) exec.Verdict {
		<-gate
		return inner.Validate(ctx, b)
	})
	return func() { close(gate) }
}

type validatorFunc func(context.Context, *exec.Block) exec.Verdict

func (f validatorFunc) Validate(ctx context.Context, b *exec.Block) exec.Verdict { return f(ctx, b) }

// The answer, the eligibility and the execution are three things: the builder has its 200, and
// proposers the bid, while the block waits to be executed. Deployed relays hold the answer until
// the simulation and the database are through.
func TestBidOnTrustCountsBeforeItsExecution(t *testing.T) {
	h := newPipeline(t)
	h.trust(1)
	release := h.withHeld()
	s := h.submission(1, 1000)
	h.accept(s, accepted)
	h.top(s)
	if judged := h.last(); !judged.Optimistic || judged.Verified || judged.EligibleAt.IsZero() {
		t.Errorf("recorded as %+v", judged)
	}
	h.run()
	release()
	if executed := heard[relay.SubmissionExecuted](h); executed.Class != "valid" ||
		executed.BlockHash != s.Trace.BlockHash || executed.Delivered {
		t.Errorf("%+v", executed)
	}
	h.top(s)
	if !h.trusted() || len(h.evidence) != 0 {
		t.Error("demoted for a valid block")
	}
}

// Never above the collateral, never for others, never without anybody to execute: then the block is
// executed first.
func TestBidsThatAreNotTakenOnTrust(t *testing.T) {
	for name, row := range map[string]struct {
		builder int
		wei     uint64
		dead    bool
	}{
		"above the collateral":           {1, 1001, false},
		"of another builder":             {2, 10, false},
		"while nobody executes anything": {1, 10, true},
	} {
		t.Run(name, func(t *testing.T) {
			h := newPipeline(t)
			h.trust(1)
			h.dead = row.dead
			s := h.submission(row.builder, row.wei)
			h.accept(s, accepted)
			if judged := h.last(); judged.Optimistic || !judged.Verified {
				t.Errorf("recorded as %+v", judged)
			}
		})
	}
}

// An invalid block that was accepted optimistically demotes its builder: its unverified bids are
// taken back at once, the true next best leads, what it sent is kept as evidence, and its next bid
// is executed first.
func TestInvalidBlockDemotes(t *testing.T) {
	h := newPipeline(t)
	h.trust(1)
	other, verified := h.submission(2, 50), h.submission(1, 60)
	h.accept(other, accepted)
	h.accept(verified, accepted)
	bad := h.submission(1, 200)
	bad.Trace.Value = uint256.NewInt(900) // promised, not paid
	h.sign(bad, 1)
	release := h.withHeld()
	h.accept(bad, accepted)
	h.top(bad)
	h.run()
	release()
	demoted := heard[relay.BuilderDemoted](h)
	if demoted.Name != "alpha" || demoted.Rule != string(exec.RulePayment) || demoted.BlockHash != bad.Trace.BlockHash ||
		demoted.Signature != bad.Signature {
		t.Errorf("%+v", demoted)
	}
	h.settled(bad)
	if h.trusted() || len(h.evidence) != 1 || h.evidence[0].Payload.BlockHash != bad.Trace.BlockHash {
		t.Errorf("trusted %v, %d pieces of evidence", h.trusted(), len(h.evidence))
	}
	if top := h.board.Top(bad.Key()); top == nil || top.BlockHash == bad.Trace.BlockHash {
		t.Errorf("served after the demotion: %+v", top)
	}
	again := h.submission(1, 300)
	h.accept(again, accepted)
	if judged := h.last(); judged.Optimistic || !judged.Verified {
		t.Errorf("after the demotion recorded as %+v", judged)
	}
	h.top(again)
}

// Only "invalid" demotes: what could not be found out is tried again, here until the node is back.
func TestInfrastructureNeverDemotes(t *testing.T) {
	h := newPipeline(t)
	h.trust(1)
	var tries atomic.Int32
	inner := h.validator
	h.validator = validatorFunc(func(ctx context.Context, b *exec.Block) exec.Verdict {
		if tries.Add(1) < 3 {
			return exec.Verdict{Class: exec.Infrastructure, Rule: exec.RuleParent, Detail: "not here yet"}
		}
		return inner.Validate(ctx, b)
	})
	s := h.submission(1, 100)
	h.accept(s, accepted)
	h.run()
	if executed := heard[relay.SubmissionExecuted](h); executed.Class != "valid" || tries.Load() != 3 {
		t.Errorf("%+v after %d tries", executed, tries.Load())
	}
	if !h.trusted() {
		t.Error("demoted for our own trouble")
	}
}

// A delivered block is executed even after its slot; one that nobody took is dropped with its slot.
func TestDeliveredBlockIsExecutedAfterItsSlot(t *testing.T) {
	h := newPipeline(t)
	h.trust(1)
	lost, won := h.submission(1, 100), h.submission(1, 200)
	h.accept(lost, accepted)
	h.accept(won, accepted)
	h.slots.MarkDelivered(1, won.Trace.BlockHash)
	h.pipeline.Close(5)
	if !h.pipeline.Needs(1) || h.pipeline.Needs(2) {
		t.Error("the escrow may forget what is still to be executed")
	}
	if dropped := heard[relay.SubmissionExecuted](h); dropped.Class != "infrastructure" ||
		dropped.BlockHash != lost.Trace.BlockHash {
		t.Errorf("%+v", dropped)
	}
	h.mu.Lock()
	h.facts = nil
	h.mu.Unlock()
	h.run()
	if executed := heard[relay.SubmissionExecuted](h); executed.Class != "valid" ||
		executed.BlockHash != won.Trace.BlockHash || !executed.Delivered {
		t.Errorf("%+v", executed)
	}
}

// With an API key the signature is verified after the bid counts; a wrong one demotes.
func TestSignatureIsVerifiedLater(t *testing.T) {
	h := newPipeline(t)
	h.trust(1)
	s := h.submission(1, 100)
	s.Identified, s.Signature = true, phase0.BLSSignature{1}
	h.accept(s, accepted)
	h.top(s)
	h.run()
	if demoted := heard[relay.BuilderDemoted](h); demoted.Rule != relay.DemotedSignature ||
		demoted.BlockHash != s.Trace.BlockHash {
		t.Errorf("%+v", demoted)
	}
	h.settled(s)
	if h.board.Top(s.Key()) != nil {
		t.Error("a bid that nobody signed is still served")
	}
	h.refuse(s, relay.SubmissionBuilderKey) // no longer on trust: verified beside the execution
}

// What known builders send is executed first, and what leads of that before the rest; a stranger's
// claim to lead is worth nothing.
func TestPriority(t *testing.T) {
	h := newPipeline(t)
	var got []exec.Priority
	h.validator = validatorFunc(func(_ context.Context, b *exec.Block) exec.Verdict {
		got = append(got, b.Priority)
		return exec.Verdict{Class: exec.Valid}
	})
	leading, following := h.submission(1, 100), h.submission(2, 50)
	leading.Cancellable = true // so that there is no floor
	h.accept(leading, accepted)
	h.accept(following, accepted)
	if err := h.builders.Set(h.spec.GenesisTime, relay.Builder{
		Name: "fast", Pubkeys: []phase0.BLSPubKey{bls.Derive("builder", 3).PublicKey()}, HighPriority: true,
	}, ""); err != nil {
		t.Fatal(err)
	}
	h.accept(h.submission(3, 60), accepted)
	if len(got) != 3 || got[0] != exec.Normal || got[1] != exec.Normal || got[2] != exec.High {
		t.Errorf("%v", got)
	}
}

// One block offered by two keys at two values is two bids, each served at its own.
func TestOneBlockAtTwoValues(t *testing.T) {
	h := newPipeline(t)
	s := h.submission(1, 100)
	s.Cancellable = true
	lower := *s
	trace := *s.Trace
	lower.Trace = &trace
	lower.Trace.BuilderPubkey, lower.Trace.Value = bls.Derive("builder", 2).PublicKey(), uint256.NewInt(40)
	h.sign(&lower, 2)
	h.accept(s, accepted)
	h.accept(&lower, accepted)
	h.top(s)
	worse := h.submission(1, 10)
	worse.Cancellable, worse.ReceivedAt = true, s.ReceivedAt.Add(time.Second)
	h.accept(worse, accepted)
	h.top(&lower)
	if top := h.board.Top(s.Key()); top.Builder != lower.Trace.BuilderPubkey {
		t.Error("the bid of the other key is served under the first one's name")
	}
}
