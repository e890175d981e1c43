// Package browser shows a run to browsers while it goes on: one page, of which a part comes again
// when facts have changed it.
//
//	facts ─Board.Add─▶ timeline.Chart ─▶ GET /          the page as it is
//	                                  ─▶ GET /live      its parts, as server-sent events
//	                                  ─▶ GET /run.html  the page as one file, without the rest of the run
package browser

import (
	"bytes"
	"maps"
	"slices"
	"sync"

	"github.com/gavel-relay/gavel/devnet/timeline"
)

// Board is what browsers see of a run. It is safe for concurrent use.
type Board struct {
	mu    sync.Mutex // guards all below
	chart timeline.Chart
	// version counts changes. parts has the version of each slot's last change, gone that at which a
	// slot was forgotten.
	version     uint64
	parts, gone map[int]uint64
	written     map[int]written // slots as they were written for viewers
	over        string          // how the run ended; empty while it goes on
	changed     chan struct{}   // closed at the next change
	viewers     int
}

// written is a part of the page at a version.
type written struct {
	version uint64
	html    string
}

// mostGone is how many forgotten slots are remembered, for viewers whose page still has them.
const mostGone = 256

// New returns a board without facts.
func New(about timeline.About) *Board {
	return &Board{chart: timeline.Chart{About: about}, parts: map[int]uint64{}, gone: map[int]uint64{},
		written: map[int]written{}, changed: make(chan struct{})}
}

// Add takes a fact.
func (b *Board) Add(f timeline.Fact) {
	b.mu.Lock()
	defer b.mu.Unlock()
	changed := b.chart.Add(f)
	b.version++
	isNew := false
	for _, number := range changed {
		_, known := b.parts[number]
		isNew = isNew || !known
		b.parts[number] = b.version
	}
	if isNew {
		b.forget()
	}
	b.wake()
}

// Miss counts a fact that could not be shown.
func (b *Board) Miss() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.chart.Miss()
	b.version++
	b.wake()
}

// Judge says how a story ended, in the place of how it must end. Pages that are loaded from now on
// have it.
func (b *Board) Judge(verdicts []timeline.Verdict) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.chart.About.Verdicts = verdicts
}

// forget drops the slots that the chart does not keep.
func (b *Board) forget() {
	kept := b.chart.Slots()
	for number := range b.parts {
		if _, found := slices.BinarySearch(kept, number); !found {
			delete(b.parts, number)
			delete(b.written, number)
			b.gone[number] = b.version
		}
	}
	for len(b.gone) > mostGone {
		delete(b.gone, slices.Min(slices.Collect(maps.Keys(b.gone))))
	}
}

// End says how the run ended. Viewers are told, and do not ask again.
func (b *Board) End(words string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = words
	b.wake()
}

func (b *Board) wake() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// page writes the whole page: one that follows the run while it goes on, or a file.
func (b *Board) page(live bool) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out bytes.Buffer
	chart := b.chart
	chart.Live = live && b.over == ""
	if b.over != "" {
		chart.About.Notes = append(slices.Clone(chart.About.Notes), b.over)
	}
	err := chart.WritePage(&out, b.version)
	return out.Bytes(), err
}

// part is a part of the page as viewers get it. An empty HTML removes it.
type part struct {
	ID   string `json:"id"`
	HTML string `json:"html"`
}

// news is what has changed since a version.
type news struct {
	parts   []part
	version uint64
	over    string
	changed <-chan struct{} // closed when there is more
}

// since returns the parts that have changed since a version. A version that was never reached is
// one of an earlier run at this address, so that everything has changed.
func (b *Board) since(version uint64) (news, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := news{version: b.version, over: b.over, changed: b.changed}
	if version > b.version {
		version = 0
	}
	if version == b.version {
		return n, nil
	}
	var overview bytes.Buffer
	if err := b.chart.WriteOverview(&overview); err != nil {
		return n, err
	}
	n.parts = append(n.parts, part{timeline.OverviewID, overview.String()})
	for number, at := range b.gone {
		if at > version {
			n.parts = append(n.parts, part{timeline.SlotID(number), ""})
		}
	}
	for _, number := range slices.Sorted(maps.Keys(b.parts)) {
		if b.parts[number] <= version {
			continue
		}
		html, err := b.slot(number)
		if err != nil {
			return n, err
		}
		n.parts = append(n.parts, part{timeline.SlotID(number), html})
	}
	return n, nil
}

// slot writes a slot, once for all viewers.
func (b *Board) slot(number int) (string, error) {
	at := b.parts[number]
	if one := b.written[number]; one.version == at {
		return one.html, nil
	}
	var out bytes.Buffer
	if err := b.chart.WriteSlot(&out, number); err != nil {
		return "", err
	}
	b.written[number] = written{at, out.String()}
	return out.String(), nil
}
