package target_test

import (
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/target"
)

func TestParse(t *testing.T) {
	got, err := target.Parse([]byte("implementation: {project: ours}\nrelay: {proposerUrl: http://user:secret@127.0.0.1:1}\nchain: {worldUrl: http://127.0.0.1:2}\n"))
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
	if shown := got.Redacted(); strings.Contains(shown.Relay.ProposerURL, "secret") || got.Relay.ProposerURL == shown.Relay.ProposerURL {
		t.Errorf("%s is not redacted", shown.Relay.ProposerURL)
	}
}

// The mode is what the target says that the suite may steer: nothing, or a world that it follows, which may be broken as well.
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
		{"implementation: {project: x}", "no relay, no stream and no rpc"},
		{"relay: {proposerUrl: 127.0.0.1}", "give an address such as"},
		{"stream: {url: 'ftp://x'}", "stream.url"},
		{"rpc: {url: 'http://x'}\nfeatures: magic", `"magic", which is none`},
		{"relay: {proposerUrl: 'http://x', publicKey: '0x12'}", "96 hexadecimal digits"},
		{"rpc: {url: 'http://x'}\nlimits: {relay: {perSecond: 1}}", "limits.relay is of an interface that the target does not have"},
		{"rpc: {url: 'http://x'}\nlimits: {rpc: {burst: 1}}", "limits.rpc: give perSecond"},
		{"rpc: {url: 'http://x'}\nlimits: {rpc: {perSecond: 1, url: x}}", "limits.rpc.url"},
		{"stream: {url: 'http://x'}\nlimits: {stream: {}}", "limits.stream: give listeners"},
		{"rpc: {url: 'http://x'}\nlimits: {stream: {listeners: 1}}", "limits.stream is of an interface"},
		{"rpc: {url: 'http://x'}\nlimits: {headerCutOffMs: -1}", "limits.headerCutOffMs is negative"},
		{"relay: {proposerURL: 'http://x'}", "unknown field"},
	} {
		if _, err := target.Parse([]byte(row.text)); err == nil || !strings.Contains(err.Error(), row.want) {
			t.Errorf("%q: %v, want %q", row.text, err, row.want)
		}
	}
}

// Limits are met at the interface itself unless they name an instance of their own, and a target tells of those only that it declares.
func TestLimits(t *testing.T) {
	got, err := target.Parse([]byte("rpc: {url: http://127.0.0.1:1}\nlimits: {rpc: {perSecond: 20}, headerCutOffMs: 3000}\n"))
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
