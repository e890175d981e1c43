package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/goccy/go-yaml"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/mutant"
	"github.com/gavel-relay/gavel/conformance/report"
	"github.com/gavel-relay/gavel/conformance/target"
)

// Proof says how mutants are run. Each runs in a process of its own, because a process can run the
// suite only once.
//
//	before a target  ── Program run --target FILE --mutant ID ──▶ proxy ──▶ Target
//	inside a service ── Mutants run --devnet --inside ID      ──▶ its own services, one of them wrong, in a world of their own
type Proof struct {
	// Program is the path of this program.
	Program string
	// Mutants is the path of this program, built with the mutants inside the services (gavel-lab
	// conformance overlay). If it is empty, those mutants are left out.
	Mutants string
	// Target is a correct target, which the mutants make wrong.
	Target *target.Target
	// Slot is the duration of a slot in the worlds that Mutants starts.
	Slot time.Duration
	// Only are ids of the mutants to run, and Interfaces the interfaces whose mutants to run. Both
	// must fit; empty means all.
	Only       []string
	Interfaces []string
	// Shard is which part of them to run, so that each of several runs takes a part of the time.
	Shard Shard
	// Parallel is how many mutants run at a time; twice as many of those inside services do.
	Parallel int
	Out      io.Writer
}

// Proven is the result of running mutants.
type Proven struct {
	// Wrong are the clauses that the correct target does not pass, in words. If there are any, nothing
	// is proven.
	Wrong    []string
	Killed   []string
	Survived []string // with the reason
	// Unnoticed has, for each clause whose specs did not fail on a mutant that breaks it, these
	// mutants.
	Unnoticed map[string][]string
	// TooEasy are the clauses that pass on a target that answers everything with one status, in words.
	// So are entries of allowed whose clauses no longer do. They are looked for only if no mutants are
	// named.
	TooEasy []string
	// InsideTook is how long the mutants inside the services ran, all together.
	InsideTook time.Duration
}

// sanity has one clause of each interface that Baseline judges in addition, so that a target that
// does not work at all is noticed.
var sanity = map[string]string{"relay": "REL-GEN-01", "rpc": "RPC-ENV-18", "stream": "STR-LIV-01",
	"sidecar": "SID-STA-01", "builder": "BLD-SUB-01", "consensus": "CON-LOC-01"}

// Prove judges the correct target and targets that answer all alike, while it runs the chosen
// mutants. The error is the caller's mistake or the suite's fault; survivors are in the result.
func (p Proof) Prove(ctx context.Context) (*Proven, error) {
	f, err := lay(p.Target)
	if err != nil {
		return nil, err
	}
	defer f.remove()
	chosen := p.chosen()
	if len(chosen) == 0 {
		return nil, Mistake("no mutant fits the selection")
	}
	result := &Proven{Unnoticed: map[string][]string{}}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() (err error) {
		result.Wrong, err = p.Baseline(ctx)
		return err
	})
	group.Go(func() (err error) {
		if len(p.Only) == 0 {
			result.TooEasy, err = p.tooEasy(ctx, f)
		}
		return err
	})
	group.Go(func() error { return p.mutants(ctx, f, chosen, result) })
	return result, group.Wait()
}

// mutants runs the chosen mutants, and adds their outcomes to the result. Those inside services run
// afterwards, because their worlds would take processor time from the others, which are judged by
// the wall clock.
func (p Proof) mutants(ctx context.Context, f folder, chosen []mutant.Mutant, result *Proven) error {
	before := slices.DeleteFunc(slices.Clone(chosen), mutant.Mutant.Inside)
	if err := p.each(ctx, f, p.Parallel, before, result); err != nil {
		return err
	}
	began := time.Now()
	err := p.each(ctx, f, p.Parallel, slices.DeleteFunc(chosen, func(m mutant.Mutant) bool {
		return !m.Inside()
	}), result)
	result.InsideTook = time.Since(began)
	return err
}

// mostAgain is how often a mutant that survives is tried once more.
const mostAgain = 2

// each runs the mutants of the list, at most parallel at a time, and adds their outcomes to the
// result.
func (p Proof) each(ctx context.Context, f folder, parallel int, list []mutant.Mutant, result *Proven) error {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(parallel, 1))
	for _, m := range list {
		group.Go(func() error {
			alive, err := p.run(ctx, f, m)
			for range mostAgain { // on a busy machine it may survive by accident
				if len(alive) == 0 || err != nil {
					break
				}
				alive, err = p.run(ctx, f, m)
			}
			byModel := ""
			if err == nil && len(alive) > 0 {
				alive, byModel, err = p.askModels(ctx, f, m, alive)
			}
			if err != nil {
				return fmt.Errorf("mutant %s: %w", m.ID, err)
			}
			mu.Lock()
			defer mu.Unlock()
			word, reasons := "killed", []string{}
			for _, c := range alive {
				result.Unnoticed[c.ID] = append(result.Unnoticed[c.ID], m.ID)
				reasons = append(reasons, describeVerdict(c))
			}
			why := strings.Join(reasons, "; ")
			if why == "" {
				result.Killed = append(result.Killed, m.ID)
				why = byModel
			} else {
				word = "SURVIVED"
				result.Survived = append(result.Survived, m.ID+": "+why)
			}
			fmt.Fprintf(p.Out, "%-8s %s: %s %s\n", word, m.ID, m.What, why)
			return nil
		})
	}
	return group.Wait()
}

// askModels asks the models of the interface about a mutant that has survived the clauses that it
// breaks. A clause that the failure of a model names is noticed. Models are asked about survivors
// only, because their plans take longer than the specs of single clauses.
func (p Proof) askModels(ctx context.Context, f folder, m mutant.Mutant,
	alive []report.Clause) (still []report.Clause, by string, err error) {
	catalogue, err := clauses.Load()
	if err != nil {
		return nil, "", fmt.Errorf("the catalogue is wrong: %w", err)
	}
	var models []string
	for _, c := range catalogue.Clauses {
		if c.IsModel() && c.Interface() == m.Iface && !slices.Contains(m.MustKill, c.ID) {
			models = append(models, c.ID)
		}
	}
	if len(models) == 0 {
		return alive, "", nil
	}
	program, how := p.started(f, m)
	r, err := child(ctx, f, program, how, models)
	if err != nil {
		return nil, "", err
	}
	for _, model := range r.Clauses {
		if !slices.Contains(models, model.ID) || !hasFailed(model) {
			continue
		}
		by = "noticed by " + model.ID
		alive = slices.DeleteFunc(alive, func(c report.Clause) bool {
			return slices.ContainsFunc(model.Specs, func(s report.Spec) bool { return strings.Contains(s.Message, c.ID) })
		})
	}
	return alive, by, nil
}

// chosen returns the mutants to run.
func (p Proof) chosen() (list []mutant.Mutant) {
	for _, m := range listMutants() {
		named := len(p.Only) == 0 || slices.Contains(p.Only, m.ID)
		able := !m.Inside() || p.Mutants != ""
		if named && able && (len(p.Interfaces) == 0 || slices.Contains(p.Interfaces, m.Iface)) && p.Target.Has(m.Iface) {
			list = append(list, m)
		}
	}
	return ofShard(p.Shard, list)
}

// run runs the suite on one mutant and returns the clauses that it survived. The list is empty if
// every clause that must fail did fail.
func (p Proof) run(ctx context.Context, f folder, m mutant.Mutant) (alive []report.Clause, err error) {
	program, how := p.started(f, m)
	r, err := child(ctx, f, program, how, m.MustKill)
	if err != nil {
		return nil, err
	}
	for _, c := range r.Clauses {
		if slices.Contains(m.MustKill, c.ID) && !hasFailed(c) {
			alive = append(alive, c)
		}
	}
	return alive, nil
}

// started is the program that judges a mutant, and the flags that choose the target.
func (p Proof) started(f folder, m mutant.Mutant) (program string, how []string) {
	program, how = p.Program, []string{"--target", f.target(), "--mutant", m.ID}
	switch {
	case m.Iface == "sidecar" && m.Inside():
		program, how = p.Mutants, []string{"--sidecar", OwnSidecar, "--inside", m.ID}
	case m.Iface == "sidecar":
		how = []string{"--sidecar", OwnSidecar, "--mutant", m.ID}
	case m.Iface == "consensus":
		program, how = p.Mutants, []string{"--consensus", OwnConsensus, "--inside", m.ID}
	case m.Iface == "builder":
		how = []string{"--builder", OwnBuilder, "--mutant", m.ID}
	case m.Inside():
		program, how = p.Mutants, append(p.devnet(m.MustKill), "--inside", m.ID)
	case isAtFork(m.MustKill), isOfGloas(m.MustKill):
		how = append(p.devnet(m.MustKill), "--mutant", m.ID)
	}
	return program, how
}

// devnet returns the flags of a run with a world of its own, which has a fork in its middle if
// clauses are about that.
func (p Proof) devnet(clauses []string) []string {
	how := []string{"--devnet", "--slot", p.Slot.String()}
	switch {
	case isOfGloas(clauses) && isAtFork(clauses):
		how = append(how, "--fork", "fulu", "--fork-at", "gloas@3")
	case isOfGloas(clauses):
		how = append(how, "--fork", "gloas")
	case isAtFork(clauses):
		how = append(how, "--fork", "electra", "--fork-at", "fulu@3")
	}
	return how
}

// isAtFork says whether clauses are judged in a world with a fork in its middle, and nowhere else.
func isAtFork(clauses []string) bool {
	return slices.ContainsFunc(clauses, func(id string) bool { return strings.Contains(id, "-FRK-") })
}

// isOfGloas says whether clauses are judged in a world of gloas, and nowhere else.
func isOfGloas(clauses []string) bool {
	return slices.ContainsFunc(clauses, func(id string) bool { return strings.HasPrefix(id, "GLO-") })
}

// hasFailed says whether a spec of the clause failed, whatever the verdict on the clause is.
func hasFailed(c report.Clause) bool {
	return slices.ContainsFunc(c.Specs, func(s report.Spec) bool { return s.Outcome == clauses.Failed })
}

// child runs the suite in a process of its own, on the given clauses or on all, and reads its
// report. How are the flags that choose the target.
func child(ctx context.Context, f folder, program string, how, clauses []string) (*report.Report, error) {
	out, err := os.MkdirTemp(string(f), "report")
	if err != nil {
		return nil, fmt.Errorf("prove: %w", err)
	}
	args := append([]string{"conformance", "run", "--out", out, "--seed", "1", "--timeout", "45s"}, how...)
	for _, clause := range clauses {
		args = append(args, "--clause", clause)
	}
	command := exec.CommandContext(ctx, program, args...) // this program, or one that the caller built
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	err = command.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return nil, fmt.Errorf("run the suite: %w", err)
	}
	r, readErr := report.ReadFile(filepath.Join(out, "report.json"))
	if readErr != nil {
		return nil, fmt.Errorf("%w: %w", readErr, errors.Join(err, fmt.Errorf("the suite said: %.500s", said.String())))
	}
	return r, nil
}

// Baseline judges the correct target by all clauses that must fail on mutants, and returns the
// clauses that do not pass: on those a mutant could be killed by accident. A clause that is
// inconclusive is judged a second time; a clause that fails is not. The correct target has a world
// of its own, because some specs want nobody else's orders in it.
func (p Proof) Baseline(ctx context.Context) ([]string, error) {
	f, err := lay(p.Target)
	if err != nil {
		return nil, err
	}
	defer f.remove()
	var needed []string
	for _, m := range p.chosen() {
		needed = append(needed, m.MustKill...)
		needed = append(needed, sanity[m.Iface])
	}
	slices.Sort(needed)
	wrong, unsaid, err := p.judge(ctx, f, slices.Compact(needed))
	if err == nil && len(unsaid) > 0 {
		var again, still []string
		for _, c := range unsaid {
			again = append(again, c.ID)
		}
		again, unsaid, err = p.judge(ctx, f, again)
		for _, c := range unsaid {
			still = append(still, describeVerdict(c))
		}
		wrong = slices.Concat(wrong, again, still)
	}
	return wrong, err
}

// judge runs clauses on the correct target. It returns those that fail, in words, and those that
// are inconclusive or did not run.
func (p Proof) judge(ctx context.Context, f folder,
	needed []string) (wrong []string, unsaid []report.Clause, err error) {
	parts := map[string][]string{} // by the flags of their world
	for _, id := range needed {
		world := strings.Join(p.devnet([]string{id}), " ")
		parts[world] = append(parts[world], id)
	}
	for _, part := range parts {
		r, err := child(ctx, f, p.Program, p.devnet(part), part)
		if err != nil {
			return nil, nil, err
		}
		for _, c := range r.Clauses {
			switch {
			case !slices.Contains(part, c.ID):
			case hasFailed(c):
				wrong = append(wrong, describeVerdict(c))
			case c.Verdict == clauses.NotSure || c.Verdict == clauses.NotRun:
				unsaid = append(unsaid, c)
			}
		}
	}
	return wrong, unsaid, nil
}

// describeVerdict describes the verdict on a clause in one line.
func describeVerdict(c report.Clause) string {
	return fmt.Sprintf("%s is %s %s", c.ID, c.Verdict, c.Why)
}

// allowed are the clauses that may pass on targets that answer everything with one status, by that
// status, and why (docs/conformance.md, How the suite is proven).
var allowed = map[string]map[string]string{
	"200": {
		"REL-STA-01": "200 to GET of the status is all that it asks for",
		"REL-STA-02": "200 without a body to GET of the status is all that it asks for",
	},
	"404": {}, // no clause
}

// tooEasy returns the clauses that pass on a target that answers everything with one status,
// although allowed does not list them, and those that it lists and that do not pass there.
func (p Proof) tooEasy(ctx context.Context, f folder) (list []string, err error) {
	for _, id := range slices.Sorted(maps.Keys(allowed)) {
		passed, err := p.dumb(ctx, f, id)
		if err != nil {
			return nil, err
		}
		list = append(list, describeDifference(passed, id)...)
	}
	return list, nil
}

// describeDifference says in words how the clauses that pass on a target of one status differ from
// those that allowed lists for it.
func describeDifference(passed []string, status string) (list []string) {
	for _, clause := range passed {
		if _, may := allowed[status][clause]; !may {
			list = append(list, fmt.Sprintf("%s passes on a target that answers everything with %s", clause, status))
		}
	}
	for _, clause := range slices.Sorted(maps.Keys(allowed[status])) {
		if !slices.Contains(passed, clause) {
			list = append(list, fmt.Sprintf("%s no longer passes on a target that answers everything with %s: "+
				"take it out of allowed", clause, status))
		}
	}
	return list
}

// dumb runs the suite on a target that answers everything with one status, and returns the ids of
// the clauses that pass. The target has a world, so that clauses of all modes are judged, and goes
// by its own clock, because most specs wait in vain.
func (p Proof) dumb(ctx context.Context, f folder, id string) ([]string, error) {
	r, err := child(ctx, f, p.Program, []string{"--devnet", "--slot", p.Slot.String(), "--mutant", id}, nil)
	if err != nil {
		return nil, err
	}
	var passed []string
	for _, c := range r.Clauses {
		if c.Verdict == clauses.Pass || c.Verdict == clauses.PassLenient {
			passed = append(passed, c.ID)
		}
	}
	return passed, nil
}

// folder is the path of a temporary folder, in which processes find their target and leave their
// reports.
type folder string

// lay makes a temporary folder with a target's file. The caller must remove it.
func lay(t *target.Target) (folder, error) {
	dir, err := os.MkdirTemp("", "gavel-prove")
	if err != nil {
		return "", fmt.Errorf("prove: %w", err)
	}
	f := folder(dir)
	served := *t
	served.Builder = nil // our own builder needs a world in its process
	raw, err := yaml.Marshal(served)
	if err == nil {
		err = os.WriteFile(f.target(), raw, 0o600)
	}
	if err != nil {
		f.remove()
		return "", fmt.Errorf("prove: %w", err)
	}
	return f, nil
}

func (f folder) target() string { return filepath.Join(string(f), "target.yaml") }

func (f folder) remove() { _ = os.RemoveAll(string(f)) } // what cannot be removed is in the system's temporary folder
