package app

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/report"
)

// LoadExpected reads the expectations of a file such as expected.yaml. Without a name it returns
// none.
func LoadExpected(name string) ([]clauses.Expectation, error) {
	if name == "" {
		return nil, nil
	}
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, UsageError{fmt.Sprintf("read expectations: %v", err)}
	}
	var list []clauses.Expectation
	if err := yaml.NewDecoder(bytes.NewReader(data), yaml.Strict()).Decode(&list); err != nil {
		return nil, UsageError{fmt.Sprintf("read %s: %v", name, err)}
	}
	for _, e := range list {
		if err := e.Check(); err != nil {
			return nil, UsageError{fmt.Sprintf("%s: %v", name, err)}
		}
	}
	return list, nil
}

// WriteExpected writes the expectations that a run like this one meets, each with the reason and
// the last day. A reason is demanded, because a failure that nobody can explain is not expected.
func WriteExpected(name string, r *report.Report, reason, until string) error {
	list, err := expectations(r, reason, until)
	if err != nil {
		return err
	}
	data, err := yaml.Marshal(list)
	if err != nil {
		return fmt.Errorf("write expectations: %w", err)
	}
	if len(list) == 0 {
		data = []byte("[]\n")
	}
	if err := os.WriteFile(name, data, 0o644); err != nil { // for others to read, as the report
		return Mistake("write expectations: %v", err)
	}
	return nil
}

// CheckExpected returns an error if WriteExpected would refuse the reason or the day.
func CheckExpected(reason, until string) error {
	e := clauses.Expectation{Clause: "written", Expect: "fail", Match: "x", Reason: reason, Until: until}
	if err := e.Check(); err != nil {
		return Mistake("%v", err)
	}
	if until == "" {
		return Mistake("written: no end: give the last day on which the failures are expected, such as 2027-01-31")
	}
	return nil
}

// expectations returns one expectation for each clause of the report that ends otherwise than a
// server should.
func expectations(r *report.Report, reason, until string) ([]clauses.Expectation, error) {
	if err := CheckExpected(reason, until); err != nil {
		return nil, err
	}
	var list []clauses.Expectation
	for _, c := range r.Clauses {
		expect := map[clauses.Verdict]string{clauses.Fail: "fail", clauses.XFail: "fail", clauses.Warn: "warn",
			clauses.NotSure: "inconclusive", clauses.Flaky: "flaky"}[c.Verdict]
		if expect == "" {
			continue
		}
		e := clauses.Expectation{Clause: c.ID, Expect: expect, Match: findStable(messageOf(c)), Reason: reason, Until: until}
		if e.Match != "" {
			list = append(list, e)
		}
	}
	return list, nil
}

// messageOf returns the message of the spec that the verdict on its clause comes from.
func messageOf(c report.Clause) string {
	for _, s := range c.Specs {
		for _, outcome := range []clauses.Outcome{clauses.Failed, clauses.Inconclusive} {
			if s.Outcome == outcome {
				return s.Message
			}
		}
		if s.FirstTry != "" && c.Verdict == clauses.Flaky {
			return s.FirstTry
		}
	}
	return ""
}

// varies matches what differs between two runs: hexadecimal texts, times, ports, other long
// numbers, and line ends.
var varies = regexp.MustCompile(`0x[0-9a-fA-F]+|[0-9.]+(ms|µs|s)\b|[0-9]+[0-9.:]*[0-9]+|[\r\n]+`)

// findStable returns the longest part of a message that the same failure has in another run.
func findStable(message string) (longest string) {
	const most = 120
	from := 0
	for _, span := range append(varies.FindAllStringIndex(message, -1), []int{len(message), len(message)}) {
		if strings.HasSuffix(message[:span[0]], "status ") {
			continue // the status of an answer stays
		}
		if part := strings.TrimSpace(message[from:span[0]]); len(part) > len(longest) {
			longest = part
		}
		from = span[1]
	}
	if len(longest) > most {
		longest = strings.ToValidUTF8(longest[:most], "")
	}
	return longest
}
