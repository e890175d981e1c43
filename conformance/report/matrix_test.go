package report_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/report"
)

// A matrix has a column for each report, a verdict for each clause that any of them judged, and
// what does not pass everywhere at its top.
func TestMatrix(t *testing.T) {
	first, second := sample(), sample()
	first.Fork, second.Fork = "deneb", "fulu"
	second.Clauses = second.Clauses[1:] // of an earlier suite
	second.Clauses[0].Verdict = clauses.Pass
	for _, r := range []*report.Report{first, second} {
		r.Clauses[len(r.Clauses)-1].Verdict = clauses.NotRun
	}
	m := report.NewMatrix([]*report.Report{first, second})
	if len(m.Columns) != 2 || m.Columns[0].Name != "our<relay> v1 deneb" || m.Columns[1].Name != "our<relay> v1 fulu" {
		t.Errorf("columns %+v", m.Columns)
	}
	var rows []string
	for _, row := range m.Rows {
		line := row.ID
		for _, cell := range row.Cells {
			line += " " + string(cell.Verdict)
		}
		rows = append(rows, line)
	}
	want := []string{"REL-STA-01 pass not-run", "REL-REG-02 fail pass", "REL-STA-03 warn warn",
		"REL-REG-06 unsupported unsupported"}
	if !slices.Equal(rows, want) {
		t.Errorf("rows %q, want %q", rows, want)
	}
	var page bytes.Buffer
	if err := m.HTML(&page); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"our&lt;relay&gt; v1 fulu",
		`<td class="fail" title="expected status 400; got status 200">fail</td>`} {
		if !strings.Contains(page.String(), part) {
			t.Errorf("the page has no %s", part)
		}
	}
	for _, part := range []string{"<script", "http://", "https://"} {
		if strings.Contains(page.String(), part) {
			t.Errorf("the page has %s", part)
		}
	}
}

// What fails for one cause is one finding, with the clauses it concerns.
func TestOneCauseIsOneFinding(t *testing.T) {
	r := sample()
	for _, hash := range []string{"0xaa", "0xbb", "0xcc"} {
		c := r.Clauses[1]
		c.ID = "REL-HDR-" + hash[2:]
		c.Why = "no valid block was taken: " + hash
		r.Clauses = append(r.Clauses, c)
	}
	findings := r.Findings()
	if len(findings) == 0 || len(findings[0].Clauses) != 3 || findings[0].Verdict != clauses.Fail {
		t.Fatalf("first finding: %+v", findings)
	}
	all := 0
	for _, f := range findings {
		all += len(f.Clauses)
	}
	if all != len(r.Failures()) {
		t.Errorf("%d clauses in findings, want %d", all, len(r.Failures()))
	}
	var table bytes.Buffer
	if err := r.Table(&table); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(table.String(), "no valid block was taken"); n != 1 {
		t.Errorf("the table tells the cause %d times", n)
	}
}

// A MUST that could not be judged needs attention; one that was expected to be so does not.
func TestOpenMustsNeedAttention(t *testing.T) {
	r := sample()
	has := func() bool {
		return slices.ContainsFunc(r.Failures(), func(c report.Clause) bool { return c.ID == "REL-HDR-01" })
	}
	if !has() {
		t.Error("an inconclusive MUST is not among what needs attention")
	}
	r.Clauses[4].Expected = true
	if has() {
		t.Error("one that is expected is")
	}
}
