package report

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

// verdictsTitle begins the part of a published report that Verdicts reads.
const verdictsTitle = "## All verdicts"

// Published writes a report as a page to keep: without times, seeds and exchanges, so that two runs
// of the same software write the same verdicts. At its end are the verdicts on all clauses that the
// run judged.
func (r *Report) Published(out io.Writer) error {
	var b strings.Builder
	t := r.Target.Implementation
	fmt.Fprintf(&b, "# %s\n%s, judged in %s mode", strings.TrimSpace(t.Project+" "+t.Version), exitWords[r.Exit], r.Mode)
	if r.Fork != "" {
		fmt.Fprintf(&b, " in a world of %s", r.Fork)
	}
	fmt.Fprintf(&b, ".\n\n%s\n\n| profile | MUST | verdict |\n|---|---|---|\n", r.Meaning())
	for _, p := range r.Profiles {
		if p.Ran() {
			passed, all := p.Musts()
			fmt.Fprintf(&b, "| %s | %d/%d | %s |\n", p.Name, passed, all, p.Headline())
		}
	}
	byVerdict := map[clauses.Verdict][]string{}
	var open []Clause
	for _, c := range r.Clauses {
		if byVerdict[c.Verdict] = append(byVerdict[c.Verdict], c.ID); c.Verdict != clauses.Pass &&
			c.Verdict != clauses.NotRun {
			open = append(open, c)
		}
	}
	if len(open) > 0 {
		fmt.Fprint(&b, "\n## What is no plain pass\n| clause | verdict | rule | why |\n|---|---|---|---|\n")
	}
	for _, c := range open {
		fmt.Fprintf(&b, "| %s %s | %s | %s | %s |\n", c.ID, c.Level, c.Verdict, cell(c.Rule),
			cell(dropVarying(oneLine(c.Why))))
	}
	fmt.Fprintf(&b, "\n%s\n", verdictsTitle)
	for _, v := range clauses.Verdicts {
		if len(byVerdict[v]) > 0 && v != clauses.NotRun {
			fmt.Fprintf(&b, "- %s: %s\n", v, strings.Join(byVerdict[v], " "))
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// cell makes text fit into a cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", "\\|") }

// changing is what differs from run to run in a message: hashes and keys, addresses, times.
var changing = regexp.MustCompile(`0x[0-9a-fA-F]{9,}…?|127\.0\.0\.1:\d+|\d\d:\d\d:\d\d`)

// dropVarying leaves out of a message what differs from run to run.
func dropVarying(message string) string { return changing.ReplaceAllString(message, "…") }

// Verdicts reads the verdicts out of a published report, by the clause's id.
func Verdicts(published io.Reader) (map[string]clauses.Verdict, error) {
	found, begun := map[string]clauses.Verdict{}, false
	lines := bufio.NewScanner(published)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		if line == verdictsTitle {
			begun = true
		}
		if name, ids, is := strings.Cut(strings.TrimPrefix(line, "- "), ": "); is && begun {
			for _, id := range strings.Fields(ids) {
				found[id] = clauses.Verdict(name)
			}
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read a published report: %w", err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("read a published report: it has no verdicts below %q", verdictsTitle)
	}
	return found, nil
}

// Difference is what a run and a published report say of the same clauses.
type Difference struct {
	// Stale are MUSTs that end otherwise than published, or that the run did not judge.
	Stale []string
	// Noted are other clauses that do: many are about time, and may warn on a busy machine.
	Noted []string
	// Added are ids of clauses that are not published yet.
	Added []string
}

// Compare compares a published report's verdicts with those of a run.
func (r *Report) Compare(published map[string]clauses.Verdict) (d Difference) {
	known := map[string]bool{}
	for _, c := range r.Clauses {
		known[c.ID] = true
		was, is := published[c.ID]
		text := ""
		switch {
		case c.Verdict == clauses.NotRun && is:
			text = fmt.Sprintf("%s is not judged, and published as %s", c.ID, was)
		case c.Verdict == clauses.NotRun || was == c.Verdict:
			continue
		case !is:
			d.Added = append(d.Added, c.ID)
			continue
		default:
			text = fmt.Sprintf("%s is %s, and published as %s", c.ID, c.Verdict, was)
		}
		if c.Level == clauses.Must {
			d.Stale = append(d.Stale, text)
		} else {
			d.Noted = append(d.Noted, text)
		}
	}
	for id, was := range published {
		if !known[id] {
			d.Stale = append(d.Stale, fmt.Sprintf("%s is no clause any more, and published as %s", id, was))
		}
	}
	slices.Sort(d.Stale)
	return d
}
