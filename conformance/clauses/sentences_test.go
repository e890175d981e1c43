package clauses_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

// duty is what a part of a statement asks of a server, and which clauses judge it.
type duty struct {
	// Text is the part of the statement, as docs/spec.md has it.
	Text    string   `yaml:"text"`
	Clauses []string `yaml:"clauses"`
	// None says why no clause can judge it; then there are no clauses.
	None string `yaml:"none"`
}

// split is a statement with several sentences, and the duties in them.
type split struct {
	Statement string `yaml:"statement"`
	Duties    []duty `yaml:"duties"`
}

// A statement with several sentences holds several duties. Each of its sentences has clauses that
// judge it, which name the statement, or a reason why there are none.
func TestEachSentenceHasItsClauses(t *testing.T) {
	c, err := clauses.Load()
	if err != nil {
		t.Fatal(err)
	}
	texts, splits := statementTexts(t), readSplits(t)
	for statement, text := range texts {
		sentences := sentencesOf(text)
		if len(sentences) == 1 {
			continue
		}
		i := slices.IndexFunc(splits, func(s split) bool { return s.Statement == statement })
		if i < 0 {
			t.Errorf("%s has %d sentences and no entry in testdata/sentences.yaml", statement, len(sentences))
			continue
		}
		for _, sentence := range sentences {
			if !slices.ContainsFunc(splits[i].Duties, func(d duty) bool { return strings.Contains(sentence, d.Text) }) {
				t.Errorf("%s: no duty is a part of %q", statement, sentence)
			}
		}
	}
	for _, s := range splits {
		for _, d := range s.Duties {
			if !strings.Contains(texts[s.Statement], d.Text) {
				t.Errorf("docs/spec.md, %s, does not say %q", s.Statement, d.Text)
			}
			if (len(d.Clauses) == 0) == (d.None == "") {
				t.Errorf("%s, %q: give clauses, or in none why there are no clauses", s.Statement, d.Text)
			}
			for _, id := range d.Clauses {
				clause, found := c.Clause(id)
				if !found || clause.Retired != "" || !slices.Contains(clause.Says, s.Statement) {
					t.Errorf("%s, %q: %s is not a clause that follows from this statement", s.Statement, d.Text, id)
				}
			}
		}
	}
}

// readSplits are the entries of testdata/sentences.yaml.
func readSplits(t *testing.T) (splits []split) {
	t.Helper()
	raw, err := os.ReadFile("testdata/sentences.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalWithOptions(raw, &splits, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	return splits
}

// writeSplits is the part of docs/clauses.md about statements with several sentences.
func writeSplits(t *testing.T, b *strings.Builder) {
	b.WriteString("\n## Statements with several sentences\n" +
		"What each part of such a statement asks for, and what judges it.\n\n" +
		"| statement | part | clauses |\n|---|---|---|\n")
	for _, s := range readSplits(t) {
		for _, d := range s.Duties {
			by := strings.Join(d.Clauses, ", ")
			if d.None != "" {
				by = "none: " + d.None
			}
			fmt.Fprintf(b, "| %s | %s | %s |\n", s.Statement, d.Text, by)
		}
	}
}

// statementTexts are the statements of docs/spec.md without those about where the description is
// silent, in one line each.
func statementTexts(t *testing.T) map[string]string {
	t.Helper()
	raw, err := os.ReadFile("../../docs/spec.md")
	if err != nil {
		t.Fatal(err)
	}
	described, _, _ := strings.Cut(string(raw), "\n## Where the description is silent\n")
	texts, section, id := map[string]string{}, "", ""
	for line := range strings.Lines(described) {
		line = strings.TrimRight(line, "\n")
		switch m := specLine.FindStringSubmatch(line); {
		case m != nil && m[1] != "":
			section, id = m[1], ""
		case m != nil:
			id = section + " " + m[2]
			texts[id] = strings.TrimSpace(strings.TrimPrefix(line, "- **"+m[2]+"**"))
		case id != "" && strings.HasPrefix(line, "  "):
			texts[id] += " " + strings.TrimSpace(line)
		default:
			id = ""
		}
	}
	return texts
}

// sentenceEnd is where a sentence ends and another begins: behind a full stop or a semicolon.
var sentenceEnd = regexp.MustCompile(`\.\s+|;\s+`)

func sentencesOf(text string) []string { return sentenceEnd.Split(text, -1) }
