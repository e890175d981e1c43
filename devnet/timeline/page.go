package timeline

import (
	"cmp"
	"crypto/sha256"
	_ "embed" // for the page
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"
)

// The page, its style and its script. Style and script stand in the page; its policy allows these
// two by their hashes.
var (
	//go:embed page.html
	pageHTML string
	//go:embed page.css
	Style string
	//go:embed page.js
	Script string

	pages = template.Must(template.New("page").Parse(pageHTML))
)

// OverviewID and SlotID name parts of the page in its HTML.
const OverviewID = "overview"

// SlotID is the name of a slot's part.
func SlotID(number int) string { return "slot-" + strconv.Itoa(number) }

// policy is the Content-Security-Policy of a page that is a file: it may ask nobody for anything.
func policy() string {
	hash := func(source string) string {
		sum := sha256.Sum256([]byte(source))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; style-src " + hash(Style) +
		"; script-src " + hash(Script)
}

// shown is a page as its template has it.
type shown struct {
	About
	Live    bool
	Version uint64
	Policy  string
	Style   template.CSS
	Script  template.JS

	Overview overview
	Slots    []shownSlot
}

// overview is the table of all slots.
type overview struct {
	Slots     []row
	Forgotten int
	Facts     int
	Missed    int
	Builders  []builder
	Faults    []string
}

// builder is a builder with its colour.
type builder struct {
	Name  string
	Class string
}

// row is a slot in the overview.
type row struct {
	Number, Bids, Refused, Orders, Hints int
	Fork, Value, Winner, Outcome, Note   string
}

// shownSlot is a slot with its picture and its facts.
type shownSlot struct {
	row
	Picture picture
	Facts   []shownFact
	More    int
}

type shownFact struct {
	Number                             int
	Ms                                 int64
	Actor, Subject, About, At, ID, Wei string
	Text                               string
}

// WritePage writes the page. version is the number of the last change that it shows; a page that
// follows a run asks for later ones.
func (c *Chart) WritePage(out io.Writer, version uint64) error {
	page := shown{About: c.About, Live: c.Live, Version: version, Style: template.CSS(Style),
		Script: template.JS(Script), Overview: c.overview()}
	if !c.Live {
		page.Policy = policy()
	}
	for _, number := range c.Slots() {
		page.Slots = append(page.Slots, c.show(c.slots[number]))
	}
	if err := pages.Execute(out, page); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// WriteOverview writes the table of all slots.
func (c *Chart) WriteOverview(out io.Writer) error {
	if err := pages.ExecuteTemplate(out, "overview", c.overview()); err != nil {
		return fmt.Errorf("write the overview: %w", err)
	}
	return nil
}

// WriteSlot writes one slot; nothing if it is not kept.
func (c *Chart) WriteSlot(out io.Writer, number int) error {
	s := c.slots[number]
	if s == nil {
		return nil
	}
	if err := pages.ExecuteTemplate(out, "slot", c.show(s)); err != nil {
		return fmt.Errorf("write slot %d: %w", number, err)
	}
	return nil
}

func (c *Chart) overview() overview {
	o := overview{Forgotten: c.forgotten, Facts: c.facts, Missed: c.missed}
	for _, number := range c.Slots() {
		o.Slots = append(o.Slots, c.slots[number].row())
	}
	for name, colour := range c.builders {
		o.Builders = append(o.Builders, builder{name, "b" + strconv.Itoa(colour)})
	}
	slices.SortFunc(o.Builders, func(a, b builder) int { return cmp.Compare(a.Class, b.Class) })
	for _, b := range c.bands {
		text := fmt.Sprintf("%s %s: from %s", b.what, b.on, c.moment(b.begin))
		if !b.open {
			text += " until " + c.moment(b.end)
		}
		o.Faults = append(o.Faults, text)
	}
	return o
}

// moment writes a time as slot and milliseconds.
func (c *Chart) moment(ms int64) string {
	length := max(c.About.SlotMs, 1)
	return fmt.Sprintf("slot %d %+d ms", ms/length, ms%length)
}

func (s *slot) row() row {
	outcome := cmp.Or(s.outcome, "–") // it runs, or the run ended before it
	return row{Number: s.number, Bids: s.bids, Refused: s.refused, Orders: s.orders, Hints: s.hints, Fork: s.fork,
		Value: ether(s.valueWei), Winner: cmp.Or(s.winner, "–"), Outcome: outcome, Note: s.note}
}

func (c *Chart) show(s *slot) shownSlot {
	one := shownSlot{row: s.row(), Picture: c.draw(s), More: s.more}
	var all []kept
	for l := range lanes {
		all = append(all, s.lanes[l]...)
	}
	slices.SortFunc(all, func(a, b kept) int {
		return cmp.Or(cmp.Compare(a.SlotMs, b.SlotMs), cmp.Compare(a.number, b.number))
	})
	for i := range all {
		f := &all[i]
		one.Facts = append(one.Facts, shownFact{Number: f.number, Ms: f.SlotMs, Actor: f.Actor,
			Subject: strings.ReplaceAll(f.Subject, "_", " "), About: f.About, At: f.At, ID: f.ID, Wei: f.ValueWei,
			Text: f.Text})
	}
	return one
}
