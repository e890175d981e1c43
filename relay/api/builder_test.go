package api

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/speculate"
	"github.com/gavel-relay/gavel/relay/submit"
)

// builderFakePorts stands for the ports behind the handlers and keeps what it was sent.
type builderFakePorts struct {
	received []*relay.Submission
	headers  []*relay.HeaderSubmission
	cache    submit.HydrationCache
	outcome  relay.Outcome
	err      error
	duties   []relay.RegisteredDuty
	version  uint64
	auction  auction
	ahead    []*speculate.Ahead
}

func (d *builderFakePorts) Submit(_ context.Context, s *relay.Submission,
	ahead *speculate.Ahead) (relay.Outcome, error) {
	d.received, d.ahead = append(d.received, s), append(d.ahead, ahead)
	return d.outcome, d.err
}

func (d *builderFakePorts) Duties() ([]relay.RegisteredDuty, uint64) { return d.duties, d.version }

func (d *builderFakePorts) SubmitHeader(_ context.Context, h *relay.HeaderSubmission) (relay.Outcome, error) {
	d.headers = append(d.headers, h)
	return d.outcome, d.err
}

// ByKey knows one builder: the one whose public key is all zeros, as in the submission of these
// tests.
func (d *builderFakePorts) ByKey(apiKey string) (relay.Builder, bool) {
	switch apiKey {
	case "alpha's":
		return relay.Builder{Name: "alpha", Pubkeys: []phase0.BLSPubKey{{}}}, true
	case "beta's":
		return relay.Builder{Name: "beta", Pubkeys: []phase0.BLSPubKey{{1}}}, true
	}
	return relay.Builder{}, false
}

func (d *builderFakePorts) handler() http.Handler {
	mux := NewMux()
	MountBuilder(mux, BuilderConfig{Spec: testSpec(), Clock: clock.NewStepped(now), Submitter: d,
		Speculator: d.auction.speculator(),
		Headers:    d, Duties: d,
		Identity: d, Hydrator: &d.cache})
	return mux
}

// askHandler sends a request. Headers are lines "Name: value".
func askHandler(t *testing.T, handler http.Handler, request, headers string, body []byte) *httptest.ResponseRecorder {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r := httptest.NewRequest(method, path, bytes.NewReader(body))
	for line := range strings.Lines(headers) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		r.Header.Add(name, value)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	return answer
}

func TestBuilderPathsAndMethods(t *testing.T) {
	for request, want := range map[string]relay.Refusal{
		"GET /relay/v1/builder":             relay.NotFound,
		"POST /relay/v2/builder/blocks":     relay.NotFound,
		"GET /relay/v1/builder/blocks":      relay.MethodNotAllowed,
		"POST /relay/v1/builder/validators": relay.MethodNotAllowed,
	} {
		wantRefusal(t, askHandler(t, new(builderFakePorts).handler(), request, "", nil), want)
	}
}
