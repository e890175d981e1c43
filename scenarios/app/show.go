package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"github.com/gavel-relay/gavel/devnet/timeline"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios"
)

// shownSlots is how many slots of a run a page shows at most.
const shownSlots = 1000

// WriteTimeline writes the page of a run folder. The file is there whole, or as it was before.
func WriteTimeline(folder, path string) (err error) {
	chart, err := OpenTimeline(folder)
	if err != nil {
		return err
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".run-*.html")
	if err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(file.Name()))
		}
	}()
	if err := errors.Join(chart.WritePage(file, 0), file.Chmod(0o644), file.Close()); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	if err := os.Rename(file.Name(), path); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}

// OpenTimeline reads a run folder. Of a run that was ended in the middle, it has the facts that are
// there, and says so.
func OpenTimeline(folder string) (*timeline.Chart, error) {
	text, err := os.ReadFile(filepath.Join(folder, "plan.yaml"))
	if err != nil {
		return nil, run.Usage(fmt.Errorf("read the run: %w", err))
	}
	plan, err := scenarios.Parse(filepath.Join(folder, "plan.yaml"), text)
	if err != nil {
		return nil, err
	}
	var about description
	if err := readJSON(folder, "run.json", &about); err != nil {
		return nil, err
	}
	chart := newTimeline(plan, about)
	facts, err := os.Open(filepath.Join(folder, "facts.ndjson"))
	if err != nil {
		return nil, run.Usage(fmt.Errorf("read the run: %w", err))
	}
	err = scenarios.EachRecord(facts, func(r scenarios.Record) { chart.Add(timelineFact(r)) })
	_ = facts.Close() // it was only read
	if err != nil {
		chart.About.Notes = append(chart.About.Notes, "Facts are missing, since the file is broken: "+err.Error())
	}
	var verdicts []scenarios.Verdict
	switch err := readJSON(folder, "verdicts.json", &verdicts); {
	case errors.Is(err, os.ErrNotExist):
		chart.About.Notes = append(chart.About.Notes, "There are no verdicts: the run did not come to its end.")
	case err != nil:
		return nil, err
	}
	chart.About.Verdicts = verdictsOf(verdicts)
	return chart, nil
}

// verdictsOf are verdicts as a page shows them.
func verdictsOf(verdicts []scenarios.Verdict) (list []timeline.Verdict) {
	for _, v := range verdicts {
		list = append(list, timeline.Verdict{Text: v.Text, Reason: v.Reason, Met: v.Met, Skipped: v.Skipped})
	}
	return list
}

// newTimeline is the page of a run without its facts.
func newTimeline(p *scenarios.Plan, about description) *timeline.Chart {
	title := about.Name
	if about.Variant != "" {
		title += " " + about.Variant
	}
	fields := []timeline.Field{
		{Name: "Seed", Text: strconv.FormatUint(about.Seed, 10)},
		{Name: "Slots", Text: fmt.Sprintf("%d of %s", p.Slots, p.Slot)},
		{Name: "Speed", Text: strconv.FormatFloat(p.Speed, 'g', -1, 64)},
		{Name: "Began", Text: about.Began.UTC().Format("2006-01-02 15:04:05 UTC")},
		{Name: "System", Text: about.System + ", " + about.Go},
	}
	if revision := about.Versions["vcs.revision"]; revision != "" {
		fields = append(fields, timeline.Field{Name: "Revision", Text: revision})
	}
	return &timeline.Chart{MostSlots: shownSlots, About: timeline.About{
		Title: title, Why: p.Why, SlotMs: p.Slot.Milliseconds(), Fields: fields,
	}}
}

// timelineFact is a record as the page shows it.
func timelineFact(r scenarios.Record) timeline.Fact {
	f := timeline.Fact{
		Slot: r.Slot, SlotMs: r.SlotMs, Actor: r.Actor, Subject: r.Subject, About: r.About, At: r.At, ID: r.ID,
		Counts: r.Counts, ValueWei: r.ValueWei, Fork: r.Fork, Text: string(r.Fact),
	}
	var found ChainSlot
	if r.Subject == scenarios.SlotFinished && json.Unmarshal(r.Fact, &found) == nil && found.Sale != nil {
		f.Note = timeline.Votes(found.Sale.Full, found.Sale.Present, found.Sale.Members)
	}
	return f
}

// mostJSON bounds a file of a run folder.
const mostJSON = 16 << 20

// readJSON reads a file of a run folder.
func readJSON(folder, name string, into any) error {
	file, err := os.Open(filepath.Join(folder, name))
	if err != nil {
		return run.Usage(fmt.Errorf("read the run: %w", err))
	}
	defer func() { _ = file.Close() }() // it is only read
	if err := json.NewDecoder(io.LimitReader(file, mostJSON)).Decode(into); err != nil {
		return fmt.Errorf("read %s: %w", filepath.Join(folder, name), err)
	}
	return nil
}
