package suite_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/target"
)

// The oracle counts the answers of each operation and knows a fault again, of a relay and of a
// sidecar. It compares events too, and nothing of an address that is not the target's.
func TestOracle(t *testing.T) {
	documents, err := suite.LoadDocuments()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/relay/v1/builder/validators":
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("[null]"))
		case "/":
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("data: {}\n\n:ping\n\ndata: {\"hash\":null}\n\n"))
		default:
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	defer server.Close()
	other := httptest.NewServer(server.Config.Handler)
	defer other.Close()
	sidecar := httptest.NewServer(server.Config.Handler)
	defer sidecar.Close()
	where := &target.Target{Relay: &target.Relay{ProposerURL: server.URL + "/"}, Stream: &target.Stream{URL: server.URL},
		Sidecar: &target.Sidecar{URL: sidecar.URL}}
	if err := where.Complete(); err != nil {
		t.Fatal(err)
	}
	oracle := suite.NewOracle(documents, where)
	recorder := probe.NewRecorder(time.Now())
	recorder.Watch(oracle.Watcher("REL-DUT-01"))
	get := func(base, path string) {
		if _, err := probe.NewClient(base, recorder, time.Minute).Do(t.Context(),
			probe.Request{Method: "GET", Path: path}); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		get(server.URL, "/relay/v1/builder/validators?x=1")
		get(other.URL, "/relay/v1/builder/validators")
		get(server.URL, "/relay/v1/builder/nothing")
	}
	get(sidecar.URL, "/eth/v1/builder/status")
	stream, err := probe.NewClient(server.URL, recorder, time.Minute).Open(t.Context(), "/", nil)
	if err != nil {
		t.Fatal(err)
	}
	stream.Wait(time.Minute, func(string) bool { return false }) // until the server ends it
	stream.Close()
	type fault struct {
		iface, operation, profile string
		level                     clauses.Level
		answers                   int
	}
	answers, faults := map[string]int{}, map[fault]bool{}
	for _, found := range oracle.Found() {
		answers[found.Interface+" "+found.Operation] = found.Answers
		for _, f := range found.Faults {
			faults[fault{f.Interface, f.Operation, f.Profile, f.Level, f.Answers}] = true
			if f.Clause != "REL-DUT-01" {
				t.Errorf("%s was seen by %s", f.Cause, f.Clause)
			}
		}
	}
	if len(answers) != 3 || answers["relay getValidators"] != 2 || answers["stream live"] != 3 ||
		answers["sidecar status"] != 1 {
		t.Errorf("answers: %v", answers)
	}
	for _, want := range []fault{
		{"relay", "getValidators", "relay-builder", clauses.Must, 2},
		{"stream", "live", "stream-live", clauses.Must, 1},
		{"sidecar", "status", "sidecar-header", clauses.Should, 1},
	} {
		if !faults[want] {
			t.Errorf("%+v is missing in %+v", want, faults)
		}
	}
}
