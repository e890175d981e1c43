package app_test

import (
	"errors"
	"testing"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/target"
)

// A target at addresses is taken as it is. Containers without an engine cannot be judged, and an
// image without containers is the caller's mistake.
func TestOpen(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	addresses := &target.Target{Stream: &target.Stream{URL: "http://127.0.0.1:1"}}
	contained := &target.Target{Containers: []target.Container{{Name: "relay", Image: "relay:1", Ports: []int{80}}}}

	found, end, err := app.Open(t.Context(), app.Source{Target: addresses, Notes: t.Output()})
	if end(); err != nil || found.Target != addresses {
		t.Errorf("a target at addresses: %v, %v", found, err)
	}
	var usage app.UsageError
	if _, end, err = app.Open(t.Context(), app.Source{Target: addresses, Image: "relay:1"}); !errors.As(err, &usage) {
		t.Errorf("an image for nothing: %v", err)
	}
	end()
	if _, end, err = app.Open(t.Context(), app.Source{Target: contained, Literal: true}); !errors.As(err, &usage) {
		t.Errorf("literal mode of a target of others: %v", err)
	}
	end()
	var unusable app.UnusableError
	_, end, err = app.Open(t.Context(), app.Source{Target: contained, Notes: t.Output()})
	if end(); !errors.As(err, &unusable) || !errors.Is(err, app.ErrNoEngine) {
		t.Errorf("containers without an engine: %v", err)
	}
	_, end, err = app.Open(t.Context(), app.Source{Image: "gavel:dev", Notes: t.Output()})
	if end(); !errors.As(err, &unusable) || !errors.Is(err, app.ErrNoEngine) {
		t.Errorf("an image without an engine: %v", err)
	}
}
