package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Seconds  string      `xml:"time,attr"`
	Started  string      `xml:"timestamp,attr"`
	Host     string      `xml:"hostname,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Name       string          `xml:"name,attr"`
	Class      string          `xml:"classname,attr"`
	Seconds    string          `xml:"time,attr"`
	Properties []junitProperty `xml:"properties>property"`
	Failure    *junitText      `xml:"failure"`
	Error      *junitText      `xml:"error"`
	Skipped    *junitText      `xml:"skipped"`
}

type junitProperty struct {
	Name  string `xml:"name,attr"`
	Value string `xml:"value,attr"`
}

type junitText struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

func seconds(ms int64) string { return fmt.Sprintf("%.3f", float64(ms)/1000) }

// JUnit writes the specs as test cases. CI counts failures, so a failure that was expected, or
// whose clause is no MUST, is written as skipped. A MUST that could not be judged ends a run with a
// status other than 0, so it is an error.
func (r *Report) JUnit(out io.Writer) error {
	s := junitSuite{Name: "conformance", Seconds: seconds(r.TookMs), Started: strings.TrimSuffix(r.Started, "Z"),
		Host: r.host()}
	for _, c := range r.Clauses {
		for _, spec := range c.Specs {
			one := junitCase{
				Name: c.ID + " " + spec.Title, Class: c.Interface() + "." + c.Operation(), Seconds: seconds(spec.TookMs),
				Properties: []junitProperty{{"clause", c.ID}, {"level", string(c.Level)}, {"verdict", string(c.Verdict)},
					{"rule", c.Rule}},
			}
			message := &junitText{Message: oneLine(spec.Message), Text: spec.Message}
			s.Tests++
			switch {
			case spec.Outcome == clauses.Broken || spec.Outcome == clauses.Inconclusive && c.open():
				one.Error = message
				s.Errors++
			case (spec.Outcome == clauses.Failed || spec.Outcome == clauses.Unsupported) && c.Verdict == clauses.Fail:
				one.Failure = message
				s.Failures++
			case spec.Outcome != clauses.OK && spec.Outcome != clauses.Lenient:
				one.Skipped = message
				s.Skipped++
			}
			s.Cases = append(s.Cases, one)
		}
	}
	if _, err := io.WriteString(out, xml.Header); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	encoder := xml.NewEncoder(out)
	encoder.Indent("", "  ")
	if err := encoder.Encode(s); err != nil {
		return fmt.Errorf("write JUnit: %w", err)
	}
	return nil
}

// open says whether a clause is a MUST that could not be judged, although nobody expected that.
func (c Clause) open() bool {
	return c.Level == clauses.Must && c.Disputed == "" && c.Verdict == clauses.NotSure && !c.Expected
}

// host returns the host of the first interface that was judged.
func (r *Report) host() string {
	for _, iface := range clauses.Interfaces {
		if address := r.Target.Address(iface); address != "" {
			if parsed, err := url.Parse(address); err == nil {
				return parsed.Hostname()
			}
		}
	}
	return ""
}

// Markdown writes a summary that fits into a comment on a pull request.
func (r *Report) Markdown(out io.Writer) error {
	fmt.Fprintf(out, "### Conformance of %s %s: %s\n\n| profile | MUST | verdict |\n|---|---|---|\n",
		r.Target.Implementation.Project,
		r.Target.Implementation.Version, exitWords[r.Exit])
	for _, p := range r.Profiles {
		if p.Ran() {
			passed, all := p.Musts()
			fmt.Fprintf(out, "| %s | %d/%d | %s |\n", p.Name, passed, all, p.Headline())
		}
	}
	if failures := r.Failures(); len(failures) > 0 {
		fmt.Fprintf(out, "\n| clause | verdict | rule | why |\n|---|---|---|---|\n")
		for _, c := range failures {
			fmt.Fprintf(out, "| %s | %s | %s | %s |\n", c.ID, c.Verdict, c.Rule, strings.ReplaceAll(oneLine(c.Why), "|", "\\|"))
		}
	}
	fmt.Fprintf(out, "\n%s\n", r.Meaning())
	_, err := fmt.Fprintf(out, "\nReproduce: `%s`\n", r.Reproduce)
	return err
}
