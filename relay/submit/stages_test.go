package submit

import (
	"maps"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gavel-relay/gavel/internal/observe"
	"github.com/gavel-relay/gavel/relay"
)

// The fact of a submission says how long each of its stages took, with those before the pipeline. A
// refused one has those until then, and without a server that measures there are none.
func TestStagesAreInTheFact(t *testing.T) {
	h := newPipeline(t)
	ctx := observe.NewHTTP(observe.NewSet(prometheus.NewRegistry()), nil).Context(t.Context())
	submit := func(s *relay.Submission) relay.StagesUs {
		_, _ = h.pipeline.Submit(ctx, s, nil)
		return h.last().Stages
	}
	whole := h.submission(0, 5)
	whole.Stages = relay.StagesUs{Receive: 7, Decode: 8}
	got := submit(whole)
	if names := slices.Sorted(maps.Keys(maps.Collect(got.All()))); !slices.Equal(names,
		[]string{observe.Check, observe.Decode, observe.Eligible, observe.Receive, observe.Simulate}) ||
		got.Receive != 7 || got.Decode != 8 {
		t.Errorf("%+v", got)
	}
	wrong := h.submission(0, 6)
	wrong.Signature[5]++
	if got := submit(wrong); got.Check == 0 || got != (relay.StagesUs{Check: got.Check}) {
		t.Errorf("refused: %+v", got)
	}
	h.accept(h.submission(1, 7), accepted)
	if got := h.last().Stages; got != (relay.StagesUs{}) {
		t.Errorf("nothing was measured, and there is %+v", got)
	}
}

// Each stage of requests is one of facts.
func TestAllStagesHaveFields(t *testing.T) {
	for _, name := range []string{
		observe.Receive, observe.Decode, observe.Check, observe.Simulate, observe.Eligible, observe.Signature,
		observe.Escrow, observe.Guard, observe.Publish,
	} {
		if !new(relay.StagesUs).Add(name, 1) {
			t.Errorf("facts have no stage %s", name)
		}
	}
}
