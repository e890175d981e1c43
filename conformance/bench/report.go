package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// Schema is the version of a report's form. A new field does not change it.
const Schema = 1

// Report is what a run has measured.
type Report struct {
	Schema  int       `json:"schema"`
	Target  string    `json:"target"`
	Started time.Time `json:"started"`
	Machine Machine   `json:"machine"`
	Setting Setting   `json:"setting"`
	Phases  []Part    `json:"phases"`
	// Faults are the wrong answers of all phases; nil if the service gives none that can be judged.
	Faults []Found `json:"faults,omitempty"`
	// Notes are what the run has seen that a reader of its numbers should know.
	Notes []string `json:"notes,omitempty"`
	// Null is how the same run went at a target that does nothing; nil without one.
	Null *Report `json:"null,omitempty"`
}

// Machine is where the load came from; a target on the same machine shares its processors.
type Machine struct {
	CPUs int    `json:"cpus"`
	Arch string `json:"arch"`
	// LoadBefore is how many processes wanted to run in the minute before the run; -1 is unknown.
	LoadBefore float64 `json:"loadBefore"`
}

// Setting is what the load was made of, as the operator has set it.
type Setting struct {
	Mix  string `json:"mix"`
	Fork string `json:"fork,omitempty"`
	// Slot is the duration of a slot, in seconds.
	SlotSeconds float64 `json:"slotSeconds,omitempty"`
	Builders    int     `json:"builders,omitempty"`
	// Cancelling is how many of the builders cancel bids.
	Cancelling int `json:"cancelling,omitempty"`
	// SameBlock is how many of them submit the same block.
	SameBlock  int      `json:"sameBlock,omitempty"`
	BlockKB    []int    `json:"blockKb,omitempty"`
	Blobs      int      `json:"blobs,omitempty"`
	Formats    []string `json:"formats,omitempty"`
	Validators int      `json:"validators,omitempty"`
	// Batch is how many registrations a request has.
	Batch int `json:"batch,omitempty"`
	// Listeners is how many followed the stream.
	Listeners int `json:"listeners,omitempty"`
}

// Part is what a phase has measured.
type Part struct {
	Phase

	// Loaded is for how long requests were sent: while an auction was open.
	Loaded    time.Duration `json:"loadedNs"`
	PerSecond float64       `json:"goodPerSecond"` // right answers of all kinds but deliveries
	Measures  []Measure     `json:"measures"`
}

// Measure returns the phase's measure of a kind; nil if there is none.
func (p *Part) Measure(kind Kind) *Measure {
	for i := range p.Measures {
		if p.Measures[i].Kind == kind {
			return &p.Measures[i]
		}
	}
	return nil
}

// Part returns a phase by its name; nil if there is none.
func (r *Report) Part(name string) *Part {
	for i := range r.Phases {
		if r.Phases[i].Name == name {
			return &r.Phases[i]
		}
	}
	return nil
}

// Wrong returns how many answers were wrong.
func (r *Report) Wrong() (n int) {
	for _, f := range r.Faults {
		n += f.Found
	}
	return n
}

// Unanswered returns the kinds of which requests were sent, and not one got a right answer: of them
// nothing is known.
func (r *Report) Unanswered() (kinds []Kind) {
	good := map[Kind]int{}
	for _, p := range r.Phases {
		for _, m := range p.Measures {
			if _, known := good[m.Kind]; !known {
				kinds = append(kinds, m.Kind)
			}
			good[m.Kind] += m.Good
		}
	}
	return slices.DeleteFunc(kinds, func(kind Kind) bool { return good[kind] > 0 })
}

// Ratio is how many times as many requests the null target answered in a phase; 0 without one, and
// in a phase whose rate is given.
func (r *Report) Ratio(phase string) float64 {
	ours := r.Part(phase)
	if r.Null == nil || ours == nil || ours.PerSecond == 0 || ours.Phase.PerSecond > 0 {
		return 0
	}
	null := r.Null.Part(phase)
	if null == nil {
		return 0
	}
	return null.PerSecond / ours.PerSecond
}

// WriteJSON writes the report.
func (r *Report) WriteJSON(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", " ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}

// Read reads a report.
func Read(from io.Reader) (*Report, error) {
	r := new(Report)
	if err := json.NewDecoder(from).Decode(r); err != nil {
		return nil, fmt.Errorf("read the report: %w", err)
	}
	if r.Schema != Schema {
		return nil, fmt.Errorf("read the report: it has schema %d, and this program reads %d", r.Schema, Schema)
	}
	return r, nil
}
