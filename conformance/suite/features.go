package suite

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/target"
)

// Features are the optional features that a target has, and those that it lacks with the reason. A
// feature that is probed at single operations has one entry for each, such as ssz@REL-HDR.
type Features struct {
	// How the suite knows: declared or inferred; empty if nobody asked, and then it has all.
	How   string
	Has   []string
	Lacks map[string]string
}

// lack returns why the target lacks a clause's feature at its operation; empty if it has it, or the
// clause needs none.
func (f Features) lack(c clauses.Clause) string {
	switch {
	case c.Feature == "":
		return ""
	case f.How == declared && !target.Names(f.Has, c): // it may have it at other operations
		return notDeclared
	}
	return cmp.Or(f.Lacks[c.Feature], f.Lacks[c.FeatureHere()])
}

// How the suite knows of features.
const (
	declared = "declared"
	inferred = "inferred"
)

// question is a request that finds out about a feature at one operation. The statuses in no mean
// that the server lacks it there.
type question struct {
	// at is the feature with the operation whose clauses need it.
	at      string
	iface   string
	request probe.Request
	no      []int
}

// ask is a question by a POST to a path of an interface.
func ask(at, iface, path, media, encoding, body string, no ...int) question {
	return question{at, iface, probe.Request{
		Method: http.MethodPost, Path: path, Header: map[string]string{"Content-Type": media, "Content-Encoding": encoding},
		Body: []byte(body),
	}, no}
}

// questions are asked without a world, so that what they ask for is refused in any case; the status
// tells why.
func questions() []question {
	const json, octets = "application/json", "application/octet-stream"
	const registrations, payloads = "/eth/v1/builder/validators", "/eth/v1/builder/blinded_blocks"
	none := "/eth/v1/builder/header/1/0x" + strings.Repeat("01", 32) + "/0x" + strings.Repeat("01", 48)
	return []question{
		ask("ssz@REL-REG", "relay", registrations, octets, "", "x", 415),
		{"ssz@REL-HDR", "relay", probe.Request{Method: http.MethodGet, Path: none,
			Header: map[string]string{"Accept": octets}}, []int{406}},
		ask("ssz@REL-PAY", "relay", payloads, octets, "", "x", 415),
		ask("ssz@REL-SUB", "relay", "/relay/v1/builder/blocks", octets, "", "x", 415),
		ask("gzip@REL-SUB", "relay", "/relay/v1/builder/blocks", json, "gzip", "x", 415),
		ask("payload-v2@REL-PAY", "relay", "/eth/v2/builder/blinded_blocks", json, "", "{}", 404, 405),
		ask("history-post@STR-HIS", "stream", "/api/v1/history", json, "", "{}", 404, 405, 415),
		ask("gzip@RPC-ENV", "rpc", "/", json, "gzip", "x", 415),
		ask("ssz@SID-REG", "sidecar", registrations, octets, "", "x", 415),
		ask("ssz@SID-PAY", "sidecar", payloads, octets, "", "x", 415),
		ask("payload-v2@SID-PAY", "sidecar", "/eth/v2/builder/blinded_blocks", json, "", "{}", 404, 405),
	}
}

// FindGone returns the interfaces of a target that give no whole answer to a plain request, each
// with the reason. It asks all of them at the same time.
func FindGone(ctx context.Context, t *target.Target) map[string]string {
	reasons := make([]string, len(clauses.Interfaces))
	var asked sync.WaitGroup
	for i, iface := range clauses.Interfaces {
		if t.Has(iface) {
			asked.Go(func() { reasons[i] = findSilence(ctx, t, iface) })
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

// findSilence asks an interface for what every server has, and returns why no whole answer came;
// empty if one did.
func findSilence(ctx context.Context, t *target.Target, iface string) string {
	if iface == "builder" || iface == "consensus" { // they ask, and are asked nothing; they are waited for otherwise
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

// Probe finds out which features a target has, and at which operations: those that it declares, or
// else by requests. A feature that no request can find out about is assumed to be there. Its specs
// then end as unsupported if the target refuses it. Interfaces that are gone are not asked.
func Probe(ctx context.Context, t *target.Target, gone map[string]string) Features {
	if names := t.Declared(); names != nil {
		return declaredFeatures(names)
	}
	f := Features{How: inferred, Lacks: map[string]string{}}
	here := map[string][]string{} // by feature: where the target has it
	for _, q := range questions() {
		if _, is := gone[q.iface]; is || !t.Has(q.iface) {
			continue
		}
		feature, operation, _ := strings.Cut(q.at, "@")
		address := t.Address(q.iface)
		if operation == "REL-SUB" {
			address = t.Relay.BuilderURL
		}
		answer, err := probe.NewClient(address, nil, t.Budgets.Answer()).Do(ctx, q.request)
		if err == nil && slices.Contains(q.no, answer.Status) {
			f.Lacks[q.at] = fmt.Sprintf("status %d to %s %s", answer.Status, q.request.Method, q.request.Path)
			continue
		}
		here[feature] = append(here[feature], q.at)
	}
	for name := range clauses.Features {
		if slices.ContainsFunc(slices.Collect(maps.Keys(f.Lacks)), isFeatureAt(name)) {
			f.Has = append(f.Has, here[name]...)
		} else {
			f.Has = append(f.Has, name)
		}
	}
	sort.Strings(f.Has)
	return f
}

// isFeatureAt says of names whether they are the feature at one operation.
func isFeatureAt(feature string) func(name string) bool {
	return func(name string) bool { return strings.HasPrefix(name, feature+"@") }
}

// declaredFeatures are what a target declares. What it does not name it lacks.
func declaredFeatures(names []string) Features {
	f := Features{How: declared, Has: slices.Sorted(slices.Values(names)), Lacks: map[string]string{}}
	for name := range clauses.Features {
		if !slices.Contains(names, name) && !slices.ContainsFunc(names, isFeatureAt(name)) {
			f.Lacks[name] = notDeclared
		}
	}
	return f
}

const notDeclared = "not declared in the target's features"
