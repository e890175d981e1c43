package target_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/target"
)

func TestParse(t *testing.T) {
	got, err := target.Parse([]byte("implementation: {project: ours}\nrelay: {proposerUrl: " +
		"http://user:secret@127.0.0.1:1}\nchain: {worldUrl: http://127.0.0.1:2}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Relay.BuilderURL != got.Relay.ProposerURL || got.Relay.DataURL != got.Relay.ProposerURL {
		t.Error("one address is not all three")
	}
	if got.Features != "auto" || got.Budgets.Answer() == 0 || got.Budgets.Hint() == 0 || got.Budgets.Settle() == 0 {
		t.Errorf("no defaults: %+v", got)
	}
	if got.Mode() != clauses.White || got.Has("stream") || !got.Has("relay") {
		t.Error("mode or interfaces are wrong")
	}
	if shown := got.Redacted(); strings.Contains(shown.Relay.ProposerURL, "secret") ||
		got.Relay.ProposerURL == shown.Relay.ProposerURL {
		t.Errorf("%s is not redacted", shown.Relay.ProposerURL)
	}
}

// The mode is what the target says that the suite may steer: nothing, or a world that it follows,
// which may be broken as well.
func TestMode(t *testing.T) {
	for _, row := range []struct {
		text string
		want clauses.Mode
	}{
		{"rpc: {url: 'http://x'}", clauses.Black},
		{"rpc: {url: 'http://x', sendsToWorld: true}", clauses.Black},
		{"rpc: {url: 'http://x'}\nchain: {worldUrl: 'http://y'}", clauses.White},
		{"rpc: {url: 'http://x', sendsToWorld: true}\nchain: {worldUrl: 'http://y'}", clauses.White},
	} {
		got, err := target.Parse([]byte(row.text))
		if err != nil || got.Mode() != row.want {
			t.Errorf("%q is %v, %v; want %s", row.text, got, err, row.want)
		}
	}
}

func TestMistakesAreNamed(t *testing.T) {
	for _, row := range []struct{ text, want string }{
		{"implementation: {project: x}", "no relay, no stream, no rpc, no sidecar, no builder and no consensus client"},
		{"relay: {proposerUrl: 127.0.0.1}", "give an address such as"},
		{"stream: {url: 'ftp://x'}", "stream.url"},
		{"rpc: {url: 'http://x'}\nfeatures: magic",
			`"magic" is no feature: give auto, none, or some of batch, browsers, cancellations,`},
		{"relay: {proposerUrl: 'http://x', publicKey: '0x12'}", "96 hexadecimal digits"},
		{"rpc: {url: 'http://x'}\nlimits: {relay: {perSecond: 1}}",
			"limits.relay is of an interface that the target does not have"},
		{"rpc: {url: 'http://x'}\nlimits: {rpc: {burst: 1}}", "limits.rpc: give perSecond"},
		{"rpc: {url: 'http://x'}\nlimits: {rpc: {perSecond: 1, url: x}}", "limits.rpc.url"},
		{"rpc: {url: 'http://x'}\nliteral: {relay: 'http://y'}",
			"literal.relay is of an interface that the target does not have"},
		{"rpc: {url: 'http://x'}\nliteral: {rpc: y}", "literal.rpc"},
		{"relay: {proposerUrl: 'http://x', trustedBuilders: ['0x12']}", "relay.trustedBuilders"},
		{"stream: {url: 'http://x'}\nlimits: {stream: {}}", "limits.stream: give listeners"},
		{"rpc: {url: 'http://x'}\nlimits: {stream: {listeners: 1}}", "limits.stream is of an interface"},
		{"rpc: {url: 'http://x'}\nlimits: {headerCutOffMs: -1}", "limits.headerCutOffMs is negative"},
		{"relay: {proposerURL: 'http://x'}", "unknown field"},
		{"relay: {proposerUrl: 'http://${a:1}'}", "${a:1}: no container"},
		{inContainer("", ""), ""},
		{inContainer("", "proposerUrl: 'http://${a:2}'"), "${a:2}: no container"},
		{inContainer("", "proposerUrl: 'http://${b:1}'"), "${b:1}: no container"},
		{inContainer("name: A", ""), "small letters"},
		{inContainer("image: ''", ""), "no image"},
		{inContainer("ports: []", ""), "no ports"},
		{inContainer("ports: [1, 70000]", ""), "port 70000"},
		{inContainer("ready: {port: 2, path: /readyz}", ""), "a port out of ports"},
		{inContainer("ready: {port: 1, path: readyz}", ""), "a path such as"},
		{inContainer("files: {a: b}", ""), `file "a": give its whole path`},
		{inContainer("with: a", ""), "an earlier container"},
		{inContainer("with: b", ""), "an earlier container"},
		{inContainer("", "") + "- {name: a, image: x, ports: [1]}\n", "two of that name"},
		{inContainer("", "") + "- {name: b, image: x, ports: [1], with: a}\n- {name: c, image: x, ports: [1], with: b}\n",
			"network of its own"},
		{"chain: {worldUrl: 'http://x'}\n" + inContainer("", ""), "leave out chain.worldUrl"},
	} {
		_, err := target.Parse([]byte(row.text))
		if row.want == "" && err != nil || row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)) {
			t.Errorf("%q: %v, want %q", row.text, err, row.want)
		}
	}
}

// Limits are met at the interface itself unless they name an instance of their own, and a target
// tells of those only that it declares.
func TestLimits(t *testing.T) {
	got, err := target.Parse([]byte("rpc: {url: http://127.0.0.1:1}\nlimits: {rpc: {perSecond: 20}, headerCutOffMs: " +
		"3000}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if got.Limits.RPC.URL != got.RPC.URL || got.Limits.RPC.Burst != 20 {
		t.Errorf("%+v, want the RPC's own address and a burst of one second", got.Limits.RPC)
	}
	for setting := range clauses.Settings {
		if want := setting == "limits.rpc" || setting == "limits.headerCutOffMs"; got.Declares(setting) != want {
			t.Errorf("%s is declared: %v", setting, !want)
		}
	}
	other := got.Limits.Clone()
	*other.Addresses()["rpc"] = "http://127.0.0.1:2"
	if got.Limits.RPC.URL == other.RPC.URL {
		t.Error("a clone shares its addresses")
	}
}

// inContainer is a relay in a container, with one line of the container and one of the relay
// changed.
func inContainer(container, relay string) string {
	lines := map[string]string{"name": "name: a", "image": "image: acme", "ports": "ports: [1]"}
	if key, _, found := strings.Cut(container, ":"); found {
		lines[key] = container
	}
	if relay == "" {
		relay = "proposerUrl: 'http://${a:1}/below'"
	}
	return "relay: {" + relay + "}\ncontainers:\n- {" + strings.Join(slices.Sorted(maps.Values(lines)), ", ") + "}\n"
}

// Clauses of the literal mode are judged where the target says, and nothing else is.
func TestLiteral(t *testing.T) {
	got, err := target.Parse([]byte("relay: {proposerUrl: 'http://a', trustedBuilders: ['0x" +
		strings.Repeat("01", 32) + "']}\n" +
		"rpc: {url: 'http://b', sendsToWorld: true}\nliteral: {relay: 'http://c', rpc: 'http://user:secret@d'}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for setting, want := range map[string]bool{"literal.relay": true, "literal.rpc": true, "literal.stream": false,
		"relay.trustedBuilders": true, "limits.rpc": false} {
		if got.Declares(setting) != want {
			t.Errorf("declares %s: %t", setting, !want)
		}
	}
	relay, rpc := got.AsLiteral("relay"), got.AsLiteral("rpc")
	if relay.Relay.DataURL != "http://c" || len(relay.Relay.TrustedBuilders) != 1 || relay.RPC.URL != "http://b" {
		t.Errorf("relay: %+v %+v", relay.Relay, relay.RPC)
	}
	if rpc.RPC.URL != "http://user:secret@d" || !rpc.RPC.SendsToWorld || rpc.Relay.ProposerURL != "http://a" {
		t.Errorf("rpc: %+v %+v", rpc.RPC, rpc.Relay)
	}
	if shown := got.Redacted(); strings.Contains(shown.Literal.RPC, "secret") ||
		!strings.Contains(got.Literal.RPC, "secret") {
		t.Errorf("%s is not redacted", shown.Literal.RPC)
	}
}

// Features are a text or a list; none declares that there are none, and nothing has the suite find
// out.
func TestFeaturesAreDeclared(t *testing.T) {
	for text, want := range map[string][]string{
		"":                              nil,
		"features: auto":                nil,
		"features: ''":                  nil,
		"features: none":                {},
		"features: []":                  {},
		"features: 'ssz, gzip'":         {"ssz", "gzip"},
		"features: [ssz, gzip]":         {"ssz", "gzip"},
		"features:\n  - ssz\n  - batch": {"ssz", "batch"},
	} {
		got, err := target.Parse([]byte("rpc: {url: 'http://x'}\n" + text))
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if declared := got.Declared(); !slices.Equal(declared, want) || (declared == nil) != (want == nil) {
			t.Errorf("%q declares %q, want %q", text, declared, want)
		}
	}
	if _, err := target.Parse([]byte("rpc: {url: 'http://x'}\nfeatures: {ssz: true}")); err == nil ||
		!strings.Contains(err.Error(), "features is neither a text nor a list of names") {
		t.Errorf("a map of features: %v", err)
	}
}
