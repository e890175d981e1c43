package suite

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sort"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/target"
)

// Features are the optional features that a target has, and those that it lacks with the reason.
type Features struct {
	// How the suite knows: declared or inferred.
	How   string
	Has   []string
	Lacks map[string]string
}

// question is a request that finds out about one feature. The statuses in no mean that the server
// lacks it.
type question struct {
	feature string
	iface   string
	request probe.Request
	no      []int
}

func questions() []question {
	post := func(path, media, encoding string, body string) probe.Request {
		return probe.Request{
			Method: http.MethodPost, Path: path, Header: map[string]string{"Content-Type": media, "Content-Encoding": encoding},
			Body: []byte(body),
		}
	}
	return []question{
		{"ssz", "relay", post("/eth/v1/builder/validators", "application/octet-stream", "", "x"), []int{415}},
		{"gzip", "relay", post("/relay/v1/builder/blocks", "application/json", "gzip", "x"), []int{415}},
		{"payload-v2", "relay", post("/eth/v2/builder/blinded_blocks", "application/json", "", "{}"), []int{404, 405}},
		{"history-post", "stream", post("/api/v1/history", "application/json", "", "{}"), []int{404, 405, 415}},
	}
}

// Gone returns the interfaces of a target that do not answer at all, each with the reason.
func Gone(ctx context.Context, t *target.Target) map[string]string {
	gone := map[string]string{}
	for _, iface := range clauses.Interfaces {
		if !t.Has(iface) {
			continue
		}
		path := map[string]string{"relay": "/eth/v1/builder/status", "stream": "/api/v1/history/info", "rpc": "/"}[iface]
		if _, err := probe.NewClient(addressOf(t, iface), nil, t.Budgets.Answer()).Do(ctx,
			probe.Request{Method: http.MethodGet, Path: path}); err != nil {
			gone[iface] = "the " + iface + " does not answer: " + err.Error()
		}
	}
	return gone
}

func addressOf(t *target.Target, iface string) string {
	switch iface {
	case "relay":
		return t.Relay.ProposerURL
	case "stream":
		return t.Stream.URL
	default:
		return t.RPC.URL
	}
}

// Probe finds out which features a target has: those that it declares, or else by requests. A
// feature that no request can find out about is assumed to be there. Its specs then end as
// unsupported if the target refuses it.
func Probe(ctx context.Context, t *target.Target) Features {
	f := Features{How: "inferred", Lacks: map[string]string{}}
	if declared := t.Declared(); declared != nil {
		f.How = "declared"
		for name := range clauses.Features {
			if !slices.Contains(declared, name) {
				f.Lacks[name] = "not declared in the target's features"
			}
		}
	} else {
		for _, q := range questions() {
			if !t.Has(q.iface) {
				continue
			}
			answer, err := probe.NewClient(addressOf(t, q.iface), nil, t.Budgets.Answer()).Do(ctx, q.request)
			if err == nil && slices.Contains(q.no, answer.Status) {
				f.Lacks[q.feature] = fmt.Sprintf("status %d to %s %s", answer.Status, q.request.Method, q.request.Path)
			}
		}
	}
	for name := range clauses.Features {
		if _, lacks := f.Lacks[name]; !lacks {
			f.Has = append(f.Has, name)
		}
	}
	sort.Strings(f.Has)
	return f
}
