package report

import (
	"fmt"
	"io"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

// Change is a clause whose verdict differs in a later run, or whose reason for a bad verdict does.
type Change struct {
	ID       string
	From, To clauses.Verdict
	// Kind is fixed, broken, changed or reason.
	Kind string
	Why  string
}

func isBad(v clauses.Verdict) bool {
	return v == clauses.Fail || v == clauses.Warn || v == clauses.SuiteError
}

func isGood(v clauses.Verdict) bool { return v == clauses.Pass || v == clauses.PassLenient }

// Diff returns what changed between two runs, in the order of the later run's clauses.
func Diff(older, newer *Report) (changes []Change) {
	before := map[string]Clause{}
	for _, c := range older.Clauses {
		before[c.ID] = c
	}
	for _, now := range newer.Clauses {
		was, known := before[now.ID]
		if !known {
			was.Verdict = clauses.NotRun
		}
		change := Change{ID: now.ID, From: was.Verdict, To: now.Verdict, Why: now.Why}
		switch {
		case was.Verdict == now.Verdict && (!isBad(now.Verdict) || was.Why == now.Why):
			continue
		case was.Verdict == now.Verdict:
			change.Kind = "reason"
		case isBad(was.Verdict) && isGood(now.Verdict):
			change.Kind = "fixed"
		case isBad(now.Verdict):
			change.Kind = "broken"
		default:
			change.Kind = "changed"
		}
		changes = append(changes, change)
	}
	return changes
}

// WriteDiff writes changes for a person.
func WriteDiff(out io.Writer, changes []Change) {
	if len(changes) == 0 {
		fmt.Fprintln(out, "nothing changed")
	}
	for _, c := range changes {
		fmt.Fprintf(out, "%-8s %s: %s → %s  %s\n", c.Kind, c.ID, c.From, c.To, oneLine(c.Why))
	}
}
