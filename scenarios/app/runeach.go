package app

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/scenarios"
)

// Start runs a plan and returns its outcome, as Run does.
type Start func(ctx context.Context, p *scenarios.Plan, o Options) (Result, error)

// Runs says how plans are run and shown.
type Runs struct {
	Start Start
	// AtOnce is how many scenarios run at a time. If it is more than 1, each one is shown when it
	// has ended.
	AtOnce int
	// Again runs a scenario that did not end as it must once more, at a third of its speed.
	Again bool
	// Watch draws the slots live; otherwise each slot is a line. Out is where the display goes.
	Watch bool
	Out   io.Writer
	// Page shows the runs to browsers; nil shows nothing there. Then AtOnce is 1.
	Page *Page
	// Options are those of each run. RunEach sets Tell and Began. With ProveParts, just one of so many
	// plans is proved, those of part ProvePart (from 1 on).
	Options               Options
	ProvePart, ProveParts int
}

// optionsOf are those of the plan at a place of the list.
func (r *Runs) optionsOf(place int) Options {
	o := r.Options
	o.Prove = o.Prove && (r.ProveParts == 0 || place%r.ProveParts == r.ProvePart-1)
	return o
}

// RunEach runs plans, shows how they go and end, and prints how many ended as they must. It returns
// an error if one did not. If several run at a time, the longest begin first, so that none of them
// runs alone at the end.
func RunEach(ctx context.Context, plans []*scenarios.Plan, r Runs) error {
	if r.AtOnce > 1 {
		plans = slices.SortedStableFunc(slices.Values(plans), func(a, b *scenarios.Plan) int {
			return cmp.Compare(length(b), length(a))
		})
	}
	t := tally{Runs: r}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(r.AtOnce)
	for i, p := range plans {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return t.run(ctx, p, r.optionsOf(i)) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return t.verdict()
}

// length estimates how long a plan runs, in seconds of wall time.
func length(p *scenarios.Plan) float64 {
	return float64(p.Slots) * p.Slot.Seconds() / p.Speed * float64(max(1, len(p.Variants())))
}

// tally counts how scenarios end. It is safe for concurrent use.
type tally struct {
	Runs

	mu  sync.Mutex // guards the fields below, and the output
	ran int
	bad []string
	// skipped are the scenarios that this computer cannot run; why is the reason of the last one.
	skipped []string
	why     string
}

// run runs one scenario. If several run at a time, it is shown when it has ended.
func (t *tally) run(ctx context.Context, p *scenarios.Plan, options Options) error {
	var kept bytes.Buffer
	out := t.Out
	if t.AtOnce > 1 {
		out = &kept
	}
	show := newProgress(out, t.Watch)
	options.Tell, options.Began = show.fact, show.showBegin
	if t.Page != nil {
		options.Tell = func(r scenarios.Record) {
			show.fact(r)
			t.Page.fact(r)
		}
		options.Began = func(p *scenarios.Plan, variant string, without bool) {
			show.showBegin(p, variant, without)
			t.Page.begin(p, variant, without)
		}
	}
	result, err := show.run(ctx, p, t.Start, options)
	if err == nil && !result.OK() && result.Skipped == "" && t.Again {
		if p, err = p.Slower(slower); err == nil {
			show.print("again, at a third of the speed")
			result, err = show.run(ctx, p, t.Start, options)
		}
	}
	if err != nil {
		return err
	}
	if t.Page != nil && result.Skipped == "" {
		t.Page.end(result)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case result.Skipped != "":
		t.skipped, t.why = append(t.skipped, p.Name), result.Skipped
	case result.OK():
		t.ran++
	default:
		t.ran++
		t.bad = append(t.bad, p.Name)
	}
	if kept.Len() > 0 {
		_, err = kept.WriteTo(t.Out)
	}
	return err
}

// mostStarts is how often a run is started whose addresses another program takes meanwhile: those
// of services that are not there yet, or are down, are not held.
const mostStarts = 3

// slower is the factor by which the second try of a scenario is slower.
const slower = 3

// run runs a scenario and shows how it goes and ends.
func (s *progress) run(ctx context.Context, p *scenarios.Plan, start Start, o Options) (Result, error) {
	result, err := start(ctx, p, o)
	for starts := 1; serve.IsInUse(err) && starts < mostStarts; starts++ {
		s.showEnd()
		s.print("once more, at other addresses: %v", err)
		result, err = start(ctx, p, o)
	}
	s.showEnd()
	if err == nil {
		s.verdicts(result)
	}
	return result, err
}

// verdict prints how all scenarios ended. It is an error if all were skipped, because that shows
// nothing.
func (t *tally) verdict() error {
	skipped := ""
	if len(t.skipped) > 0 {
		skipped = fmt.Sprintf(", %d more SKIPPED", len(t.skipped))
		if _, err := fmt.Fprintf(t.Out, "SKIPPED, since this machine cannot run them: %s: %s\n",
			strings.Join(t.skipped, ", "),
			t.why); err != nil {
			return err
		}
	}
	if t.ran == 0 && len(t.skipped) > 0 {
		return errors.New("this machine can run none of the scenarios")
	}
	if len(t.bad) > 0 {
		return fmt.Errorf("%d of %d scenarios did not end as they must: %s", len(t.bad), t.ran, strings.Join(t.bad, ", "))
	}
	_, err := fmt.Fprintf(t.Out, "%d of %d scenarios ended as they must%s\n", t.ran, t.ran, skipped)
	return err
}
