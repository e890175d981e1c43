package app_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/mutant"
)

// Every MUST has a mutant that breaks its rule alone and that its specs must notice, or a written
// reason why there is none. Blanket mutants do not count.
func TestEveryMustIsProvenOrSaysWhyNot(t *testing.T) {
	catalogue, set, err := app.Specs()
	if err != nil {
		t.Fatal(err)
	}
	killers := app.Killers()
	for _, c := range catalogue.Clauses {
		proven, tested := len(killers[c.ID]) > 0, set.Tests(c.ID)
		switch {
		case c.Level != clauses.Must || c.Retired != "":
		case !tested && c.Unproven == "":
			t.Errorf("%s has no spec: write one, or the reason in unproven", c.ID)
		case tested && !proven && c.Unproven == "":
			t.Errorf("%s has no mutant that breaks its rule alone: write one, or the reason in unproven", c.ID)
		case proven && c.Unproven != "":
			t.Errorf("%s has a mutant, and a reason why it has none", c.ID)
		}
	}
}

// saysWhatItBreaks says whether a mutant's id is the wrong service and at least two words more. A
// letter with a number is no word, but for a version.
func saysWhatItBreaks(m mutant.Mutant) bool {
	words := strings.Split(m.ID, "-")
	for _, word := range words {
		if !wordForm.MatchString(word) {
			return false
		}
	}
	return len(words) >= 3 && slices.Contains(services, words[0])
}

var wordForm = regexp.MustCompile(`^([a-z]+|[0-9]+s?|v[0-9]|[a-z]{2,}[0-9]{1,3})$`)

// services is what a mutant makes wrong; hints are made by the RPC, and missed by the stream.
var services = []string{"relay", "rpc", "stream", "sidecar", "builder", "consensus"}

func TestIDsOfMutantsAreWords(t *testing.T) {
	for id, want := range map[string]bool{
		"L34": false, "relay-L34": false, "relay-l34-x": false, "relay-x-s37a": false, "any-parent-is-taken": false,
		"relay-a":                false,
		"relay-takes-any-parent": true, "relay-unknown-paths-answered-with-200": true,
		"relay-v1-of-blinded-blocks-gone": true,
	} {
		if saysWhatItBreaks(mutant.Mutant{ID: id, Iface: "relay"}) != want {
			t.Errorf("%s says what it breaks: want %v", id, want)
		}
	}
}

func TestMutants(t *testing.T) {
	catalogue, set, err := app.Specs()
	if err != nil {
		t.Fatal(err)
	}
	before, inside := mutant.All(), mutant.InServices()
	if len(before)+len(inside) < 60 || len(inside) < 12 {
		t.Errorf("%d mutants before targets and %d inside services, want at least 60 in all and 12 inside",
			len(before), len(inside))
	}
	seen := map[string]bool{}
	for i, m := range slices.Concat(before, inside) {
		if m.Inside() != (i >= len(before)) {
			t.Errorf("%s: inside a service is %v", m.ID, m.Inside())
		}
		if seen[m.ID] {
			t.Errorf("%s stands twice", m.ID)
		}
		seen[m.ID] = true
		if !saysWhatItBreaks(m) {
			t.Errorf("the id %s does not say what the mutant breaks: want a service and words", m.ID)
		}
		if len(m.MustKill) == 0 || m.What == "" || !slices.Contains(clauses.Interfaces, m.Iface) {
			t.Errorf("%s is incomplete", m.ID)
		}
		for _, id := range m.MustKill {
			if c, found := catalogue.Clause(id); !found || !set.Tests(id) || c.Interface() != m.Iface {
				t.Errorf("%s must be noticed by %s, which has no spec of that interface", m.ID, id)
			}
		}
	}
}
