package arch

import (
	"strings"
	"testing"
)

// A law that cannot be broken would prove nothing: here it is.
func TestCheckFindsBreaches(t *testing.T) {
	graph := Graph{}
	for path, imports := range map[string]string{
		"auction":       "std:fmt words",
		"words":         "std:strings",
		"clever":        "std:fmt words middle",
		"middle":        "std:net/http",
		"agent/builder": "relay/client std:net/http",
		"agent/cheat":   "relay/client relay/auction",
		"relay/client":  "relay/auction",
		"relay/auction": "",
	} {
		graph[path] = Package{path, strings.Fields(imports)}
	}
	pure := Rule{Packages: []string{"auction", "clever"}, Banned: []string{"std:net/..."},
		Because: "it must stay replayable"}
	outsider := Rule{Packages: []string{"agent/..."}, Banned: []string{"relay/..."}, Allowed: []string{"*/client"},
		Because: "…"}
	wiring := Rule{Packages: []string{"..."}, Except: []string{"agent/..."}, Banned: []string{"*/client"}, Because: "…"}
	for _, c := range []struct {
		rule Rule
		want string
	}{
		{pure, "clever → middle → std:net/http"},
		{outsider, "agent/cheat → relay/auction"},
		{wiring, ""},
	} {
		var ways []string
		for _, breach := range graph.Check(c.rule) {
			ways = append(ways, strings.Join(breach.Way, " → "))
			if !strings.HasSuffix(breach.String(), c.rule.Because) {
				t.Errorf("%q does not end with the reason", breach)
			}
		}
		if got := strings.Join(ways, ", "); got != c.want {
			t.Errorf("%v: %q, want %q", c.rule.Banned, got, c.want)
		}
	}
	lost := graph.Unmatched([]string{"auction", "agent/...", "gone", "stream/hint"}, []string{"stream"})
	if len(lost) != 1 || lost[0] != "gone" {
		t.Errorf("unmatched: %v", lost)
	}
	if here := graph.Arrived([]string{"stream", "agent"}); len(here) != 1 || here[0] != "agent" {
		t.Errorf("arrived: %v", here)
	}
}

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"relay", "relay", true},
		{"relay", "relay/auction", false},
		{"relay/...", "relay", true},
		{"relay/...", "relay/api", true},
		{"relay/...", "relays", false},
		{"relay/*/...", "relay", false},
		{"relay/*/...", "relay/api", true},
		{"*/app", "relay/app", true},
		{"*/app", "relay/x/app", false},
		{"...", "relay", true},
		{"...", "std:fmt", false},
		{"std:net/...", "std:net", true},
		{"std:net/...", "std:net/http", true},
		{"net/...", "std:net", false},
		{"mod:github.com/nats-io/...", "mod:github.com/nats-io/nats.go", true},
	} {
		if got := match(c.pattern, c.path); got != c.want {
			t.Errorf("%q and %q: %v", c.pattern, c.path, got)
		}
	}
}
