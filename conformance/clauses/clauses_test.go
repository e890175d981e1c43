package clauses_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

func TestCatalogue(t *testing.T) {
	c, err := clauses.Load()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(c.Clauses); n < 220 {
		t.Errorf("%d clauses, want at least 220", n)
	}
	for _, profile := range clauses.Profiles {
		count := 0
		for _, clause := range c.Clauses {
			if clause.Profile == profile && clause.Level == clauses.Must {
				count++
			}
		}
		if count == 0 {
			t.Errorf("profile %s has no MUST", profile)
		}
	}
}

// Each row breaks a small catalogue in one way.
func TestMistakesAreNamed(t *testing.T) {
	const good = `[{says: Events 1, source: description, profile: relay-data, ` +
		`clauses: [{id: REL-DAT-01, level: MUST, rule: "R."}]}]`
	const sections = `[{name: Events, statements: ["1"]}]`
	for _, row := range []struct{ name, catalogue, sections, want string }{
		{"good", good, sections, ""},
		{"twice", strings.TrimSuffix(good, "]") + ", " + good[1:], sections, "stands twice"},
		{"level", strings.Replace(good, "MUST", "WILL", 1), sections, `level "WILL" is unknown`},
		{"profile", strings.Replace(good, "relay-data", "relay", 1), sections, `profile "relay" is unknown`},
		{"other profile", strings.Replace(good, "relay-data", "rpc-auth", 1), sections, "of another interface"},
		{"id", strings.Replace(good, "REL-DAT-01", "REL-DATA-1", 1), sections, "an id is REL"},
		{"no section", strings.Replace(good, "says: Events 1, ", "", 1), sections, "no statement of the description"},
		{"unknown section", strings.Replace(good, "Events 1", "Events 9", 1), sections, `"Events 9", which is no statement`},
		{"no source", strings.Replace(good, "source: description, ", "", 1), sections, "no source"},
		{"no quote", strings.Replace(good, "description", "\"relay-specs a4e0a50, a.yaml, limit\"", 1), sections,
			"give quote"},
		{"quote", strings.Replace(good, "description", "\"relay-specs a4e0a50, a.yaml, limit\", quote: q", 1), sections,
			"unknown field"},
		{"no place", strings.Replace(strings.Replace(good, "description", "relay-specs", 1), `"R."`, `"R.", quote: q`, 1),
			sections, "version, file and place"},
		{"no quote for sidecars", `[{says: Events 1, source: "builder-specs v0.6.1, a.yaml, limit", ` +
			`profile: sidecar-header, clauses: [{id: SID-HDR-01, level: MUST, rule: "R."}]}]`, sections, "give quote"},
		{"paraphrase of nothing", strings.Replace(good, `"R."`, `"R.", paraphrase: true`, 1), sections,
			"paraphrase without a quote"},
		{"another statement", strings.Replace(good, "source: description", `source: "description, Events 2"`, 1), sections,
			`"Events 2", which says does not name`},
		{"no sentence", strings.Replace(good, "R.", "R", 1), sections, "full stop"},
		{"mode", strings.Replace(good, `"R."`, `"R.", mode: blue`, 1), sections, `mode "blue" is unknown`},
		{"feature", strings.Replace(good, `"R."`, `"R.", feature: magic`, 1), sections, `feature "magic" is unknown`},
		{"setting", strings.Replace(good, `"R."`, `"R.", setting: limits.magic`, 1), sections,
			`setting "limits.magic" is unknown`},
		{"key", strings.Replace(good, "rule", "role", 1), sections, "unknown field"},
		{"statement without clause", good, `[{name: Events, statements: ["1", "2"]}]`, `"Events 2" has no clause`},
		{"only retired", strings.Replace(good, `"R."`, `"R.", retired: old`, 1), sections, `"Events 1" has no clause`},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := clauses.Read(fstest.MapFS{
				"sections.yaml":    {Data: []byte(row.sections)},
				"catalogue/a.yaml": {Data: []byte(row.catalogue)},
			})
			switch {
			case row.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
				t.Errorf("got %v, want something with %q", err, row.want)
			}
		})
	}
}

func TestMatch(t *testing.T) {
	c, err := clauses.Load()
	if err != nil {
		t.Fatal(err)
	}
	if got := len(c.Match("REL-STA-*")); got != 3 {
		t.Errorf("%d clauses of REL-STA, want 3", got)
	}
	if got := c.Match("REL-STA-99"); got != nil {
		t.Errorf("got %v for a clause that does not exist", got)
	}
}
