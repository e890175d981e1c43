package report_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/report"
	"github.com/gavel-relay/gavel/conformance/verdict"
)

// judged makes a report with these verdicts, as "ID verdict".
func judged(t *testing.T, verdicts ...string) *report.Report {
	t.Helper()
	r := &report.Report{Schema: report.Schema, Mode: "white", Fork: "fulu"}
	r.Target.Implementation.Project = "a-relay"
	for _, line := range verdicts {
		id, v, _ := strings.Cut(line, " ")
		r.Clauses = append(r.Clauses, report.Clause{Clause: clauses.Clause{ID: id, Level: clauses.Must, Rule: "It | is so."},
			Verdict: verdict.Verdict(v), Why: "got 0x0123456789abcdef at 12:13:14 of 127.0.0.1:4321"})
	}
	return r
}

// What is published of a run are its verdicts, and nothing that differs in the next run.
func TestPublished(t *testing.T) {
	r := judged(t, "REL-A-01 pass", "REL-A-02 xfail", "REL-A-03 not-run", "REL-A-04 pass")
	var page strings.Builder
	if err := r.Published(&page); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"# a-relay\n", "in a world of fulu.",
		"| REL-A-02 MUST | xfail | It \\| is so. | got … at … of … |",
		"- pass: REL-A-01 REL-A-04\n"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("there is no %q in\n%s", want, page.String())
		}
	}
	read, err := report.Verdicts(strings.NewReader(page.String()))
	if err != nil || len(read) != 3 || read["REL-A-04"] != verdict.Pass || read["REL-A-02"] != verdict.XFail {
		t.Errorf("read as %v, %v", read, err)
	}
	if changed, added := r.Outdated(read); len(changed)+len(added) > 0 {
		t.Errorf("outdated at once: %v, %v", changed, added)
	}
	next := judged(t, "REL-A-01 fail", "REL-A-02 xfail", "REL-A-04 not-run", "REL-A-05 pass")
	changed, added := next.Outdated(read)
	want := []string{"REL-A-01 is fail, and published as pass", "REL-A-04 is not judged, and published as pass"}
	if !slices.Equal(
		changed, want) || !slices.Equal(added, []string{"REL-A-05"}) {
		t.Errorf("changed %q, added %q", changed, added)
	}
	if _, err := report.Verdicts(strings.NewReader("# a page\n- pass: REL-A-01\n")); err == nil {
		t.Error("a page without verdicts is read")
	}
}
