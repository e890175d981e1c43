package timeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// About is what a page says of its run.
type About struct {
	Title string
	// Why is what the run is about; empty for none.
	Why string
	// SlotMs is the length of a slot in chain time.
	SlotMs int64
	Fields []Field
	Notes  []string
	// Expected is what a story must end with; Verdicts are how it ended, and take its place.
	Expected []string
	Verdicts []Verdict
}

// Field is one thing that is said of a run, with an address that a reader may open.
type Field struct{ Name, Text, Link string }

// Verdict is an expectation, and whether it was met.
type Verdict struct {
	Text, Reason string
	Met, Skipped bool
}

// Bounds of a chart. Whoever sends facts can neither make a page endless nor crowd out other lanes.
const (
	// usualSlots is how many slots a chart keeps if it is not told.
	usualSlots = 256
	// laneFacts is how many facts of a lane are kept of a slot; others are counted.
	laneFacts = 200
	// textBytes bounds the fact as its actor wrote it, nameBytes everything else of it.
	textBytes, nameBytes = 1024, 160
	// mostBands bounds faults, mostBuilders the builders that have a colour of their own.
	mostBands, mostBuilders = 200, 8
)

// Chart is what is known of a run. It is not safe for concurrent use. The zero value is not
// usable: About.SlotMs must be set.
type Chart struct {
	About About
	// MostSlots is how many slots are kept, the newest; 0 is 256.
	MostSlots int
	// Live: the page is one of a run that goes on, and follows it.
	Live bool

	slots     map[int]*slot
	bands     []band
	builders  map[string]int // each builder's colour
	facts     int            // how many facts came
	forgotten int            // how many slots are no longer kept
	missed    int            // how many facts did not come
}

// Miss counts a fact that could not be shown, because facts came faster than they were taken.
func (c *Chart) Miss() { c.missed++ }

// slot is what is known of one slot.
type slot struct {
	number           int
	fork             string
	bids, refused    int
	orders, hints    int
	winner, valueWei string // of the bid that leads, or of the block
	outcome, note    string // of a slot that is over
	lanes            [lanes][]kept
	more             int // facts that are only counted
}

// kept is a fact with its number in the run.
type kept struct {
	Fact

	number int
}

// band is a fault, from one time to another in milliseconds since slot 0.
type band struct {
	what, on   string
	begin, end int64
	open       bool // it has not ended
}

// Add takes a fact, and returns the slots whose pictures it changes.
func (c *Chart) Add(f Fact) []int {
	f.SlotMs = min(max(f.SlotMs, -maxMs), maxMs)
	f.bound()
	c.facts++
	s := c.of(f.Slot)
	if s == nil {
		return nil
	}
	if f.Fork != "" {
		s.fork = f.Fork
	}
	s.count(&f)
	if l := f.lane(); len(s.lanes[l]) < laneFacts {
		s.lanes[l] = append(s.lanes[l], kept{f, c.facts})
	} else {
		s.more++
	}
	if f.Subject == submissionJudged && f.About != "" {
		c.colour(f.About)
	}
	if f.Subject == faultBegan || f.Subject == faultEnded {
		c.addBand(&f)
		return c.Slots()
	}
	return []int{f.Slot}
}

// maxMs bounds times, so that their sums are no overflow: thirty years.
const maxMs = 1_000_000_000_000

// of returns a slot, and makes it if there is room: the oldest slots make room for newer ones.
// It returns nil for one that is older than all that are kept.
func (c *Chart) of(number int) *slot {
	if s := c.slots[number]; s != nil {
		return s
	}
	most := c.MostSlots
	if most <= 0 {
		most = usualSlots
	}
	if number < 0 || number > maxMs/int(max(c.About.SlotMs, 1)) {
		return nil
	}
	if c.slots == nil {
		c.slots, c.builders = map[int]*slot{}, map[string]int{}
	}
	if len(c.slots) >= most {
		oldest := slices.Min(slices.Collect(maps.Keys(c.slots)))
		if number < oldest {
			return nil
		}
		delete(c.slots, oldest)
		c.forgotten++
	}
	c.slots[number] = &slot{number: number}
	return c.slots[number]
}

// count keeps what the overview says of a slot.
func (s *slot) count(f *Fact) {
	switch f.Subject {
	case submissionJudged:
		switch {
		case f.ID != "":
			s.refused++
		case f.Counts:
			s.bids++
		}
	case "order_accepted":
		s.orders++
	case "order_shared", "hint_seen":
		s.hints++
	case topChanged, "payload_delivered":
		if s.outcome == "" {
			s.winner, s.valueWei = f.About, f.ValueWei
		}
	case SlotFinished:
		s.outcome, s.winner, s.valueWei, s.note = f.ID, f.About, f.ValueWei, f.Note
	}
}

// colour gives a builder a colour, as long as there are some.
func (c *Chart) colour(builder string) {
	if _, has := c.builders[builder]; !has && len(c.builders) < mostBuilders {
		c.builders[builder] = len(c.builders)
	}
}

// addBand begins or ends a fault. The end belongs to the oldest open one of the same name.
func (c *Chart) addBand(f *Fact) {
	at := int64(f.Slot)*c.About.SlotMs + f.SlotMs
	if f.Subject == faultBegan {
		if len(c.bands) < mostBands {
			c.bands = append(c.bands, band{what: f.ID, on: f.About, begin: at, end: at, open: true})
		}
		return
	}
	for i := range c.bands {
		if b := &c.bands[i]; b.open && b.what == f.ID && b.on == f.About {
			b.end, b.open = max(at, b.begin), false
			return
		}
	}
}

// Slots are the numbers of the slots that are kept, in their order.
func (c *Chart) Slots() []int { return slices.Sorted(maps.Keys(c.slots)) }

// bound cuts what is longer than a page has room for, and what no text is.
func (f *Fact) bound() {
	for _, text := range []*string{&f.Actor, &f.Subject, &f.About, &f.At, &f.ID, &f.ValueWei, &f.Fork, &f.Note} {
		*text = cut(*text, nameBytes)
	}
	f.Text = cut(f.Text, textBytes)
}

// cut shortens a text to a number of bytes, and says so in it.
func cut(text string, most int) string {
	text = strings.ToValidUTF8(text, "�")
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + fmt.Sprintf("… (%d bytes)", len(text))
}
