// Package report is what a run leaves behind: report.json, from which everything else is made — a
// page for people, JUnit for CI, a badge, Markdown for a pull request, and a table for the
// terminal.
//
//	results + verdicts ─▶ Report ─▶ report.json ─▶ HTML, JUnit, SVG, Markdown, table, difference of two runs
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/verdict"
)

// Schema is the version of report.json. Fields are added without a new one.
const Schema = 1

// Report is report.json.
type Report struct {
	Schema  int    `json:"schema"`
	Suite   Suite  `json:"suite"`
	Started string `json:"started"` // RFC 3339
	TookMs  int64  `json:"took_ms"`
	Seed    int64  `json:"seed"`
	Mode    string `json:"mode"`
	// Target has no users and passwords.
	Target   target.Target `json:"target"`
	Features Features      `json:"features"`
	Profiles []Profile     `json:"profiles"`
	Clauses  []Clause      `json:"clauses"`
	Coverage Coverage      `json:"coverage"`
	// Stale are expectations that matched nothing.
	Stale []string `json:"stale_expectations"`
	// Exit is the status that the run ended with.
	Exit int `json:"exit"`
	// Reproduce is the command that does it again.
	Reproduce string `json:"reproduce"`
}

// Suite is what judged.
type Suite struct {
	Version string `json:"version"`
	Clauses int    `json:"clauses"`
}

// Features are what the target has, and how the suite knows.
type Features struct {
	// How is declared or inferred.
	How   string            `json:"how"`
	Has   []string          `json:"has"`
	Lacks map[string]string `json:"lacks"` // with the reason
}

// Profile is a group of clauses.
type Profile struct {
	Name    string                  `json:"name"`
	Verdict verdict.ProfileVerdict  `json:"verdict"`
	Must    map[verdict.Verdict]int `json:"must"`
	Other   map[verdict.Verdict]int `json:"other"`
}

// Musts is the number of MUSTs that pass, and of all.
func (p Profile) Musts() (passed, all int) {
	for v, n := range p.Must {
		all += n
		if v == verdict.Pass || v == verdict.PassLenient || v == verdict.NotFeature {
			passed += n
		}
	}
	return passed, all
}

// Clause is the verdict on a clause and what led to it.
type Clause struct {
	clauses.Clause

	Mode    string          `json:"mode"`
	Verdict verdict.Verdict `json:"verdict"`
	Why     string          `json:"why,omitempty"`
	Specs   []Spec          `json:"specs"`
	// Mutants are the wrong targets that show that a breach is noticed.
	Mutants []string `json:"mutants_killed,omitempty"`
}

// Spec is one test.
type Spec struct {
	Title    string          `json:"name"`
	Outcome  verdict.Outcome `json:"state"`
	Message  string          `json:"message,omitempty"`
	Expected string          `json:"expected,omitempty"`
	Actual   string          `json:"actual,omitempty"`
	// FirstTry is why a first try came to no verdict; this is the second one.
	FirstTry  string           `json:"first_try,omitempty"`
	TookMs    int64            `json:"ms"`
	Exchanges []probe.Exchange `json:"exchanges,omitempty"`
}

// Coverage counts clauses: all of the catalogue, those that specs of the run tested, and those with
// a mutant.
type Coverage struct {
	Clauses int `json:"clauses"`
	Tested  int `json:"tested"`
	Proven  int `json:"proven"`
}

// Read reads a report.json.
func Read(from io.Reader) (*Report, error) {
	r := new(Report)
	if err := json.NewDecoder(from).Decode(r); err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("read the report: it has schema %d, and this program reads %d", r.Schema, Schema)
	}
	for i, c := range r.Clauses {
		if len(c.ID) < 10 || !slices.Contains(verdict.Verdicts, c.Verdict) {
			return nil, fmt.Errorf("read the report: clause %d is %.20q with verdict %.20q", i, c.ID, c.Verdict)
		}
	}
	return r, nil
}

// ReadFile reads a report.json from disk.
func ReadFile(name string) (*Report, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	defer file.Close()
	return Read(file)
}

// Summarize fills in profiles and coverage from the clauses.
func (r *Report) Summarize() {
	r.Profiles, r.Coverage = nil, Coverage{}
	for _, name := range clauses.Profiles {
		p := Profile{Name: name, Must: map[verdict.Verdict]int{}, Other: map[verdict.Verdict]int{}}
		var musts []verdict.Verdict
		for _, c := range r.Clauses {
			switch {
			case c.Profile != name || c.Retired != "":
			case c.Level == clauses.Must && c.Disputed == "":
				p.Must[c.Verdict]++
				musts = append(musts, c.Verdict)
			default:
				p.Other[c.Verdict]++
			}
		}
		if p.Verdict = verdict.OfProfile(musts); p.Verdict != verdict.ProfileNotRun || len(p.Must)+len(p.Other) > 0 {
			r.Profiles = append(r.Profiles, p)
		}
	}
	for _, c := range r.Clauses {
		r.Coverage.Clauses++
		if len(c.Specs) > 0 {
			r.Coverage.Tested++
		}
		if len(c.Mutants) > 0 {
			r.Coverage.Proven++
		}
	}
}

// Count is how many clauses have a verdict.
func (r *Report) Count(v verdict.Verdict) (n int) {
	for _, c := range r.Clauses {
		if c.Verdict == v {
			n++
		}
	}
	return n
}

// Ran says whether anything of the profile was judged.
func (p Profile) Ran() bool {
	for _, counts := range []map[verdict.Verdict]int{p.Must, p.Other} {
		for v, n := range counts {
			if v != verdict.NotRun && n > 0 {
				return true
			}
		}
	}
	return false
}

// Failures are the clauses that need somebody's eyes, the worst first.
func (r *Report) Failures() (list []Clause) {
	for _, v := range []verdict.Verdict{verdict.SuiteError, verdict.Fail, verdict.XPass, verdict.Warn} {
		for _, c := range r.Clauses {
			if c.Verdict == v {
				list = append(list, c)
			}
		}
	}
	return list
}
