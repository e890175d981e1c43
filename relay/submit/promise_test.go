package submit

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/relay"
)

// trustUpTo lets a builder, which is called by its number, bid before its block is executed.
func (h *pipelineUnderTest) trustUpTo(builder int, wei uint64) string {
	h.t.Helper()
	name := fmt.Sprintf("builder-%d", builder)
	if err := h.builders.Set(h.spec.GenesisTime, relay.Builder{
		Name: name, Pubkeys: []phase0.BLSPubKey{bls.Derive("builder", uint64(builder)).PublicKey()}, Optimistic: true,
		CollateralWei: uint256.NewInt(wei), HeaderFirst: true,
	}, "test"); err != nil {
		h.t.Fatal(err)
	}
	return name
}

// at is the same block, promised by a builder at another value.
func (h *pipelineUnderTest) at(s *relay.Submission, builder int, wei uint64) *relay.Submission {
	h.t.Helper()
	other, trace := *s, *s.Trace
	trace.BuilderPubkey, trace.Value = bls.Derive("builder", uint64(builder)).PublicKey(), uint256.NewInt(wei)
	other.Trace = &trace
	h.sign(&other, builder)
	return &other
}

// executeNext executes one bid that was accepted optimistically, as Run would; false if there is
// none left.
func (h *pipelineUnderTest) executeNext() bool {
	job, _ := h.pipeline.optimistic.next(time.Now())
	if job == nil {
		return false
	}
	h.pipeline.simulateQueued(h.t.Context(), job)
	return true
}

// demotions are what builders were demoted for.
func (h *pipelineUnderTest) demotions() (list []relay.BuilderDemoted) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, fact := range h.facts {
		if demoted, ok := fact.(relay.BuilderDemoted); ok {
			list = append(list, demoted)
		}
	}
	return list
}

// caught wants a builder to have been demoted, once, for a value that its block does not pay, with
// the evidence of it; the honest bid is served.
func (h *pipelineUnderTest) caught(name string, bluff, honest *relay.Submission) {
	h.t.Helper()
	for h.executeNext() {
	}
	list := h.demotions()
	if len(list) != 1 || list[0].Name != name || list[0].Rule != string(exec.RulePayment) ||
		!list[0].ValueWei.Eq(bluff.Trace.Value) ||
		list[0].Signature != bluff.Signature || list[0].NumTx != len(bluff.Payload.Transactions) {
		h.t.Errorf("demotions %+v, want %s for a promise of %s wei", list, name, bluff.Trace.Value)
	}
	if len(h.evidence) != 1 || !h.evidence[0].Trace.Value.Eq(bluff.Trace.Value) ||
		h.evidence[0].Payload.BlockHash != bluff.Trace.BlockHash {
		h.t.Error("no evidence of that promise")
	}
	if top := h.board.Top(honest.Key()); top == nil || top.BlockHash != honest.Trace.BlockHash {
		h.t.Errorf("served: %+v, want the honest bid", top)
	}
}

// A builder has a block that pays 1,000 executed, and wins with its header at 900,000: "the payload
// is here already" is no reason not to execute it at that value.
func TestHeaderAboveWhatItsBlockPaysDemotes(t *testing.T) {
	h := newPipeline(t)
	name := h.trustUpTo(1, 1_000_000)
	block, honest := h.submission(1, 1000), h.submission(2, 500_000)
	h.accept(block, accepted)
	for h.executeNext() {
	}
	h.accept(honest, accepted)
	bluff := h.at(block, 1, 900_000)
	h.acceptHeader(h.header(bluff), accepted)
	h.caught(name, bluff, honest)
}

// The same with a second submission of the whole block while the first one waits to be executed.
func TestSecondValueOfABlockDemotes(t *testing.T) {
	h := newPipeline(t)
	name := h.trustUpTo(1, 1_000_000)
	block, honest := h.submission(1, 1000), h.submission(2, 500_000)
	h.accept(block, accepted)
	bluff := h.at(block, 1, 900_000)
	h.accept(bluff, accepted)
	h.accept(honest, belowFloor) // below what is accepted optimistically: kept
	if top := h.board.Top(block.Key()); top == nil || !top.ValueWei.Eq(bluff.Trace.Value) {
		t.Fatalf("served: %+v, want the bluff", top)
	}
	for h.executeNext() {
	}
	if list := h.demotions(); len(list) != 1 || list[0].Name != name || !list[0].ValueWei.Eq(bluff.Trace.Value) {
		t.Errorf("demotions %+v", list)
	}
	if top := h.board.Top(block.Key()); top != nil && top.ValueWei.Eq(bluff.Trace.Value) {
		t.Error("the bluff is still served")
	}
	again := h.submission(2, 500_000)
	h.accept(again, accepted)
	h.top(again)
}

// The same with two headers for one block, and with a payload that says another value than its
// header.
func TestPayloadIsExecutedAtTheValueOfItsHeaders(t *testing.T) {
	for name, values := range map[string][]uint64{"two headers": {1000, 900_000}, "one header": {900_000}} {
		t.Run(name, func(t *testing.T) {
			h := newPipeline(t)
			name := h.trustUpTo(1, 1_000_000)
			block, honest := h.submission(1, 1000), h.submission(2, 500_000)
			h.accept(honest, accepted)
			bluff := h.at(block, 1, 900_000)
			for _, wei := range values {
				bid := h.at(block, 1, wei)
				bid.Cancellable = true
				if wei > 500_000 {
					bid.Cancellable = false
				}
				h.pipeline.SubmitHeader(t.Context(), h.header(bid)) //nolint:errcheck // one below the floor is kept only
			}
			h.accept(block, accepted) // the payload, at the value that it pays
			h.caught(name, bluff, honest)
		})
	}
}

// Another key's header for a block that is here has a payload of its own to follow, and is executed
// too.
func TestHeaderOfAnotherKeyIsExecuted(t *testing.T) {
	h := newPipeline(t)
	name := h.trustUpTo(3, 1_000_000)
	block, honest := h.submission(1, 1000), h.submission(2, 500_000)
	h.accept(block, accepted)
	h.accept(honest, accepted)
	bluff := h.at(block, 3, 900_000)
	h.acceptHeader(h.header(bluff), accepted)
	h.accept(bluff, accepted)
	h.caught(name, bluff, honest)
}

// What an execution has found is not looked for again, for values that it proves.
func TestProvenValueIsNotExecutedAgain(t *testing.T) {
	h := newPipeline(t)
	h.trustUpTo(1, 1_000_000)
	executions, inner := 0, h.validator
	h.validator = validatorFunc(func(_ context.Context, b *exec.Block) exec.Verdict {
		executions++
		return inner.Validate(t.Context(), b)
	})
	block := h.submission(1, 1000)
	block.Cancellable = true
	h.accept(block, accepted)
	for h.executeNext() {
	}
	lower := h.at(block, 1, 900)
	lower.Cancellable, lower.ReceivedAt = true, block.ReceivedAt.Add(time.Second)
	h.accept(lower, accepted)
	for h.executeNext() {
	}
	if executions != 1 || len(h.demotions()) != 0 {
		t.Errorf("%d executions, demotions %v", executions, h.demotions())
	}
	if executed := heard[relay.SubmissionExecuted](h); !executed.ValueWei.Eq(uint256.NewInt(1000)) ||
		!executed.PaidWei.Eq(uint256.NewInt(1000)) {
		t.Errorf("%+v", executed)
	}
}

// A header under the hash of a payload that is here, but of another block, would be signed for
// nothing: it is never served.
func TestHeaderOfAnotherBlockThanTheEscrows(t *testing.T) {
	h := newPipeline(t)
	h.trustUpTo(1, 1_000_000)
	block := h.submission(1, 1000)
	h.accept(block, accepted)
	forged := h.header(h.at(block, 1, 900_000))
	forged.Header.StateRoot[0] ^= 1
	h.refuseHeader(forged, relay.HeaderPayloadMismatch)
	h.top(block)
}

// Whatever comes in whatever order — blocks, headers, payloads, executions — once all is executed,
// no value stands that its block does not pay, and whoever was served with one is demoted.
func TestNoPromiseGoesUnexecuted(t *testing.T) {
	outer := newPipeline(t)
	paid := []uint64{1000, 2000, 3000}
	var blocks []*relay.Submission
	pays := map[phase0.Hash32]*uint256.Int{}
	for _, wei := range paid {
		blocks = append(blocks, outer.submission(1, wei))
		pays[blocks[len(blocks)-1].Trace.BlockHash] = uint256.NewInt(wei)
	}
	rapid.Check(t, func(rt *rapid.T) {
		h := newPipelineOn(t, outer)
		names := map[phase0.BLSPubKey]string{}
		for _, builder := range []int{1, 2} {
			names[bls.Derive("builder", uint64(builder)).PublicKey()] = h.trustUpTo(builder, 1_000_000)
		}
		h.validator = validatorFunc(func(_ context.Context, b *exec.Block) exec.Verdict {
			if p := pays[b.Payload.BlockHash]; b.ValueWei.Gt(p) {
				return exec.Verdict{Class: exec.Invalid, Rule: exec.RulePayment, PaidWei: p}
			}
			return exec.Verdict{Class: exec.Valid, PaidWei: b.ValueWei} // as a node that says no more than "valid"
		})
		guilty := map[string]bool{}
		look := func() {
			if top := h.board.Top(blocks[0].Key()); top != nil && top.ValueWei.Gt(pays[top.BlockHash]) {
				guilty[names[top.Builder]] = true
			}
		}
		for step := range rapid.IntRange(1, 14).Draw(rt, "steps") {
			block := rapid.SampledFrom(blocks).Draw(rt, "block")
			bid := h.at(block, rapid.IntRange(1, 2).Draw(rt, "builder"),
				rapid.SampledFrom([]uint64{500, 1000, 2000, 3000, 9000}).Draw(rt, "value"))
			bid.Cancellable = rapid.Bool().Draw(rt, "cancellable")
			bid.ReceivedAt = bid.ReceivedAt.Add(time.Duration(step) * time.Millisecond)
			switch rapid.SampledFrom([]string{"block", "header", "execute"}).Draw(rt, "action") {
			case "block":
				h.pipeline.Submit(t.Context(), bid, nil) //nolint:errcheck // may be stale or not trusted any more
			case "header":
				h.pipeline.SubmitHeader(t.Context(), h.header(bid)) //nolint:errcheck // the same
			default:
				h.executeNext()
			}
			look()
		}
		for _, block := range blocks { // payloads that are still awaited come
			for _, builder := range []int{1, 2} {
				if bid := h.at(block, builder, 1); len(h.pipeline.awaitedOf(bid)) > 0 {
					h.pipeline.Submit(t.Context(), bid, nil) //nolint:errcheck // it is in the auction by its header
				}
			}
			look()
		}
		for h.executeNext() {
			look()
		}
		demoted := map[string]bool{}
		for _, d := range h.demotions() {
			demoted[d.Name] = true
		}
		for name := range guilty {
			if !demoted[name] {
				rt.Errorf("%s was served with a value that its block does not pay, and is still trusted", name)
			}
		}
		if top := h.board.Top(blocks[0].Key()); top != nil && top.ValueWei.Gt(pays[top.BlockHash]) {
			rt.Errorf("served at %s wei: its block pays %s", top.ValueWei, pays[top.BlockHash])
		}
	})
}
