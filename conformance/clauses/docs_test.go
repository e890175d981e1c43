package clauses_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/internal/golden"
)

// docs/clauses.md is made of the catalogue: the description's sections with the clauses that follow
// from them, and all clauses in words.
func TestDocs(t *testing.T) {
	c, err := clauses.Load()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("# Clauses\nWhat the interface description asks of a server, clause by clause. This page is " +
		"generated from `conformance/clauses`; " +
		"[conformance.md](conformance.md)\ntells how to test a server against them.\n\n")
	for _, level := range clauses.Levels {
		n := 0
		for _, clause := range c.Clauses {
			if clause.Level == level {
				n++
			}
		}
		fmt.Fprintf(&b, "- %s: %d\n", level, n)
	}
	fmt.Fprintf(&b,
		"\n%d in all. DEF is what deployed servers do where the description shows nothing; the source of each says who "+
			"decides.\n\n", len(c.Clauses))
	b.WriteString("## From the description to clauses\n| section | statement | clauses |\n|---|---|---|\n")
	for _, section := range c.Sections {
		for _, statement := range section.Statements {
			var ids []string
			for _, clause := range c.Clauses {
				if slices.Contains(clause.Says, section.Name+" "+statement) {
					ids = append(ids, clause.ID)
				}
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", section.Name, statement, strings.Join(ids, ", "))
		}
	}
	writeSplits(t, &b)
	for _, profile := range clauses.Profiles {
		fmt.Fprintf(&b, "\n## %s\n| clause | level | rule | source | needs |\n|---|---|---|---|---|\n", profile)
		for _, clause := range c.Clauses {
			if clause.Profile != profile {
				continue
			}
			needs := clause.Mode.String()
			if clause.Feature != "" {
				needs += ", " + clause.Feature
			}
			if clause.Setting != "" {
				needs += ", `" + clause.Setting + "`"
			}
			rule := clause.Rule
			if clause.Disputed != "" {
				rule += " *Disputed: " + clause.Disputed + ".*"
			}
			source := clause.Source
			switch {
			case clause.Paraphrase:
				source += ", in our words: " + clause.Quote
			case clause.Quote != "":
				source += ": “" + clause.Quote + "”"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s |\n", clause.ID, clause.Level, rule, source, needs)
		}
	}
	golden.File(t, "../../docs/clauses.md", b.String())
}

// Each row of docs/differences.md names the clauses of both ways, and each literal clause has its
// row.
func TestDifferencesNameTheirClauses(t *testing.T) {
	c, err := clauses.Load()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../docs/differences.md")
	if err != nil {
		t.Fatal(err)
	}
	id, named := regexp.MustCompile(`(REL|STR|RPC|SID|BLD|CON)-[A-Z]{3}-[0-9]{2}`), map[string]bool{}
	for _, row := range strings.Split(string(page), "\n") {
		if !strings.HasPrefix(row, "| r") && !strings.HasPrefix(row, "| stream") {
			continue
		}
		ids := id.FindAllString(row, -1)
		if len(ids) != 2 {
			t.Errorf("want the clauses of both ways, the default first: %s", row)
			continue
		}
		for i, want := range []bool{false, true} {
			clause, found := c.Clause(ids[i])
			if literal := strings.HasPrefix(clause.Setting, "literal."); !found || literal != want {
				t.Errorf("%s is a literal clause: %t, want %t: %s", ids[i], literal, want, row)
			}
			named[ids[i]] = true
		}
	}
	for _, clause := range c.Clauses {
		if strings.HasPrefix(clause.Setting, "literal.") && !named[clause.ID] {
			t.Errorf("%s is in no row", clause.ID)
		}
	}
}
