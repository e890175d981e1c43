package submit

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/gavel-relay/gavel/internal/exec"
)

// A record of valid blocks makes a builder known, and then its leading bids come first; an invalid
// block ends the record, and puts its key and, for other strangers, its address behind everybody
// else until the slot is over.
func TestPriorityIsEarned(t *testing.T) {
	h := newPipeline(t)
	var got []exec.Priority
	class := exec.Valid
	h.validator = validatorFunc(func(_ context.Context, b *exec.Block) exec.Verdict {
		got = append(got, b.Priority)
		return exec.Verdict{Class: class, Rule: map[exec.Class]exec.Rule{exec.Invalid: exec.RulePayment}[class]}
	})
	block := h.submission(1, 1000)
	send := func(builder int, from string, wei uint64) {
		s := h.at(block, builder, wei)
		s.From, s.Cancellable = from, true
		h.pipeline.Submit(t.Context(), s, nil) //nolint:errcheck // what is looked at is how soon it is executed
	}
	for i := range 4 {
		send(1, "1.1.1.1", uint64(100+i))
	}
	send(1, "1.1.1.1", 50) // a cancellation: it does not lead
	class = exec.Invalid
	send(1, "1.1.1.1", 5000)
	send(1, "2.2.2.2", 5000)
	send(2, "1.1.1.1", 5000)
	class = exec.Valid
	send(3, "3.3.3.3", 6000)
	want := []exec.Priority{exec.Normal, exec.Normal, exec.Normal, exec.High, exec.Known, exec.High, exec.Last,
		exec.Last, exec.Normal}
	if !slices.Equal(got, want) {
		t.Errorf("executed as %v, want %v", got, want)
	}
	h.pipeline.senders.close(2)
	s := h.at(block, 2, 1)
	s.From = "1.1.1.1"
	if got := h.pipeline.senders.of(s); got != exec.Normal {
		t.Errorf("in the next slot %d, want %d", got, exec.Normal)
	}
}

// Keys cost nothing: what is remembered of them is bounded.
func TestRecordsAreBounded(t *testing.T) {
	h := newPipeline(t)
	var st senderRecords
	s := h.submission(1, 1)
	for i := range 3 * remembered {
		copy(s.Trace.BuilderPubkey[:], fmt.Sprintf("%048d", i))
		st.learn(s, exec.Valid)
	}
	if len(st.record) > remembered {
		t.Errorf("%d records", len(st.record))
	}
}
