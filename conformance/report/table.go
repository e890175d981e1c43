package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

// Table writes the summary for the terminal at the end of a run: the profiles, then what failed and
// how to repeat it.
func (r *Report) Table(out io.Writer) error {
	for _, iface := range slices.Sorted(maps.Keys(r.Unusable)) {
		fmt.Fprintf(out, "nothing of the %s is judged: %s\n\n", iface, shortened(r.Unusable[iface], 400))
	}
	w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
	fmt.Fprintf(w, "profile\tMUST\tfail\tother\tverdict\n")
	for _, p := range r.Profiles {
		if !p.Ran() {
			continue
		}
		passed, all := p.Musts()
		other := 0
		for v, n := range p.Other {
			if v == clauses.Warn || v == clauses.Fail {
				other += n
			}
		}
		fmt.Fprintf(w, "%s\t%d/%d\t%d\t%d warn\t%s\n", p.Name, passed, all, p.Must[clauses.Fail]+p.Must[clauses.XFail],
			other, p.Headline())
	}
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write the table: %w", err)
	}
	r.tableFindings(out)
	for _, c := range r.Clauses {
		for _, s := range c.Specs {
			if s.FirstTry != "" {
				fmt.Fprintf(out, "\n%d tries of %s %s; the first one: %s\n", s.Tries, c.ID, s.Title, oneLine(s.FirstTry))
			}
		}
	}
	for _, stale := range r.Stale {
		fmt.Fprintf(out, "\nstale expectation: %s\n", stale)
	}
	var counts []string
	for _, v := range clauses.Verdicts {
		if n := r.Count(v); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, v))
		}
	}
	for _, c := range r.Combinations {
		fmt.Fprintf(out, "\n%s\n", c)
	}
	if words := r.Compared(); words != "" {
		fmt.Fprintf(out, "\n%s\n", words)
	}
	fmt.Fprintf(out, "\n%s\n", r.Meaning())
	_, err := fmt.Fprintf(out, "\n%s; %d of %d clauses tested%s; seed %d; %s\n", strings.Join(counts, ", "),
		r.Coverage.Tested, r.Coverage.Clauses, r.Repeated(), r.Seed, exitWords[r.Exit])
	return err
}

// tableFindings writes a line or two for each cause. Exchanges and whole messages are in the other
// forms of the report.
func (r *Report) tableFindings(out io.Writer) {
	for _, f := range r.Findings() {
		first := f.Clauses[0]
		fmt.Fprintf(out, "\n%s %s %s\n  why     %s\n", f.Verdict, f.IDs(), first.Level, shortened(f.Why, 200))
		if len(f.Clauses) == 1 {
			fmt.Fprintf(out, "  rule    %s\n", first.Rule)
		} else {
			fmt.Fprintf(out, "  rules   %d of one cause\n", len(f.Clauses))
		}
		if curl := first.curl(); curl != "" {
			if len(curl) > longestCurl {
				curl = "the request is in report.html; a slot is used up once it is over, so give --clause " + first.ID
			}
			fmt.Fprintf(out, "  repeat  %s\n", curl)
		}
	}
	if left := r.LeftOut(); len(left) > 0 {
		fmt.Fprintf(out, "\nleft out without --heavy: %s\n", strings.Join(left, " "))
	}
}

// longestCurl is how long a command to repeat a request may be in a terminal.
const longestCurl = 240

// Repeated says how many tries the run needed, if it needed more than one for each spec.
func (r *Report) Repeated() string {
	specs := 0
	for _, c := range r.Clauses {
		specs += len(c.Specs)
	}
	if r.Tries <= specs {
		return ""
	}
	return fmt.Sprintf(", %d specs in %d tries", specs, r.Tries)
}

var exitWords = map[int]string{
	clauses.Conformant: "conformant", clauses.Nonconformant: "not conformant",
	clauses.StaleExpected: "expectations are stale",
	clauses.Unusable:      "nothing could be judged", clauses.SuiteFault: "the suite broke down",
}

// curl returns a command that repeats the last request of the first spec that failed.
func (c Clause) curl() string {
	for _, s := range c.Specs {
		if s.Outcome == clauses.Failed && len(s.Exchanges) > 0 {
			return s.Exchanges[len(s.Exchanges)-1].Curl()
		}
	}
	return ""
}

func oneLine(text string) string { return shortened(text, 400) }

// shortened is a text in one line, cut if it is longer than so many bytes.
func shortened(text string, longest int) string {
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > longest {
		return strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}
