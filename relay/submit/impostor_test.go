package submit

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/relay"
)

// impostor is another payload under a block's hash, offered by a builder at a value.
func (h *pipelineUnderTest) impostor(s *relay.Submission, builder int, wei uint64) *relay.Submission {
	h.t.Helper()
	other := h.at(s, builder, wei)
	payload := *s.Payload
	payload.StateRoot[0] ^= byte(builder)
	other.Payload = &payload
	return other
}

// deliverable wants the escrow to have the payload of the header that is served, which it returns;
// nil if none is.
func (h *pipelineUnderTest) deliverable(t interface{ Errorf(string, ...any) }, key relay.Key) *preparedBid {
	top := h.board.Top(key)
	if top == nil {
		return nil
	}
	h.pipeline.mu.Lock()
	id := idOf(&relay.Bid{Builder: top.Builder, BlockHash: top.BlockHash, ValueWei: top.ValueWei,
		FeeRecipient: top.Trace.FeeRecipient})
	served := h.pipeline.prepared[id]
	_, awaits := h.pipeline.awaited[id]
	h.pipeline.mu.Unlock()
	if awaits {
		return served // the collateral stands for it
	}
	h.mu.Lock()
	contents := h.escrowed[relay.PayloadID{Slot: key.Slot, BlockHash: top.BlockHash, Builder: top.Builder}]
	h.mu.Unlock()
	if served == nil || contents == nil {
		t.Errorf("served is a header that nothing is known of: %+v, payload %v", top, contents)
		return nil
	}
	kept, err := prepareContents(contents)
	if err != nil {
		t.Errorf("%v", err)
		return nil
	}
	if difference := differs(served, kept); difference != "" {
		t.Errorf("served is a header whose payload is not there: %s", difference)
	}
	return served
}

// A builder that is trusted sends another payload under the hash of somebody else's block, before
// it or after it: the block is served with its own payload all the same, and the impostor is
// demoted for what it sent, not the victim.
func TestImpostorOfABlock(t *testing.T) {
	for name, first := range map[string]bool{"before the block": true, "after the block": false} {
		t.Run(name, func(t *testing.T) {
			h := newPipeline(t)
			cheat := h.trustUpTo(1, 1_000_000)
			h.trustUpTo(2, 1_000_000)
			victim := h.submission(2, 1000)
			fake := h.impostor(victim, 1, 500)
			if first {
				h.accept(fake, accepted)
				h.accept(victim, accepted)
			} else {
				fake = h.impostor(victim, 1, 1500)
				h.accept(victim, accepted)
				h.accept(fake, accepted)
			}
			h.deliverable(t, victim.Key())
			for h.executeNext() {
			}
			if list := h.demotions(); len(list) != 1 || list[0].Name != cheat {
				t.Errorf("demoted: %+v, want %s alone", list, cheat)
			}
			h.top(victim)
			h.deliverable(t, victim.Key())
		})
	}
}

// An impostor that promises less than what the block was found to pay is executed all the same:
// that finding is of another payload.
func TestImpostorIsNotProvenByTheBlock(t *testing.T) {
	h := newPipeline(t)
	cheat := h.trustUpTo(1, 1_000_000)
	victim, fake := h.submission(2, 1000), (*relay.Submission)(nil)
	victim.Cancellable = true
	h.accept(victim, accepted)
	fake = h.impostor(victim, 1, 900)
	h.accept(fake, accepted)
	for h.executeNext() {
	}
	if list := h.demotions(); len(list) != 1 || list[0].Name != cheat {
		t.Errorf("demoted: %+v, want %s", list, cheat)
	}
}

// A builder's own second payload under one hash is refused: the first one is what is executed and
// delivered. So is a second header of one bid.
func TestSecondPayloadUnderOneHash(t *testing.T) {
	h := newPipeline(t)
	h.trustUpTo(1, 1_000_000)
	block := h.submission(1, 1000)
	h.accept(block, accepted)
	h.refuse(h.impostor(block, 1, 2000), relay.SubmissionOtherPayload)
	h.top(block)

	// The right block above the collateral, which is executed, does not prove the wrong one that is
	// here.
	other := h.submission(1, 2_000_000)
	wrong := h.impostor(other, 1, 3000)
	h.accept(wrong, accepted)
	h.refuse(other, relay.SubmissionOtherPayload)
	for h.executeNext() {
	}
	if list := h.demotions(); len(list) != 1 || list[0].BlockHash != other.Trace.BlockHash {
		t.Errorf("demotions %+v", list)
	}
}

func TestSecondHeaderOfOneBid(t *testing.T) {
	h := newPipeline(t)
	h.trustUpTo(1, 1_000_000)
	block := h.submission(1, 1000)
	block.Cancellable = true
	h.acceptHeader(h.header(block), accepted)
	fake := h.impostor(block, 1, 1000)
	h.refuseHeader(h.header(fake), relay.HeaderPayloadMismatch)
	h.acceptHeader(h.header(block), accepted)
	h.accept(block, accepted)
	h.deliverable(t, block.Key())
}

// A header that comes while its payload is being kept finds none, and must not wait for another.
func TestHeaderWhileItsPayloadIsKept(t *testing.T) {
	h := newPipeline(t)
	h.trustUpTo(1, 1_000_000)
	block := h.submission(1, 1000)
	inner := h.pipeline.Escrow
	h.pipeline.Escrow = escrowFunc{inner, func() { h.acceptHeader(h.header(h.at(block, 1, 1100)), accepted) }}
	h.accept(block, accepted)
	if len(h.pipeline.awaited) != 0 {
		t.Error("a payload is awaited that is here")
	}
	h.deliverable(t, block.Key())
	for h.executeNext() {
	}
	if list := h.demotions(); len(list) != 1 || !list[0].ValueWei.Eq(uint256.NewInt(1100)) {
		t.Errorf("demotions %+v, want the header's", list)
	}
}

// escrowFunc has something happen while a payload is put.
type escrowFunc struct {
	Escrow
	meanwhile func()
}

func (e escrowFunc) Put(ctx context.Context, c *relay.Contents) error {
	e.meanwhile()
	return e.Escrow.Put(ctx, c)
}

// Two of a builder's submissions under one hash at the same moment: one of the payloads is kept,
// and only its bids count.
func TestTwoPayloadsUnderOneHashAtOnce(t *testing.T) {
	outer := newPipeline(t)
	block := outer.submission(1, 1000)
	for range 50 {
		h := newPipelineOn(t, outer)
		h.trustUpTo(1, 1_000_000)
		var both sync.WaitGroup
		for _, s := range []*relay.Submission{h.at(block, 1, 1000), h.impostor(block, 1, 1001)} {
			both.Go(func() {
				h.pipeline.Submit(t.Context(), s, nil) //nolint:errcheck // one of them is refused
			})
		}
		both.Wait()
		h.deliverable(t, block.Key())
	}
}

// Whatever blocks, impostors, headers and executions come in whatever order, what is served is
// deliverable, whoever served an impostor is demoted once all is executed, and nobody else.
func TestServedIsDeliverableAmongImpostors(t *testing.T) {
	outer := newPipeline(t)
	block := outer.submission(2, 1000)
	honest := bls.Derive("builder", 2).PublicKey()
	rapid.Check(t, func(rt *rapid.T) {
		h := newPipelineOn(t, outer)
		names := map[phase0.BLSPubKey]string{}
		for _, builder := range []int{1, 2, 3} {
			names[bls.Derive("builder", uint64(builder)).PublicKey()] = h.trustUpTo(builder, 1_000_000)
		}
		h.validator = validatorFunc(func(_ context.Context, b *exec.Block) exec.Verdict {
			if b.Payload.StateRoot != block.Payload.StateRoot {
				return exec.Verdict{Class: exec.Invalid, Rule: exec.RuleBlockHash}
			}
			return exec.Verdict{Class: exec.Valid, PaidWei: uint256.NewInt(1_000_000)}
		})
		guilty, fakes := map[string]bool{}, map[phase0.BLSPubKey]bool{}
		look := func() {
			if served := h.deliverable(rt, block.Key()); served != nil && served.header.StateRoot != block.Payload.StateRoot {
				fakes[served.trace.Builder] = true
			}
		}
		for step := range rapid.IntRange(1, 16).Draw(rt, "steps") {
			builder := rapid.IntRange(1, 3).Draw(rt, "builder")
			wei := rapid.Uint64Range(1, 5).Draw(rt, "value") * 100
			bid := h.at(block, builder, wei)
			if builder != 2 && rapid.Bool().Draw(rt, "impostor") {
				bid = h.impostor(block, builder, wei)
			}
			bid.Cancellable = rapid.Bool().Draw(rt, "cancellable")
			bid.ReceivedAt = bid.ReceivedAt.Add(time.Duration(step) * time.Millisecond)
			switch rapid.SampledFrom([]string{"block", "header", "execute"}).Draw(rt, "action") {
			case "block":
				h.pipeline.Submit(t.Context(), bid, nil) //nolint:errcheck // may be stale, or another payload than before
			case "header":
				h.pipeline.SubmitHeader(t.Context(), h.header(bid)) //nolint:errcheck // the same
			default:
				h.executeNext()
			}
			look()
		}
		for h.executeNext() {
			look()
		}
		for _, d := range h.demotions() {
			guilty[d.Name] = true
		}
		if guilty[names[honest]] {
			rt.Errorf("who sent what it said is demoted: %+v", h.demotions())
		}
		h.pipeline.mu.Lock()
		for _, a := range h.pipeline.awaited { // its payload never came: that demotes when the time is over
			guilty[names[a.bid.trace.Builder]] = true
		}
		h.pipeline.mu.Unlock()
		for builder := range fakes {
			if !guilty[names[builder]] {
				rt.Errorf("%s was served with a payload that has not the hash, and is still trusted", names[builder])
			}
		}
	})
}
