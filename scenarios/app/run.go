package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"time"

	"github.com/gavel-relay/gavel/scenarios"
)

// Options say how scenarios are run.
type Options struct {
	// Dir is the folder in which run folders are made.
	Dir string
	// Variants runs all variants of a plan, and not only the first.
	Variants bool
	// Prove runs the plan once more without what it is about (scenarios.Without). The scenario is good
	// only if an expectation is not met then.
	Prove bool
	// Tell receives each fact when it is recorded. Began is called before each run; variant is
	// empty if nothing varies. Both may be nil.
	Tell  func(scenarios.Record)
	Began func(p *scenarios.Plan, variant string, without bool)
	Log   *slog.Logger
	// Program is the command that starts a service of the lab, a path with its arguments. It must
	// call Serve.
	Program []string
}

// Result is the outcome of a scenario.
type Result struct {
	Name string `json:"name"`
	// Variants are the runs, in the plan's order; a plan that does not vary has one run.
	Variants []VariantResult `json:"variants"`
	// Proof are the runs without what the plan is about; nil if they were not asked for.
	Proof []VariantResult `json:"proof,omitempty"`
	// Skipped says why this computer cannot run the scenario; then nothing ran.
	Skipped string `json:"skipped,omitempty"`
	// Wall is how long all runs took.
	Wall time.Duration `json:"wall_ns"`
}

// VariantResult is one run and its verdicts.
type VariantResult struct {
	Variant  string              `json:"variant,omitempty"`
	Dir      string              `json:"dir"`
	Verdicts []scenarios.Verdict `json:"verdicts"`
	facts    []scenarios.Record
}

// last is the verdicts of the run that was shown last: of the proof, if there was one.
func (r Result) last() []scenarios.Verdict {
	all := slices.Concat(r.Variants, r.Proof)
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1].Verdicts
}

// OK says whether every run ended as it must, and the proof, if there is one, did not. A skipped
// scenario is not OK.
func (r Result) OK() bool {
	for _, one := range r.Variants {
		if !scenarios.AllMet(one.Verdicts) {
			return false
		}
	}
	return len(r.Variants) > 0 && (r.Proof == nil || r.Breaks())
}

// Breaks says whether an expectation was not met in the proof.
func (r Result) Breaks() bool {
	for _, one := range r.Proof {
		if !scenarios.AllMet(one.Verdicts) {
			return true
		}
	}
	return false
}

// Run runs a scenario. Its error means that something could not be started or failed; an
// expectation that was not met is in the result instead.
func Run(ctx context.Context, p *scenarios.Plan, o Options) (Result, error) {
	began, result := time.Now(), Result{Name: p.Name}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if p.BreaksDisk("") {
		if err := program(o.Program).canBreakDisks(); err != nil {
			result.Skipped = err.Error()
			return result, nil
		}
	}
	plans, err := chosen(p, o.Variants)
	if err != nil {
		return result, err
	}
	if result.Variants, err = runAll(ctx, plans, o, ""); err != nil {
		return result, err
	}
	if o.Prove {
		if err := prove(ctx, plans, o, &result); err != nil {
			return result, err
		}
	}
	result.Wall = time.Since(began)
	return result, nil
}

// chosen returns the plans to run.
func chosen(p *scenarios.Plan, all bool) ([]*scenarios.Plan, error) {
	if !all || len(p.Variants()) == 0 {
		return []*scenarios.Plan{p}, nil
	}
	var plans []*scenarios.Plan
	for _, choice := range p.Variants() {
		one, err := p.With(choice)
		if err != nil {
			return nil, err
		}
		plans = append(plans, one)
	}
	return plans, nil
}

func runsOf(variants []VariantResult) scenarios.Runs {
	runs := scenarios.Runs{}
	for _, one := range variants {
		runs[one.Variant] = one.facts
	}
	return runs
}

// runAll runs the variants of a plan, and then judges them, because a variant's expectations may
// refer to other variants.
func runAll(ctx context.Context, plans []*scenarios.Plan, o Options, suffix string) ([]VariantResult, error) {
	var all []VariantResult
	for _, one := range plans {
		ran, err := runOne(ctx, one, o, suffix)
		if err != nil {
			return all, err
		}
		all = append(all, ran)
	}
	runs := runsOf(all)
	for i, one := range plans {
		all[i].Verdicts = one.Judge(all[i].facts, runs)
		if err := writeJSON(all[i].Dir, "verdicts.json", all[i].Verdicts); err != nil {
			return all, err
		}
	}
	return all, nil
}

// prove runs all variants without what the scenario is about.
func prove(ctx context.Context, plans []*scenarios.Plan, o Options, result *Result) error {
	var without []*scenarios.Plan
	for _, one := range plans {
		if !one.HasKey() {
			return fmt.Errorf("%s: nothing is marked key, so there is nothing to prove: give key: true to a fault or a "+
				"strategy, or write without", one.Name)
		}
		bare, err := one.Without()
		if err != nil {
			return err
		}
		without = append(without, bare)
	}
	var err error
	result.Proof, err = runAll(ctx, without, o, ".without")
	return err
}

// runOne runs one variant in a folder of its own.
func runOne(ctx context.Context, p *scenarios.Plan, o Options, suffix string) (ran VariantResult, err error) {
	if o.Began != nil {
		o.Began(p, p.Chosen.String(), suffix != "")
	}
	ran.Variant = p.Chosen.String()
	if ran.Dir, err = newFolder(o.Dir, p, suffix); err != nil {
		return ran, err
	}
	if err := writeJSON(ran.Dir, "run.json", describe(p)); err != nil {
		return ran, err
	}
	if err := os.WriteFile(filepath.Join(ran.Dir, "plan.yaml"), []byte(p.Text()), 0o600); err != nil {
		return ran, fmt.Errorf("write run folder: %w", err)
	}
	file, err := os.Create(filepath.Join(ran.Dir, "facts.ndjson"))
	if err != nil {
		return ran, fmt.Errorf("write run folder: %w", err)
	}
	l := &planRun{
		plan: p, program: o.Program, log: o.Log, links: newLinks(p), clocks: map[string]*skewed{},
		mends: map[int]func() error{},
	}
	if err := l.openNetwork(); err != nil {
		return ran, errors.Join(fmt.Errorf("%s: %w", p.Name, err), file.Close())
	}
	l.book = &book{
		spec: l.network.Spec, now: l.clock.Now, began: time.Now(), names: l.network.BuilderNames(), tell: o.Tell, out: file,
		relayOf: p.RelayOf,
	}
	err = l.open(ran.Dir)
	if err == nil {
		err = l.run(ctx)
	}
	err = errors.Join(err, l.close(), file.Close())
	if err == nil && ctx.Err() != nil {
		err = ctx.Err()
	}
	if err != nil {
		return ran, fmt.Errorf("%s: %w", p.Name, err)
	}
	ran.facts, err = l.book.all()
	return ran, err
}

// newFolder makes a new run folder.
func newFolder(dir string, p *scenarios.Plan, suffix string) (string, error) {
	name := p.Name
	if choice := p.Chosen.String(); choice != "" {
		name += "." + choice
	}
	for i := 1; ; i++ {
		path := filepath.Join(dir, name+suffix+"."+strconv.Itoa(i))
		if err := os.MkdirAll(dir, 0o750); err != nil {
			return "", fmt.Errorf("make run folder: %w", err)
		}
		err := os.Mkdir(path, 0o750)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("make run folder: %w", err)
		}
		return path, nil
	}
}

// description is run.json: what is needed besides the plan to run it again.
type description struct {
	Name     string            `json:"name"`
	Variant  string            `json:"variant,omitempty"`
	Seed     uint64            `json:"seed"`
	Began    time.Time         `json:"began"`
	Go       string            `json:"go"`
	System   string            `json:"system"`
	Cores    int               `json:"cores"`
	Versions map[string]string `json:"versions"`
}

func describe(p *scenarios.Plan) description {
	d := description{
		Name: p.Name, Variant: p.Chosen.String(), Seed: p.Seed, Began: time.Now(), Go: runtime.Version(),
		System: runtime.GOOS + "/" + runtime.GOARCH,
		Cores:  runtime.NumCPU(), Versions: map[string]string{},
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return d
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" || setting.Key == "vcs.modified" {
			d.Versions[setting.Key] = setting.Value
		}
	}
	for _, module := range info.Deps {
		if module.Path == "github.com/ethereum/go-ethereum" || module.Path == "github.com/attestantio/go-eth2-client" {
			d.Versions[module.Path] = module.Version
		}
	}
	return d
}

func writeJSON(dir, name string, value any) error {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if err := os.WriteFile(filepath.Join(dir, name), out.Bytes(), 0o600); err != nil {
		return fmt.Errorf("write run folder: %w", err)
	}
	return nil
}
