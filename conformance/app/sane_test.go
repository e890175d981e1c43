package app

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/report"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/suite"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth"
)

// serving starts a server that answers by path, and everything else with {}.
func serving(t *testing.T, answers map[string]string) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		for path, answer := range answers {
			if r.URL.Path == path {
				fmt.Fprint(w, answer)
				return
			}
		}
		fmt.Fprint(w, "{}")
	}))
	t.Cleanup(server.Close)
	return server
}

// quickWorld is a world of short slots, of which only what the checks ask is there. It says that
// its nodes were asked as given.
func quickWorld(t *testing.T, asked world.Followers) *world.Client {
	t.Helper()
	facts := world.Facts{
		GenesisTime: time.Now().Unix() - 10, SlotMs: 20, SlotsPerEpoch: 4, Fork: "fulu", ChainID: 1337,
		GenesisForkVersion: "0x00000001", BeaconURL: "http://beacon", ValidatorKeys: make([]string, 4),
	}
	for i := range facts.ValidatorKeys {
		facts.ValidatorKeys[i] = fmt.Sprintf("0x%064x", i+1)
	}
	facts.ExecutionURL = serving(t, map[string]string{"/": `{"jsonrpc":"2.0","id":1,"result":"0x10"}`}).URL
	text := func(value any) string {
		raw, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	server := serving(t, map[string]string{
		"/conformance/v1/world": text(facts), "/conformance/v1/followers": text(asked),
		"/conformance/v1/account": `{"secretKey":"0x` + strings.Repeat("17", 32) + `"}`,
	})
	client, err := world.Dial(t.Context(), server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// A target that does not live in the world of the run is told so in one sentence. A target that
// may be wrong in the same way for another reason goes on to the specs.
func TestATargetOutsideOfTheWorldIsToldSo(t *testing.T) {
	const duties = "/relay/v1/builder/validators"
	duty := func(index int) string {
		return fmt.Sprintf(`[{"slot":"9000000","validator_index":"%d","entry":null}]`, index)
	}
	const info = "/api/v1/history/info"
	both := world.Followers{Beacon: 3, Execution: 3}
	for _, row := range []struct {
		name, iface string
		asked       world.Followers
		answers     map[string]string
		want        string
	}{
		{"a relay that follows no beacon node", "relay", world.Followers{Execution: 3}, map[string]string{duties: "[]"},
			"nobody has asked its beacon node at http://beacon"},
		{"a relay of another chain", "relay", both, map[string]string{duties: duty(812_345)},
			"it lists proposers of slots 9000000 to 9000000, and none is a validator of the world"},
		{"a relay without validators", "relay", both, map[string]string{duties: "[]"}, "it knows no slots or no validators"},
		{"a relay of this world", "relay", both, map[string]string{duties: duty(2)}, ""},
		{"a relay that lists what nobody can read", "relay", both, map[string]string{duties: "no"}, ""},
		{"an RPC that follows no node", "rpc", world.Followers{Beacon: 3}, nil,
			"nobody has asked its execution node at http"},
		{"an RPC of another chain", "rpc", both, map[string]string{"/": `{"jsonrpc":"2.0","id":1,"result":"0x1"}`},
			"its eth_chainId is 1, and the world's is 1337"},
		{"an RPC of this chain", "rpc", both, map[string]string{"/": `{"jsonrpc":"2.0","id":1,"result":"0x539"}`}, ""},
		{"an RPC that does not know eth_chainId", "rpc", both,
			map[string]string{"/": `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found"}}`}, ""},
		{"a stream of another chain", "stream", both, map[string]string{info: `{"maxBlock":21000000}`},
			"its history goes to block 21000000"},
		{"a stream of this chain", "stream", both, map[string]string{info: `{"maxBlock":2}`}, ""},
		{"a stream without a history", "stream", both, map[string]string{info: `{"maxBlock":null}`}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			url := serving(t, row.answers).URL
			about := &target.Target{
				Relay: &target.Relay{ProposerURL: url}, RPC: &target.RPC{URL: url}, Stream: &target.Stream{URL: url},
			}
			if err := about.Complete(); err != nil {
				t.Fatal(err)
			}
			_, set, err := Specs()
			if err != nil {
				t.Fatal(err)
			}
			got := set.WhyUnusable(t.Context(), suite.Config{Target: about, World: quickWorld(t, row.asked)}, row.iface)
			if row.want == "" && got != "" || row.want != "" && !strings.Contains(got, row.want) {
				t.Errorf("told %q, want %q in it", got, row.want)
			}
		})
	}
}

// A sidecar that was started with other relays is told so, and one that asks a single one of the
// suite's is not.
func TestASidecarWithOtherRelaysIsToldSo(t *testing.T) {
	for _, asks := range []bool{false, true} {
		relays, err := scripted.Open(scripted.Config{Network: scripted.Network{
			GenesisTime: time.Now().Add(-time.Hour), Slot: 200 * time.Millisecond, Fork: eth.Fulu}})
		if err != nil {
			t.Fatal(err)
		}
		sidecar := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asks {
				answer, err := http.Get(relays.URLs()[0] + "/eth/v1/builder/status")
				if err == nil {
					_ = answer.Body.Close()
				}
			}
			w.WriteHeader(http.StatusNoContent)
		}))
		_, set, err := Specs()
		if err != nil {
			t.Fatal(err)
		}
		got := set.WhyUnusable(t.Context(), suite.Config{Target: &target.Target{Sidecar: &target.Sidecar{URL: sidecar.URL}},
			Relays: relays}, "sidecar")
		if told := strings.Contains(got, "asks none of the suite's relays"); told == asks {
			t.Errorf("a sidecar that asks (%t) is told %q", asks, got)
		}
		sidecar.Close()
		if err := relays.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A run of which one interface could not be judged is unusable, unless another one is broken.
func TestAnUnusableInterfaceIsNoBrokenRule(t *testing.T) {
	for relay, want := range map[clauses.Outcome]int{clauses.OK: clauses.Unusable, clauses.Failed: clauses.Nonconformant} {
		r, catalogue := reportOfBoth(t)
		r.Unusable = map[string]string{"rpc": "the RPC does not follow the world"}
		Options{}.judge(r, catalogue, map[string]bool{"REL-STA-01": true, "RPC-ENV-01": true}, []suite.Result{
			{Clause: "REL-STA-01", Outcome: relay, Message: "no"},
			{Clause: "RPC-ENV-01", Outcome: clauses.Inconclusive, Message: r.Unusable["rpc"]},
		}, time.Now())
		if r.Exit != want {
			t.Errorf("the relay's clause is %v: exit %d, want %d", relay, r.Exit, want)
		}
		if want == clauses.Unusable && !strings.Contains(r.Meaning(), "rpc could not be judged") {
			t.Errorf("it means: %s", r.Meaning())
		}
	}
}

// reportOfBoth is an empty report about a relay and an RPC, with the catalogue.
func reportOfBoth(t *testing.T) (*report.Report, *clauses.Catalogue) {
	t.Helper()
	catalogue, _, err := Specs()
	if err != nil {
		t.Fatal(err)
	}
	return &report.Report{Target: target.Target{Relay: &target.Relay{}, RPC: &target.RPC{}}}, catalogue
}
