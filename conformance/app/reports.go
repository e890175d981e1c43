package app

import (
	"io"
	"slices"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/report"
)

// Diff prints what changed from the report in one file to that in another. It returns a Status if
// something broke.
func Diff(out io.Writer, before, after string) error {
	older, err := report.ReadFile(before)
	if err != nil {
		return Mistake("%v", err)
	}
	newer, err := report.ReadFile(after)
	if err != nil {
		return Mistake("%v", err)
	}
	changes := report.Diff(older, newer)
	report.WriteDiff(out, changes)
	if slices.ContainsFunc(changes, func(c report.Change) bool { return c.Kind == "broken" }) {
		return Status{clauses.Nonconformant, "something broke"}
	}
	return nil
}

// Convert writes the report in a file in another form.
func Convert(out io.Writer, from, form string) error {
	r, err := report.ReadFile(from)
	if err != nil {
		return Mistake("%v", err)
	}
	for _, format := range report.Formats {
		if format.Name == form {
			return format.Write(r, out)
		}
	}
	return Mistake("format is %q: give html, junit, md, badge, shields, json or table", form)
}

// Matrix writes the page that sets the reports in these files side by side.
func Matrix(names []string, out string) error {
	if len(names) == 0 {
		return Mistake("no report: give the report.json of each run")
	}
	var reports []*report.Report
	for _, name := range names {
		r, err := report.ReadFile(name)
		if err != nil {
			return Mistake("%s: %v", name, err)
		}
		reports = append(reports, r)
	}
	return WriteMatrix(out, reports)
}
