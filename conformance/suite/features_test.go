package suite

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/target"
)

// A feature is asked for at each operation: a relay that takes SSZ for registrations alone lacks it
// elsewhere, and gzip that the relay lacks the RPC may have.
func TestFeaturesAreProbedAtEachOperation(t *testing.T) {
	relay := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch media := r.Header.Get("Content-Type"); {
		case r.Header.Get("Accept") == "application/octet-stream":
			w.WriteHeader(http.StatusNotAcceptable)
		case media == "application/octet-stream" && !strings.HasSuffix(r.URL.Path, "/validators"),
			r.Header.Get("Content-Encoding") == "gzip":
			w.WriteHeader(http.StatusUnsupportedMediaType)
		default:
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer relay.Close()
	rpc := httptest.NewServer(http.NotFoundHandler())
	defer rpc.Close()
	judged := target.Target{Relay: &target.Relay{ProposerURL: relay.URL, PublicKey: "0x" + strings.Repeat("ab", 48)},
		RPC: &target.RPC{URL: rpc.URL}}
	if err := judged.Complete(); err != nil {
		t.Fatal(err)
	}
	found := Probe(t.Context(), &judged, nil)
	wantLacks(t, found)

	// what was found can be declared, and means the same
	judged.Features = target.Features(strings.Join(found.Has, ","))
	if err := judged.Complete(); err != nil {
		t.Fatal(err)
	}
	wantLacks(t, Probe(t.Context(), &judged, nil))
	if names := []string{"ssz@everywhere", "brotli", "ssz@REL-HDR-09"}; slices.ContainsFunc(names, func(name string) bool {
		return target.CheckFeatures([]string{name}) == nil
	}) {
		t.Errorf("one of %v is taken for a feature", names)
	}
}

// wantLacks fails the test unless the features are those of a relay with SSZ for registrations
// alone, and of an RPC with gzip.
func wantLacks(t *testing.T, f Features) {
	t.Helper()
	catalogue, err := clauses.Load()
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]bool{"REL-REG-06": false, "REL-HDR-09": true, "REL-PAY-11": true,
		"REL-SUB-02": true, "REL-SUB-03": true, "RPC-ENV-19": false, "REL-PAY-02": false, "REL-HDR-03": false} {
		clause, known := catalogue.Clause(id)
		if got := f.lack(clause) != ""; !known || got != want {
			t.Errorf("%s features: lacks what %s needs: %t, want %t", f.How, id, got, want)
		}
	}
}
