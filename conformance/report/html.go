package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

//go:embed page.html
var pageText string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"musts": func(p Profile) string {
		passed, all := p.Musts()
		return fmt.Sprintf("%d of %d", passed, all)
	},
	"short": oneLine,
	"counts": func(p Profile) string {
		var words []string
		for _, v := range clauses.Verdicts {
			if n := p.Must[v] + p.Other[v]; n > 0 {
				words = append(words, fmt.Sprintf("%d %s", n, v))
			}
		}
		return strings.Join(words, ", ")
	},
}).Parse(pageText))

// Outcome describes in words how the run ended.
func (r *Report) Outcome() string { return exitWords[r.Exit] }

// HTML writes one page that loads nothing: no script, no style and no picture from elsewhere.
func (r *Report) HTML(out io.Writer) error {
	if err := page.Execute(out, r); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
