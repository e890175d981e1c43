package verdict_test

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/conformance/verdict"
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
			clause := verdict.Clause{
				ID: "REL-STA-01", Must: strings.HasPrefix(row[0], "must"), Disp: strings.Contains(row[0], "disputed"),
				Chose: !strings.Contains(row[0], "deselected"), Required: strings.Contains(row[0], "required"),
			}
			var expected []verdict.Expectation
			if kind, match, found := strings.Cut(row[2], " "); found {
				expected = append(expected, verdict.Expectation{Clause: clause.ID, Expect: kind, Match: match, Reason: "known"})
			}
			got := verdict.Of(clause, specs(row[1]), expected, today)
			if string(got.Verdict) != row[3] {
				t.Errorf("%s (%s), want %s", got.Verdict, got.Why, row[3])
			}
			if got.Verdict != verdict.Pass && got.Why == "" {
				t.Errorf("%s without a reason", got.Verdict)
			}
		})
	}
}

func specs(text string) (list []verdict.Spec) {
	for i, runs := range strings.Split(text, ";") {
		if strings.TrimSpace(runs) == "" {
			continue
		}
		spec := verdict.Spec{Clause: "REL-STA-01", Title: strconv.Itoa(i)}
		for run := range strings.SplitSeq(runs, ",") {
			outcome, message, _ := strings.Cut(strings.TrimSpace(run), ":")
			spec.Runs = append(spec.Runs, verdict.Run{Outcome: verdict.Outcome(outcome), Message: message})
		}
		list = append(list, spec)
	}
	return list
}

func TestExits(t *testing.T) {
	for _, row := range rows(t, "exits.txt", 3) {
		t.Run(strings.Join(row, "|"), func(t *testing.T) {
			var clauses []verdict.Clause
			var results []verdict.Result
			for i, word := range strings.Fields(row[0]) {
				word, expected := strings.CutSuffix(word, "=")
				name, must := strings.CutSuffix(word, "!")
				id := strconv.Itoa(i)
				clauses = append(clauses, verdict.Clause{ID: id, Must: must, Chose: true})
				results = append(results, verdict.Result{Clause: id, Verdict: verdict.Verdict(name), Expected: expected})
			}
			stale, err := strconv.Atoi(row[1])
			if err != nil {
				t.Fatal(err)
			}
			if got := strconv.Itoa(verdict.Exit(clauses, results, make([]string, stale))); got != row[2] {
				t.Errorf("status %s, want %s", got, row[2])
			}
		})
	}
}

func TestExpectationsMustBeMet(t *testing.T) {
	entry := func(e verdict.Expectation) []verdict.Expectation { return []verdict.Expectation{e} }
	for _, row := range []struct {
		name    string
		entry   verdict.Expectation
		verdict verdict.Verdict
		stale   int
	}{
		{"met", verdict.Expectation{Clause: "REL-STA-01"}, verdict.XFail, 0},
		{"passes now", verdict.Expectation{Clause: "REL-STA-01"}, verdict.XPass, 1},
		{"of a spec that there is not", verdict.Expectation{Clause: "REL-STA-01", Spec: "gone"}, verdict.Pass, 1},
		{"of no clause", verdict.Expectation{Clause: "REL-XXX-99"}, "", 1},
		{"past", verdict.Expectation{Clause: "REL-STA-01", Until: "2026-11-20"}, verdict.Fail, 1},
		{"on its last day", verdict.Expectation{Clause: "REL-STA-01", Until: "2026-11-21"}, verdict.XFail, 0},
		{"not judged", verdict.Expectation{Clause: "REL-STA-01"}, verdict.NotSure, 0},
		{"not run", verdict.Expectation{Clause: "REL-STA-01"}, verdict.NotRun, 0},
		{"of a pattern, met", verdict.Expectation{Clause: "REL-*"}, verdict.XFail, 0},
		{"of a pattern, all pass", verdict.Expectation{Clause: "REL-STA-*"}, verdict.Pass, 1},
		{"of a pattern, not judged", verdict.Expectation{Clause: "REL-STA-*"}, verdict.NotSure, 0},
		{"of a pattern that no clause has", verdict.Expectation{Clause: "STR-*"}, verdict.Pass, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			results := []verdict.Result{{Clause: "REL-STA-01", Verdict: row.verdict}}
			if got := verdict.Stale(entry(row.entry), results, today); len(got) != row.stale {
				t.Errorf("stale: %q, want %d", got, row.stale)
			}
		})
	}
}

// A pattern says what some of its clauses do: one that fails so is expected, one that passes is no
// surprise, and one that fails otherwise is a failure.
func TestAPatternExpectsSomeOfItsClauses(t *testing.T) {
	expected := []verdict.Expectation{{Clause: "REL-STA-*", Expect: "fail", Match: "status 502", Reason: "the proxy"}}
	for outcome, want := range map[verdict.Run]verdict.Verdict{
		{Outcome: verdict.Failed, Message: "got status 502"}: verdict.XFail,
		{Outcome: verdict.OK}:                                verdict.Pass,
		{Outcome: verdict.Failed, Message: "got status 200"}: verdict.Fail,
	} {
		spec := verdict.Spec{Clause: "REL-STA-01", Runs: []verdict.Run{outcome}}
		got := verdict.Of(verdict.Clause{ID: "REL-STA-01", Must: true, Chose: true}, []verdict.Spec{spec}, expected, today)
		if got.Verdict != want {
			t.Errorf("%+v is %s (%s), want %s", outcome, got.Verdict, got.Why, want)
		}
	}
}

func TestAnExpectationSaysAll(t *testing.T) {
	good := verdict.Expectation{Clause: "REL-STA-01", Expect: "fail", Match: "got", Reason: "known", Until: "2027-01-31"}
	if err := good.Check(); err != nil {
		t.Error(err)
	}
	for _, spoil := range []func(*verdict.Expectation){
		func(e *verdict.Expectation) { e.Clause = "" },
		func(e *verdict.Expectation) { e.Expect = "pass" },
		func(e *verdict.Expectation) { e.Match = "" },
		func(e *verdict.Expectation) { e.Reason = "" },
		func(e *verdict.Expectation) { e.Until = "soon" },
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
		want  verdict.ProfileVerdict
	}{
		{"pass pass-lenient unsupported", verdict.ProfileConformant},
		{"unsupported unsupported", verdict.ProfileNotRun},
		{"pass inconclusive", verdict.ProfilePartial},
		{"pass not-run", verdict.ProfilePartial},
		{"pass fail not-run", verdict.ProfileNonconformant},
		{"pass xfail", verdict.ProfileNonconformant},
		{"not-run inconclusive", verdict.ProfileNotRun},
		{"", verdict.ProfileNotRun},
	} {
		var musts []verdict.Verdict
		for word := range strings.FieldsSeq(row.musts) {
			musts = append(musts, verdict.Verdict(word))
		}
		if got := verdict.OfProfile(musts); got != row.want {
			t.Errorf("%q is %s, want %s", row.musts, got, row.want)
		}
	}
}

// A failure that nobody expected is never hidden, whatever stands around it and in whatever order.
func TestAFailureIsNeverHidden(t *testing.T) {
	outcomes := []verdict.Outcome{verdict.OK, verdict.Lenient, verdict.Unsupported, verdict.Inconclusive}
	rapid.Check(t, func(t *rapid.T) {
		clause := verdict.Clause{ID: "REL-STA-01", Must: true, Chose: true}
		var list []verdict.Spec
		for range rapid.IntRange(0, 5).Draw(t, "others") {
			run := verdict.Run{Outcome: rapid.SampledFrom(outcomes).Draw(t, "outcome"), Message: "m"}
			list = append(list, verdict.Spec{Clause: clause.ID, Runs: []verdict.Run{run}})
		}
		at := rapid.IntRange(0, len(list)).Draw(t, "place")
		failed := verdict.Spec{Clause: clause.ID, Runs: []verdict.Run{{Outcome: verdict.Failed, Message: "broken"}}}
		list = append(list[:at:at], append([]verdict.Spec{failed}, list[at:]...)...)
		result := verdict.Of(clause, list, nil, today)
		if result.Verdict != verdict.Fail {
			t.Fatalf("%s", result.Verdict)
		}
		if got := verdict.Exit([]verdict.Clause{clause}, []verdict.Result{result}, nil); got != verdict.Nonconformant {
			t.Fatalf("status %d", got)
		}
	})
}
