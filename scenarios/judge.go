package scenarios

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Verdict is the result of one expectation, with the reason in words.
type Verdict struct {
	Text   string `json:"expectation"`
	Line   int    `json:"line"`
	Met    bool   `json:"met"`
	Reason string `json:"reason"`
	// Skipped says that the expectation could not be judged, because it compares with variants that
	// did not run. Met is then false.
	Skipped bool `json:"skipped,omitempty"`
}

// Runs are the facts of those variants of a plan that have run, keyed by choice ("" if nothing
// varies).
type Runs map[string][]Record

// Judge compares the facts of a run with the expectations. others are the runs of the other
// variants, which comparisons may refer to.
func (p *Plan) Judge(facts []Record, others Runs) []Verdict {
	verdicts := make([]Verdict, 0, len(p.Expect))
	for _, e := range p.Expect {
		v := Verdict{Text: e.Text, Line: e.Line}
		if e.Event != nil {
			v.Met, v.Reason = e.Event.judge(p, facts)
		} else {
			v.Met, v.Skipped, v.Reason = e.Comparison.judge(p, facts, others)
		}
		verdicts = append(verdicts, v)
	}
	return verdicts
}

// AllMet says whether every expectation that could be judged is met, and at least one could.
func AllMet(verdicts []Verdict) bool {
	met := 0
	for _, v := range verdicts {
		switch {
		case v.Met:
			met++
		case !v.Skipped:
			return false
		}
	}
	return met > 0
}

func (e *EventExpectation) judge(p *Plan, facts []Record) (bool, string) {
	h := happeningOf(e.Event)
	var found, near []Record // near: the same event, but other clauses do not fit
	for _, fact := range facts {
		switch {
		case fact.Slot < 1 && fact.Subject == SlotFinished || fact.Slot > p.Slots || !h.matches(fact) ||
			!e.Slots.Has(fact.Slot):
		case e.fits(fact):
			found = append(found, fact)
		default:
			near = append(near, fact)
		}
	}
	if e.Every && e.Most != 0 {
		return e.everySlot(p, found)
	}
	met := len(found) >= e.Least && (e.Most < 0 || len(found) <= e.Most)
	reason := timesWord(len(found)) + places(found)
	if len(found) == 0 && len(near) > 0 {
		reason += "; " + e.Event + " otherwise: " + others(near)
	}
	return met, reason
}

func (e *EventExpectation) fits(fact Record) bool {
	for clause, want := range e.Clauses {
		if clause == "of" { // a percentage is compared to half a point, because it was rounded on its way
			percent, err := strconv.ParseFloat(want, 64)
			if err != nil || math.Abs(percent-fact.Percent) > 0.5 {
				return false
			}
			continue
		}
		if fieldOf(fact, clause) != want {
			return false
		}
	}
	return true
}

func (e *EventExpectation) everySlot(p *Plan, found []Record) (bool, string) {
	slots := e.Slots
	if slots == (Range{}) {
		slots = Range{1, p.Slots}
	}
	var absent []string
	for slot := slots.First; slot <= slots.Last; slot++ {
		if !slices.ContainsFunc(found, func(r Record) bool { return r.Slot == slot }) {
			absent = append(absent, strconv.Itoa(slot))
		}
	}
	if len(absent) > 0 {
		return false, "not in slot " + strings.Join(absent, ", ")
	}
	return true, "in each of " + slots.words()
}

func timesWord(n int) string {
	switch n {
	case 0:
		return "never"
	case 1:
		return "once"
	default:
		return fmt.Sprintf("%d times", n)
	}
}

// placesShown is how many facts a reason names.
const placesShown = 4

// places says when facts happened.
func places(facts []Record) string {
	if len(facts) == 0 {
		return ""
	}
	var words []string
	for i, fact := range facts {
		if i == placesShown {
			words = append(words, "…")
			break
		}
		words = append(words, fmt.Sprintf("slot %d %+dms (%s)", fact.Slot, fact.SlotMs, fact.Actor))
	}
	return ": " + strings.Join(words, ", ")
}

// others says what happened instead, each kind with its count.
func others(facts []Record) string {
	counts, order := map[string]int{}, []string{}
	for _, fact := range facts {
		key := strings.Join(slices.DeleteFunc([]string{fact.About, fact.ID}, func(s string) bool { return s == "" }), " ")
		if key == "" {
			key = fact.Actor
		}
		if counts[key] == 0 {
			order = append(order, key)
		}
		counts[key]++
	}
	words := []string{}
	for _, key := range order[:min(len(order), placesShown)] {
		words = append(words, fmt.Sprintf("%s %d×", key, counts[key]))
	}
	return strings.Join(words, ", ")
}
