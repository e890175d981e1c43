package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/gavel-relay/gavel/conformance/clauses"
)

// badgeText returns the right side of the badge.
func (r *Report) badgeText() string {
	passed, all := r.musts()
	return fmt.Sprintf("%d/%d MUST", passed, all)
}

// musts returns how many MUSTs pass in profiles that ran, and how many there are.
func (r *Report) musts() (passed, all int) {
	for _, p := range r.Profiles {
		if p.Ran() {
			ok, n := p.Musts()
			passed, all = passed+ok, all+n
		}
	}
	return passed, all
}

// Shields writes what shields.io makes a badge of (its endpoint badge, schema version 1).
func (r *Report) Shields(out io.Writer) error {
	colour := "brightgreen"
	if r.Exit != clauses.Conformant {
		colour = "red"
	}
	badge := struct {
		Version int    `json:"schemaVersion"`
		Label   string `json:"label"`
		Message string `json:"message"`
		Colour  string `json:"color"`
	}{1, "conformance", r.badgeText(), colour}
	if err := json.NewEncoder(out).Encode(badge); err != nil {
		return fmt.Errorf("write the badge: %w", err)
	}
	return nil
}

// Badge writes a small SVG that says how many MUSTs pass.
func (r *Report) Badge(out io.Writer) error {
	colour := "#1a7f37"
	if r.Exit != clauses.Conformant {
		colour = "#cf222e"
	}
	const digit, left = 7, 92
	text := r.badgeText()
	width := left + len(text)*digit + 16
	_, err := fmt.Fprintf(out, strings.TrimSpace(`
<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="20" role="img" aria-label="conformance: %s">
<rect width="%d" height="20" rx="3" fill="#555"/><rect x="%d" width="%d" height="20" rx="3" fill="%s"/>
<g fill="#fff" font-family="Verdana,sans-serif" font-size="11"><text x="8" y="14">conformance</text><text x="%d" y="14">%s</text></g></svg>`)+"\n",
		width, text, width, left, width-left, colour, left+8, text)
	return err
}
