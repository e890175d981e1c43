package app

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"sort"
	"strings"
	"text/tabwriter"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/suite"
)

// Mistake makes a UsageError.
func Mistake(format string, args ...any) error { return UsageError{fmt.Sprintf(format, args...)} }

// Fits says whether a clause is in the selection, whatever the target.
func (o Options) Fits(c clauses.Clause) bool {
	named := len(o.Patterns) == 0
	for _, pattern := range o.Patterns {
		named = named || match(pattern, c.ID)
	}
	return named && o.fits(c)
}

// ListChosen writes the clauses that the options choose, as List does.
func ListChosen(out io.Writer, format string, o Options) error {
	catalogue, set, err := Specs()
	if err != nil {
		return err
	}
	var found []clauses.Clause
	for _, c := range catalogue.Clauses {
		if o.Fits(c) {
			found = append(found, c)
		}
	}
	if len(found) == 0 {
		return Mistake("no clause fits the selection")
	}
	return List(out, format, found, set)
}

// List writes clauses as a table, JSON or Markdown.
func List(out io.Writer, format string, list []clauses.Clause, set *suite.Set) error {
	switch format {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", " ")
		return encoder.Encode(list)
	case "md":
		fmt.Fprintln(out, "| clause | level | mode | tested | rule |\n|---|---|---|---|---|")
		for _, c := range list {
			fmt.Fprintf(out, "| %s | %s | %s | %s | %s |\n", c.ID, c.Level, c.Mode, yes(set.Tests(c.ID)), c.Rule)
		}
		return nil
	case "table":
		w := tabwriter.NewWriter(out, 0, 4, 2, ' ', 0)
		tested := 0
		for _, c := range list {
			if set.Tests(c.ID) {
				tested++
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", c.ID, c.Level, c.Mode, yes(set.Tests(c.ID)), c.Rule)
		}
		if err := w.Flush(); err != nil {
			return fmt.Errorf("write the list: %w", err)
		}
		_, err := fmt.Fprintf(out, "%d clauses, %d with a spec; %d specs in all\n", len(list), tested, len(set.Specs))
		return err
	default:
		return Mistake("format is %q: give table, json or md", format)
	}
}

func yes(tested bool) string {
	if tested {
		return "tested"
	}
	return "-"
}

// Explain writes what the clauses ask, where they come from, and how they are tested.
func Explain(out io.Writer, patterns []string) error {
	catalogue, set, err := Specs()
	if err != nil {
		return err
	}
	for _, pattern := range patterns {
		found := catalogue.Match(pattern)
		if len(found) == 0 {
			return Mistake("no clause is named %s: see gavel-lab conformance list", pattern)
		}
		for _, c := range found {
			fmt.Fprintf(out, "%s  %s, %s, %s mode\n  %s\n  source        %s\n  follows from  %s\n", c.ID, c.Level, c.Profile,
				c.Mode, c.Rule, c.Source,
				strings.Join(c.Says, "; "))
			switch {
			case c.Paraphrase:
				fmt.Fprintf(out, "  in our words  %s\n", c.Quote)
			case c.Quote != "":
				fmt.Fprintf(out, "  it says       %s\n", c.Quote)
			}
			if c.Feature != "" {
				fmt.Fprintf(out, "  feature       %s: %s\n", c.Feature, clauses.Features[c.Feature])
			}
			if c.Setting != "" {
				fmt.Fprintf(out, "  declare       %s: %s\n", c.Setting, clauses.Settings[c.Setting])
			}
			if c.Disputed != "" {
				fmt.Fprintf(out, "  disputed      %s\n", c.Disputed)
			}
			for _, spec := range set.Specs {
				if spec.Clause.ID == c.ID {
					fmt.Fprintf(out, "  tested by     %s\n", spec.Title)
				}
			}
			for _, m := range killersOf(c.ID) {
				fmt.Fprintf(out, "  proven by     %s\n", m)
			}
			if c.Unproven != "" {
				fmt.Fprintf(out, "  not proven    %s\n", c.Unproven)
			}
			fmt.Fprintf(out, "  try it        gavel-lab conformance run --target target.yaml --clause %s --out results\n\n",
				c.ID)
		}
	}
	return nil
}

// Capabilities writes the features that a target has, as YAML for target.yaml, and those that it
// lacks as comments.
func Capabilities(out io.Writer, f suite.Features) error {
	names := make([]string, 0, len(f.Lacks))
	for name := range f.Lacks {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		fmt.Fprintf(out, "# lacks %s: %s\n", name, f.Lacks[name])
	}
	_, err := fmt.Fprintf(out, "features: %s\n", strings.Join(f.Has, ","))
	return err
}

// Progress returns a function that shows how far the run is. On a terminal it writes one line again
// and again; elsewhere it writes a line for each failure and for every 50th result.
func Progress(out io.Writer, terminal bool) func(done, all int, r suite.Result) {
	return func(done, all int, r suite.Result) {
		shown := slices.Contains([]clauses.Outcome{clauses.Failed, clauses.Broken}, r.Outcome)
		switch {
		case terminal:
			fmt.Fprintf(out, "\r\x1b[K%d/%d %s %s", done, all, r.Clause, r.Title)
			if done == all {
				fmt.Fprintln(out)
			}
		case shown || done%50 == 0 || done == all:
			fmt.Fprintf(out, "%d/%d %s %s %s\n", done, all, r.Clause, r.Title, r.Outcome)
		}
	}
}
