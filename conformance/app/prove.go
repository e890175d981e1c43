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

	"github.com/gavel-relay/gavel/conformance/mutant"
	"github.com/gavel-relay/gavel/conformance/report"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/verdict"
)

// Proof is how mutants are run: each in a process of its own, since one process can run the suite
// once.
//
//	before a target  ── Program run --target FILE --mutant ID ──▶ proxy ──▶ Target
//	inside a service ── Mutants run --devnet --inside ID      ──▶ its own services, one of them wrong, in a world of their own
type Proof struct {
	// Program is this program.
	Program string
	// Mutants is this program, built with the mutants inside the services (gavel-lab conformance
	// overlay); without it they are left out.
	Mutants string
	// Target is right, and is made wrong.
	Target *target.Target
	// Slot is how long the slots of the world of Mutants are.
	Slot time.Duration
	// Only are ids of mutants; none is all. Interfaces bounds them as well.
	Only       []string
	Interfaces []string
	// Parallel is how many run at a time.
	Parallel int
	Out      io.Writer
}

// Proven is what came of the mutants.
type Proven struct {
	Killed   []string
	Survived []string // with the reason
	// InsideTook is what mutants inside the services took of the time.
	InsideTook time.Duration
}

// sanity are clauses that a mutant's target must still keep, so that it is wrong and not merely
// gone.
var sanity = map[string]string{"relay": "REL-GEN-01", "rpc": "RPC-ENV-18", "stream": "STR-LIV-01"}

// Prove runs all mutants. An error is the suite's own; survivors are in the result.
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
	result := &Proven{}
	if err := p.each(ctx, f, p.Parallel, slices.DeleteFunc(slices.Clone(chosen), mutant.Mutant.Inside),
		result); err != nil {
		return nil, err
	}
	// Afterwards, since worlds of their own take the processors that the others are timed on; and more
	// at a time, since each first waits for its world.
	began := time.Now()
	err = p.each(ctx, f, 2*p.Parallel, slices.DeleteFunc(chosen, func(m mutant.Mutant) bool {
		return !m.Inside()
	}), result)
	result.InsideTook = time.Since(began)
	return result, err
}

// each runs some mutants, a few at a time, and adds what came of them.
func (p Proof) each(ctx context.Context, f folder, parallel int, list []mutant.Mutant, result *Proven) error {
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(parallel, 1))
	for _, m := range list {
		group.Go(func() error {
			why, err := p.run(ctx, f, m)
			if why != "" && err == nil { // a world has its moments: a survivor must survive twice
				why, err = p.run(ctx, f, m)
			}
			if err != nil {
				return fmt.Errorf("mutant %s: %w", m.ID, err)
			}
			mu.Lock()
			defer mu.Unlock()
			word := "killed"
			if why == "" {
				result.Killed = append(result.Killed, m.ID)
			} else {
				word = "SURVIVED"
				result.Survived = append(result.Survived, m.ID+": "+why)
			}
			fmt.Fprintf(p.Out, "%-8s %-4s %s %s\n", word, m.ID, m.What, why)
			return nil
		})
	}
	return group.Wait()
}

// chosen are the mutants to run.
func (p Proof) chosen() (list []mutant.Mutant) {
	for _, m := range wrongs() {
		named := len(p.Only) == 0 || slices.Contains(p.Only, m.ID)
		able := !m.Inside() || p.Mutants != ""
		if named && able && (len(p.Interfaces) == 0 || slices.Contains(p.Interfaces, m.Iface)) && p.Target.Has(m.Iface) {
			list = append(list, m)
		}
	}
	return list
}

// run runs the suite on one mutant and says why it survived; empty if it was killed.
func (p Proof) run(ctx context.Context, f folder, m mutant.Mutant) (string, error) {
	program, how := p.Program, []string{"--target", f.target(), "--mutant", m.ID}
	if m.Inside() {
		program, how = p.Mutants, []string{"--devnet", "--slot", p.Slot.String(), "--inside", m.ID}
	}
	r, err := child(ctx, f, program, how, m.MustKill)
	if err != nil {
		return "", err
	}
	var alive []string
	for _, c := range r.Clauses {
		if slices.Contains(m.MustKill, c.ID) && !failed(c) {
			alive = append(alive, said(c))
		}
	}
	return strings.Join(alive, "; "), nil
}

// failed says whether a spec of the clause failed, whatever the verdict is called.
func failed(c report.Clause) bool {
	return slices.ContainsFunc(c.Specs, func(s report.Spec) bool { return s.Outcome == verdict.Failed })
}

// child runs the suite in a process of its own, on some clauses or all, and reads its report. How
// says what it is run on.
func child(ctx context.Context, f folder, program string, how, clauses []string) (*report.Report, error) {
	out, err := os.MkdirTemp(string(f), "report")
	if err != nil {
		return nil, fmt.Errorf("prove: %w", err)
	}
	args := append([]string{"conformance", "run", "--out", out, "--seed", "1", "--timeout", "45s"}, how...)
	for _, clause := range clauses {
		args = append(args, "--clause", clause)
	}
	command := exec.CommandContext(ctx, program, args...) // this program, or what its caller built of it
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	err = command.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return nil, fmt.Errorf("run the suite: %w", err)
	}
	r, readErr := report.ReadFile(filepath.Join(out, "report.json"))
	if readErr != nil {
		return nil, fmt.Errorf("%w: %w: %.500s", readErr, err, said.String())
	}
	return r, nil
}

// Baseline runs, on the right target, all clauses that mutants must fail, and returns those that do
// not pass: a mutant could be killed by accident there. What cannot be said at the first time is
// asked again, as with mutants; what fails has failed.
func (p Proof) Baseline(ctx context.Context) ([]string, error) {
	if len(p.chosen()) == 0 {
		return nil, Mistake("no mutant fits the selection")
	}
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
			still = append(still, said(c))
		}
		wrong = slices.Concat(wrong, again, still)
	}
	return wrong, err
}

// judge runs clauses on the right target and returns those that fail, in words, and those that came
// to no verdict.
func (p Proof) judge(ctx context.Context, f folder,
	needed []string) (wrong []string, unsaid []report.Clause, err error) {
	r, err := child(ctx, f, p.Program, []string{"--target", f.target()}, needed)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range r.Clauses {
		switch {
		case !slices.Contains(needed, c.ID):
		case failed(c):
			wrong = append(wrong, said(c))
		case c.Verdict == verdict.NotSure || c.Verdict == verdict.NotRun:
			unsaid = append(unsaid, c)
		}
	}
	return wrong, unsaid, nil
}

// said is the verdict on a clause in a line.
func said(c report.Clause) string { return fmt.Sprintf("%s is %s %s", c.ID, c.Verdict, c.Why) }

// allowed are the clauses that pass on targets that answer everything alike: they only ask for a
// status that these happen to give.
var allowed = map[string][]string{
	"200": {
		"REL-STA-01", "REL-STA-02", "REL-GEN-04", "REL-GEN-05", "REL-REG-08", "REL-DAT-25", "RPC-ENV-12", "RPC-ENV-15",
		"RPC-ENV-16", "RPC-LIM-01", "STR-LIV-07",
		"STR-LIV-08", "STR-LIV-12",
	},
	"404": {"REL-GEN-03", "REL-GEN-04", "REL-HDR-04", "REL-HDR-05", "REL-HDR-06", "RPC-ENV-15", "RPC-ENV-16", "RPC-LIM-01",
		"STR-HIS-23"},
}

// TooEasy are the clauses that pass on targets that answer everything alike, and are not known to.
func (p Proof) TooEasy(ctx context.Context) (list []string, err error) {
	for _, id := range slices.Sorted(maps.Keys(allowed)) {
		passed, err := p.dumb(ctx, id)
		if err != nil {
			return nil, err
		}
		for _, clause := range passed {
			if !slices.Contains(allowed[id], clause) {
				list = append(list, fmt.Sprintf("%s passes on a target that answers everything with %s", clause, id))
			}
		}
	}
	return list, nil
}

// dumb runs the suite on a target that answers everything with one status, and returns what passes
// there.
func (p Proof) dumb(ctx context.Context, id string) ([]string, error) {
	t := *p.Target
	t.Chain.WorldURL = "" // in grey mode nothing could be prepared, and everything would be inconclusive
	f, err := lay(&t)
	if err != nil {
		return nil, err
	}
	defer f.remove()
	r, err := child(ctx, f, p.Program, []string{"--target", f.target(), "--mutant", id}, nil)
	if err != nil {
		return nil, err
	}
	var passed []string
	for _, c := range r.Clauses {
		if c.Verdict == verdict.Pass || c.Verdict == verdict.PassLenient {
			passed = append(passed, c.ID)
		}
	}
	return passed, nil
}

// folder is where processes find their target and leave their reports.
type folder string

// lay makes a temporary folder with a target's file; its caller removes it.
func lay(t *target.Target) (folder, error) {
	dir, err := os.MkdirTemp("", "gavel-prove")
	if err != nil {
		return "", fmt.Errorf("prove: %w", err)
	}
	f := folder(dir)
	raw, err := yaml.Marshal(t)
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

func (f folder) remove() { _ = os.RemoveAll(string(f)) } // a temporary folder
