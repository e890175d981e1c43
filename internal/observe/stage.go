package observe

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/trace"
)

// The stages of the relay's ways. Their names are labels, so they are constants.
const (
	Receive   = "receive"   // reading a submission's body
	Decode    = "decode"    // from its encoding
	Check     = "check"     // by the cheap rules
	Simulate  = "simulate"  // executing its block
	Eligible  = "eligible"  // escrow and auction, until the bid counts
	Signature = "signature" // of a proposer's signed header
	Escrow    = "escrow"    // finding its payload
	Guard     = "guard"     // making sure that it is the slot's only one
	Publish   = "publish"   // by beacon nodes
)

type watchKey struct{}

func nothing() {}

// Stage begins a stage of a request's way; the function that it returns ends it. It is measured,
// and traced as a part of the request. The name is a constant. In a context that is nobody's
// request, or of a server without a watcher, it costs nothing.
func Stage(ctx context.Context, name string) func() {
	watch, _ := ctx.Value(watchKey{}).(*HTTP)
	if watch == nil {
		return nothing
	}
	return watch.stage(ctx, name)
}

func (h *HTTP) stage(ctx context.Context, name string) func() {
	began := time.Now()
	var span trace.Span
	if h.tracer != nil {
		_, span = h.tracer.Start(ctx, name)
	}
	return func() {
		h.stages.WithLabelValues(name).Observe(time.Since(began).Seconds())
		if span != nil {
			span.End()
		}
	}
}
