package observe

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// The stages of submissions and of getPayload in the relay. They are values of a label, so they are
// constants.
const (
	Receive   = "receive"   // reads a submission's body
	Decode    = "decode"    // decodes the body
	Check     = "check"     // applies the cheap rules
	Simulate  = "simulate"  // executes the block
	Eligible  = "eligible"  // escrow and auction, until the bid is eligible
	Signature = "signature" // verifies the signature of a proposer's signed header
	Escrow    = "escrow"    // finds the header's payload
	Guard     = "guard"     // makes sure that it is the only payload of its slot
	Publish   = "publish"   // publishes the block by beacon nodes
)

type watchKey struct{}

func doNothing() time.Duration { return 0 }

// Stage begins a stage of a request; the function that it returns ends it, and returns how long it
// took. The stage is measured, and traced as a part of the request. The name must be a constant. In
// a context that is not a request's, or of a server without a watcher, Stage does nothing, and the
// stage takes no time.
func Stage(ctx context.Context, name string) (end func() time.Duration) {
	watch, _ := ctx.Value(watchKey{}).(*HTTP)
	if watch == nil {
		return doNothing
	}
	return watch.stage(ctx, name)
}

func (h *HTTP) stage(ctx context.Context, name string) func() time.Duration {
	began := time.Now()
	var span trace.Span
	if h.tracer != nil {
		_, span = h.tracer.Start(ctx, name)
	}
	return func() time.Duration {
		took := time.Since(began)
		h.stages.WithLabelValues(name).Observe(took.Seconds())
		if span != nil {
			span.End()
		}
		return took
	}
}
