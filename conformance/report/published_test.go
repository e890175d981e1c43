package report_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/report"
)

// judged makes a report with these verdicts, as "ID verdict".
func judged(t *testing.T, verdicts ...string) *report.Report {
	t.Helper()
	r := &report.Report{Schema: report.Schema, Mode: "white", Fork: "fulu"}
	r.Target.Implementation.Project = "a-relay"
	for _, line := range verdicts {
		id, v, _ := strings.Cut(line, " ")
		r.Clauses = append(r.Clauses, report.Clause{Clause: clauses.Clause{ID: id, Level: clauses.Must, Rule: "It | is so."},
			Verdict: clauses.Verdict(v), Why: "got 0x0123456789abcdef at 12:13:14 of 127.0.0.1:4321"})
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
	if err != nil || len(read) != 3 || read["REL-A-04"] != clauses.Pass || read["REL-A-02"] != clauses.XFail {
		t.Errorf("read as %v, %v", read, err)
	}
	if d := r.Compare(read); len(d.Stale)+len(d.Noted)+len(d.Added) > 0 {
		t.Errorf("outdated at once: %+v", d)
	}
	next := judged(t, "REL-A-01 fail", "REL-A-02 xfail", "REL-A-04 not-run", "REL-A-05 pass")
	next.Clauses = append(next.Clauses, report.Clause{
		Clause: clauses.Clause{ID: "REL-A-06", Level: clauses.Should}, Verdict: clauses.Warn})
	read["REL-A-06"], read["REL-A-07"] = clauses.Pass, clauses.Pass
	d := next.Compare(read)
	want := report.Difference{
		Stale: []string{"REL-A-01 is fail, and published as pass", "REL-A-04 is not judged, and published as pass",
			"REL-A-07 is no clause any more, and published as pass"},
		Noted: []string{"REL-A-06 is warn, and published as pass"}, Added: []string{"REL-A-05"},
	}
	if !reflect.DeepEqual(d, want) {
		t.Errorf("got  %+v\nwant %+v", d, want)
	}
	if _, err := report.Verdicts(strings.NewReader("# a page\n- pass: REL-A-01\n")); err == nil {
		t.Error("a page without verdicts is read")
	}
}
