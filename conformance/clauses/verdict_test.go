package clauses_test

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

var today = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// rows are the lines of a text file of cases, split at "|"; a case that cannot be read stops the
// test.
func rows(t *testing.T, name string, columns int) (list [][]string) {
	t.Helper()
	file, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), "#") {
			continue
		}
		row := strings.Split(lines.Text(), "|")
		if len(row) != columns {
			t.Fatalf("%s: %q has not %d columns", name, lines.Text(), columns)
		}
		for i := range row {
			row[i] = strings.TrimSpace(row[i])
		}
		list = append(list, row)
	}
	if lines.Err() != nil || len(list) == 0 {
		t.Fatalf("%s: %v, %d cases", name, lines.Err(), len(list))
	}
	return list
}

func TestVerdicts(t *testing.T) {
	for _, row := range rows(t, "verdicts.txt", 4) {
		t.Run(strings.Join(row, "|"), func(t *testing.T) {
			clause := clauses.Subject{
				ID: "REL-STA-01", Must: strings.HasPrefix(row[0], "must"), Disp: strings.Contains(row[0], "disputed"),
				Chose: !strings.Contains(row[0], "deselected"), Required: strings.Contains(row[0], "required"),
			}
			var expected []clauses.Expectation
			if kind, match, found := strings.Cut(row[2], " "); found {
				expected = append(expected, clauses.Expectation{Clause: clause.ID, Expect: kind, Match: match, Reason: "known"})
			}
			got := clauses.Judge(clause, specs(row[1]), expected, today)
			if string(got.Verdict) != row[3] {
				t.Errorf("%s (%s), want %s", got.Verdict, got.Why, row[3])
			}
			if got.Verdict != clauses.Pass && got.Why == "" {
				t.Errorf("%s without a reason", got.Verdict)
			}
		})
	}
}

func specs(text string) (list []clauses.Spec) {
	for i, runs := range strings.Split(text, ";") {
		if strings.TrimSpace(runs) == "" {
			continue
		}
		spec := clauses.Spec{Clause: "REL-STA-01", Title: strconv.Itoa(i)}
		for run := range strings.SplitSeq(runs, ",") {
			outcome, message, _ := strings.Cut(strings.TrimSpace(run), ":")
			spec.Runs = append(spec.Runs, clauses.Run{Outcome: clauses.Outcome(outcome), Message: message})
		}
		list = append(list, spec)
	}
	return list
}

func TestExits(t *testing.T) {
	for _, row := range rows(t, "exits.txt", 3) {
		t.Run(strings.Join(row, "|"), func(t *testing.T) {
			var judged []clauses.Subject
			var results []clauses.Result
			for i, word := range strings.Fields(row[0]) {
				word, expected := strings.CutSuffix(word, "=")
				name, must := strings.CutSuffix(word, "!")
				id := strconv.Itoa(i)
				judged = append(judged, clauses.Subject{ID: id, Must: must, Chose: true})
				results = append(results, clauses.Result{Clause: id, Verdict: clauses.Verdict(name), Expected: expected})
			}
			stale, err := strconv.Atoi(row[1])
			if err != nil {
				t.Fatal(err)
			}
			if got := strconv.Itoa(clauses.ExitStatus(judged, results, make([]string, stale))); got != row[2] {
				t.Errorf("status %s, want %s", got, row[2])
			}
		})
	}
}

func TestExpectationsMustBeMet(t *testing.T) {
	entry := func(e clauses.Expectation) []clauses.Expectation { return []clauses.Expectation{e} }
	for _, row := range []struct {
		name    string
		entry   clauses.Expectation
		verdict clauses.Verdict
		stale   int
	}{
		{"met", clauses.Expectation{Clause: "REL-STA-01"}, clauses.XFail, 0},
		{"passes now", clauses.Expectation{Clause: "REL-STA-01"}, clauses.XPass, 1},
		{"of a spec that there is not", clauses.Expectation{Clause: "REL-STA-01", Spec: "gone"}, clauses.Pass, 1},
		{"of no clause", clauses.Expectation{Clause: "REL-XXX-99"}, "", 1},
		{"past", clauses.Expectation{Clause: "REL-STA-01", Until: "2026-11-20"}, clauses.Fail, 1},
		{"on its last day", clauses.Expectation{Clause: "REL-STA-01", Until: "2026-11-21"}, clauses.XFail, 0},
		{"not judged", clauses.Expectation{Clause: "REL-STA-01"}, clauses.NotSure, 0},
		{"not run", clauses.Expectation{Clause: "REL-STA-01"}, clauses.NotRun, 0},
		{"of a pattern, met", clauses.Expectation{Clause: "REL-*"}, clauses.XFail, 0},
		{"of a pattern, all pass", clauses.Expectation{Clause: "REL-STA-*"}, clauses.Pass, 1},
		{"of a pattern, not judged", clauses.Expectation{Clause: "REL-STA-*"}, clauses.NotSure, 0},
		{"of a pattern that no clause has", clauses.Expectation{Clause: "STR-*"}, clauses.Pass, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			results := []clauses.Result{{Clause: "REL-STA-01", Verdict: row.verdict}}
			if got := clauses.Stale(entry(row.entry), results, today); len(got) != row.stale {
				t.Errorf("stale: %q, want %d", got, row.stale)
			}
		})
	}
}

// A pattern says what some of its clauses do: one that fails so is expected, one that passes is no
// surprise, and one that fails otherwise is a failure.
func TestAPatternExpectsSomeOfItsClauses(t *testing.T) {
	expected := []clauses.Expectation{{Clause: "REL-STA-*", Expect: "fail", Match: "status 502", Reason: "the proxy"}}
	for outcome, want := range map[clauses.Run]clauses.Verdict{
		{Outcome: clauses.Failed, Message: "got status 502"}: clauses.XFail,
		{Outcome: clauses.OK}:                                clauses.Pass,
		{Outcome: clauses.Failed, Message: "got status 200"}: clauses.Fail,
	} {
		spec := clauses.Spec{Clause: "REL-STA-01", Runs: []clauses.Run{outcome}}
		got := clauses.Judge(clauses.Subject{ID: "REL-STA-01", Must: true, Chose: true}, []clauses.Spec{spec}, expected,
			today)
		if got.Verdict != want {
			t.Errorf("%+v is %s (%s), want %s", outcome, got.Verdict, got.Why, want)
		}
	}
}

func TestAnExpectationSaysAll(t *testing.T) {
	good := clauses.Expectation{Clause: "REL-STA-01", Expect: "fail", Match: "got", Reason: "known", Until: "2027-01-31"}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for _, spoil := range []func(*clauses.Expectation){
		func(e *clauses.Expectation) { e.Clause = "" },
		func(e *clauses.Expectation) { e.Expect = "pass" },
		func(e *clauses.Expectation) { e.Match = "" },
		func(e *clauses.Expectation) { e.Reason = "" },
		func(e *clauses.Expectation) { e.Until = "soon" },
	} {
		bad := good
		spoil(&bad)
		if bad.Check() == nil {
			t.Errorf("accepted %+v", bad)
		}
	}
}

func TestProfiles(t *testing.T) {
	for _, row := range []struct {
		musts string
		want  clauses.ProfileVerdict
	}{
		{"pass pass-lenient unsupported", clauses.ProfileConformant},
		{"unsupported unsupported", clauses.ProfileNotRun},
		{"pass inconclusive", clauses.ProfilePartial},
		{"pass not-run", clauses.ProfilePartial},
		{"pass fail not-run", clauses.ProfileNonconformant},
		{"pass xfail", clauses.ProfileNonconformant},
		{"not-run inconclusive", clauses.ProfileNotRun},
		{"", clauses.ProfileNotRun},
	} {
		var musts []clauses.Verdict
		for word := range strings.FieldsSeq(row.musts) {
			musts = append(musts, clauses.Verdict(word))
		}
		if got := clauses.JudgeProfile(musts); got != row.want {
			t.Errorf("%q is %s, want %s", row.musts, got, row.want)
		}
	}
}

// A failure that nobody expected is never hidden, whatever stands around it and in whatever order.
func TestAFailureIsNeverHidden(t *testing.T) {
	outcomes := []clauses.Outcome{clauses.OK, clauses.Lenient, clauses.Unsupported, clauses.Inconclusive}
	rapid.Check(t, func(t *rapid.T) {
		clause := clauses.Subject{ID: "REL-STA-01", Must: true, Chose: true}
		var list []clauses.Spec
		for range rapid.IntRange(0, 5).Draw(t, "others") {
			run := clauses.Run{Outcome: rapid.SampledFrom(outcomes).Draw(t, "outcome"), Message: "m"}
			list = append(list, clauses.Spec{Clause: clause.ID, Runs: []clauses.Run{run}})
		}
		at := rapid.IntRange(0, len(list)).Draw(t, "place")
		failed := clauses.Spec{Clause: clause.ID, Runs: []clauses.Run{{Outcome: clauses.Failed, Message: "broken"}}}
		list = append(list[:at:at], append([]clauses.Spec{failed}, list[at:]...)...)
		result := clauses.Judge(clause, list, nil, today)
		if result.Verdict != clauses.Fail {
			t.Fatalf("%s", result.Verdict)
		}
		if got := clauses.ExitStatus([]clauses.Subject{clause}, []clauses.Result{result}, nil); got != clauses.Nonconformant {
			t.Fatalf("status %d", got)
		}
	})
}
