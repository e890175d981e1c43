package suite

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"sync"

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

// Gone returns the interfaces of a target that give no whole answer to a plain request, each with
// the reason. It asks all of them at the same time.
func Gone(ctx context.Context, t *target.Target) map[string]string {
	reasons := make([]string, len(clauses.Interfaces))
	var asked sync.WaitGroup
	for i, iface := range clauses.Interfaces {
		if t.Has(iface) {
			asked.Go(func() { reasons[i] = silent(ctx, t, iface) })
		}
	}
	asked.Wait()
	gone := map[string]string{}
	for i, iface := range clauses.Interfaces {
		if reasons[i] != "" {
			gone[iface] = reasons[i]
		}
	}
	return gone
}

// silent asks an interface for what every server has, and returns why no whole answer came; empty
// if one did.
func silent(ctx context.Context, t *target.Target, iface string) string {
	if iface == "builder" { // it asks, and is asked nothing; a run begins when it has asked for duties
		return ""
	}
	path := map[string]string{"relay": "/eth/v1/builder/status", "stream": "/api/v1/history/info", "rpc": "/",
		"sidecar": "/eth/v1/builder/status"}[iface]
	_, err := probe.NewClient(t.Address(iface), nil, t.Budgets.Answer()).Do(ctx,
		probe.Request{Method: http.MethodGet, Path: path})
	if err != nil {
		return "the " + iface + " does not answer: " + err.Error()
	}
	return ""
}

// Probe finds out which features a target has: those that it declares, or else by requests. A
// feature that no request can find out about is assumed to be there. Its specs then end as
// unsupported if the target refuses it. Interfaces that are gone are not asked.
func Probe(ctx context.Context, t *target.Target, gone map[string]string) Features {
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
			if _, is := gone[q.iface]; is || !t.Has(q.iface) {
				continue
			}
			answer, err := probe.NewClient(t.Address(q.iface), nil, t.Budgets.Answer()).Do(ctx, q.request)
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
