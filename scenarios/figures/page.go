package figures

import (
	_ "embed" // for the page's template
	"fmt"
	"html/template"
	"io"
	"strings"
)

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Parse(pageText))

// About is what a page says of where its figures come from.
type About struct {
	Network string
	Slots   int64
	// Rules say how was inferred what archives do not say; Models what in variants is a model.
	Rules, Models []string
}

// pageRows is how many rows of a table the page shows; the CSV beside it has all.
const pageRows = 200

// shown is a figure as the page has it.
type shown struct {
	*Figure
	Picture template.HTML
	Box     box
	Drawn   []Series
	Thinned bool
	Shown   [][]string
	Hidden  int
}

// WritePage writes all figures as one page that needs nothing else: it can be read without a
// network, without scripts and on paper.
func WritePage(out io.Writer, about About, all []Figure) error {
	page := struct {
		About
		Figures []shown
	}{About: about}
	for i := range all {
		one, err := show(&all[i])
		if err != nil {
			return err
		}
		page.Figures = append(page.Figures, one)
	}
	if err := pageTemplate.Execute(out, page); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

func show(f *Figure) (shown, error) {
	svg, place, err := f.draw()
	if err != nil {
		return shown{}, err
	}
	// The picture's text is escaped by the library that draws it (TestHostileNames).
	picture := string(svg)
	if at := strings.Index(picture, "<svg"); at >= 0 {
		picture = picture[at:] // without what only a file begins with
	}
	s := shown{Figure: f, Picture: template.HTML(picture), Box: place, Shown: f.Rows}
	if s.Hidden = len(f.Rows) - pageRows; s.Hidden > 0 {
		s.Shown = f.Rows[:pageRows]
	}
	for _, series := range f.Series {
		points := thin(series.Points)
		s.Thinned = s.Thinned || len(points) < len(series.Points)
		s.Drawn = append(s.Drawn, Series{series.Name, series.Form, points})
	}
	return s, nil
}
