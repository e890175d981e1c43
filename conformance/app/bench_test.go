package app

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/conformance/bench"
	"github.com/gavel-relay/gavel/conformance/load"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
)

// fixer is a proxy in front of a relay that changes answers to GETs of headers and to deliveries.
type fixer struct {
	// header gets the path that was asked for and the relay's answer, and returns what is said.
	header func(path string, answer []byte) []byte
	// loses has deliveries answered with 200 and nothing of the payload.
	loses bool
}

func (f fixer) start(t *testing.T, relay string) string {
	t.Helper()
	address, err := url.Parse(relay)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(address)
	proxy.ModifyResponse = func(r *http.Response) error {
		path := r.Request.URL.Path
		isHeader := strings.HasPrefix(path, "/eth/v1/builder/header/") && r.StatusCode == http.StatusOK
		isDelivery := strings.HasSuffix(path, "/blinded_blocks")
		if !isHeader && !isDelivery {
			return nil
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		if isHeader && f.header != nil {
			body = f.header(path, body)
		}
		if isDelivery && f.loses {
			body = []byte("{}")
		}
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Del("Content-Length")
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

// secondBest serves the header before the newest one of each auction.
func secondBest() func(string, []byte) []byte {
	var mu sync.Mutex
	type last struct{ newest, before []byte }
	known := map[string]*last{}
	return func(path string, answer []byte) []byte {
		mu.Lock()
		defer mu.Unlock()
		l := known[path]
		if l == nil {
			l = &last{answer, answer}
			known[path] = l
		}
		if !bytes.Equal(l.newest, answer) {
			l.before, l.newest = l.newest, answer
		}
		return l.before
	}
}

// lastSlot serves the first header of an auction in all later ones.
func lastSlot() func(string, []byte) []byte {
	var mu sync.Mutex
	var first []byte
	return func(_ string, answer []byte) []byte {
		mu.Lock()
		defer mu.Unlock()
		if first == nil {
			first = answer
		}
		return first
	}
}

// startLoaded starts our own services in a world that has accounts for a load.
func startLoaded(t *testing.T, config world.Config) (*Local, *world.Client) {
	t.Helper()
	config.Accounts, config.BlobsLater = benchAccounts, true
	local, err := StartLocal(t.Context(), config, target.Budgets{}, 1)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Stop(); err != nil {
			t.Error(err)
		}
	})
	around, err := world.Dial(t.Context(), local.world.URL)
	if err != nil {
		t.Fatal(err)
	}
	return local, around
}

// startNull starts a target that does nothing.
func startNull(t *testing.T, around *world.Client) string {
	t.Helper()
	null, err := load.Null(around.Facts.ForkOf())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(null)
	t.Cleanup(server.Close)
	return server.URL
}

// Our own relay gives no wrong answer under load. A relay that does, and a target that does
// nothing, is found out.
func TestBench(t *testing.T) {
	local, around := startLoaded(t, world.Config{Slot: 2 * time.Second, Validators: 64})
	nothing := startNull(t, around)
	relay := local.Target.Relay.ProposerURL
	for _, row := range []struct {
		name, address string
		null          bool
		want          []bench.Fault
	}{
		{"right", fixer{}.start(t, relay), false, nil},
		{"second best", fixer{header: secondBest()}.start(t, relay), false, []bench.Fault{bench.WrongBest}},
		{"last slot", fixer{header: lastSlot()}.start(t, relay), false, []bench.Fault{bench.StaleHeader}},
		{"loses", fixer{loses: true}.start(t, relay), false, []bench.Fault{bench.LostPayload}},
		{"null", nothing, true, bench.Faults},
	} {
		phases := []bench.Phase{{Name: "steady", For: 2 * time.Second, PerSecond: 100, Connections: 16}}
		if len(row.want) == 0 {
			phases = append(phases, bench.Phase{Name: "flat-out", For: time.Second, Connections: 4})
		}
		report, err := load.Relay{
			ProposerURL: row.address, BuilderURL: row.address, DataURL: row.address, World: around, Null: row.null,
			Setting: load.Setting{Mix: bench.UsualMix, Builders: 6, Cancelling: 1, SameBlock: 2, BlockKB: []int{2, 20},
				Formats: load.Formats, Batch: 20},
			Phases: phases,
		}.Run(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		checkBenched(t, row.name, report, row.want)
	}
}

// Our own bundle RPC gives no wrong answer under load, and a target that does nothing is found out.
func TestBenchRPC(t *testing.T) {
	local, around := startLoaded(t, world.Config{Slot: time.Second})
	nothing := startNull(t, around)
	for address, isNull := range map[string]bool{local.Target.RPC.URL: false, nothing: true} {
		report, err := load.RPC{URL: address, World: around, Mix: bench.UsualRPCMix, Phases: []bench.Phase{
			{Name: "steady", For: 2 * time.Second, PerSecond: 100, Connections: 16},
			{Name: "flat-out", For: time.Second / 2, Connections: 2},
		}}.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !isNull {
			checkBenched(t, "rpc", report, nil)
		}
		for i := range report.Phases {
			for _, kind := range load.RPCKinds {
				if m := report.Phases[i].Measure(kind); m == nil || m.Good == 0 && !isNull {
					t.Errorf("phase %s has no good answers to %s: %v", report.Phases[i].Name, kind, report.Notes)
				}
			}
		}
		// It has no bundle that was accepted with its own hash, but it said that it had.
		if isNull && (report.Faults[0].Found == 0 || report.Faults[1].Found == 0) {
			t.Errorf("the null target: %+v", report.Faults)
		}
	}
}

// checkBenched fails the test unless the report is whole, and these faults are found, and no others
// if none is wanted.
func checkBenched(t *testing.T, name string, report *bench.Report, want []bench.Fault) {
	t.Helper()
	for _, f := range report.Faults {
		if f.Checked == 0 {
			t.Errorf("%s: %s was never looked for", name, f.Fault)
		}
		if len(want) == 0 && f.Found > 0 {
			t.Errorf("%s: %s found %d times: %s", name, f.Fault, f.Found, f.Example)
		}
		for _, wanted := range want {
			if f.Fault == wanted && f.Found == 0 {
				t.Errorf("%s: %s was not found", name, wanted)
			}
		}
	}
	for i := range report.Phases {
		part := &report.Phases[i]
		for _, kind := range append([]bench.Kind{bench.Deliveries}, load.RelayKinds...) {
			m := part.Measure(kind)
			if part.Name == "steady" && m == nil && part.Measure(bench.Bundles) == nil {
				t.Errorf("%s: no %s in phase %s", name, kind, part.Name)
			}
			if m != nil && m.Good == 0 && len(want) == 0 {
				t.Errorf("%s: of %d %s in phase %s none is good: %s; %v", name, m.Requests, kind, part.Name, m.Answers(),
					report.Notes)
			}
		}
	}
}

// sampleBench is a small report of a target.
func sampleBench(name string) *bench.Report {
	samples := []bench.Sample{
		{Kind: bench.Headers, At: 0, Took: time.Millisecond, Status: 200, Good: true},
		{Kind: bench.Headers, At: time.Second, Took: 2 * time.Millisecond, Status: 200, Good: true},
		{Kind: bench.Data, At: time.Second, Took: time.Millisecond, Status: 500},
	}
	return &bench.Report{Schema: bench.Schema, Target: name, Phases: []bench.Part{{
		Phase: bench.Phase{Name: "steady"}, Measures: bench.Account([]bench.Kind{bench.Headers, bench.Data}, samples, 0,
			2*time.Second, 2*time.Second)}}}
}

// The page has a curve for each kind and phase, and nothing that loads anything.
func TestBenchPage(t *testing.T) {
	var page bytes.Buffer
	reports := []*bench.Report{sampleBench("<script>alert(1)</script>"), sampleBench("other")}
	if err := writeBenchPage(&page, reports); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	if strings.Contains(text, "<script") || strings.Contains(text, "src=") {
		t.Error("the page has a script or loads something")
	}
	if got := strings.Count(text, "<svg"); got != 3 { // of headers; no request for data was answered right
		t.Errorf("%d pictures, want 3", got)
	}
}

// A load is a weapon: without a word of the operator it goes to this machine only.
func TestBenchStaysHere(t *testing.T) {
	setting := load.Setting{Mix: bench.UsualMix, Builders: 1, SameBlock: 1, BlockKB: []int{1}, Formats: load.Formats,
		Batch: 1}
	for address, here := range map[string]bool{
		"http://127.0.0.1:9062": true, "http://localhost:9062": true, "http://[::1]:9062": true,
		"http://10.0.0.1:9062": false, "https://relay.example": false, "http://127.0.0.1.example": false,
	} {
		b := Bench{Setting: setting, Source: Source{Target: &target.Target{Relay: &target.Relay{ProposerURL: address}}}}
		if err := b.check(); (err == nil) != here {
			t.Errorf("%s: %v", address, err)
		}
		if b.Mine = true; b.check() != nil {
			t.Errorf("%s: refused though it is the operator's", address)
		}
	}
}
