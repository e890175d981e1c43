package app

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/conformance/mutant"
	"github.com/gavel-relay/gavel/conformance/report"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/verdict"
)

// Proof is how mutants are run: each in a process of its own, since one process can run the suite once.
type Proof struct {
	// Program is this program.
	Program string
	// Target is right, and is made wrong.
	Target *target.Target
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
}

// sanity are clauses that a mutant's target must still keep, so that it is wrong and not merely gone.
var sanity = map[string]string{"relay": "REL-GEN-01", "rpc": "RPC-ENV-18", "stream": "STR-LIV-01"}

// Prove runs all mutants. An error is the suite's own; survivors are in the result.
func (p Proof) Prove(ctx context.Context) (*Proven, error) {
	dir, err := os.MkdirTemp("", "gavel-prove")
	if err != nil {
		return nil, fmt.Errorf("prove: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	file := filepath.Join(dir, "target.yaml")
	raw, err := yaml.Marshal(p.Target)
	if err == nil {
		err = os.WriteFile(file, raw, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("prove: %w", err)
	}
	chosen := p.chosen()
	if len(chosen) == 0 {
		return nil, Mistake("no mutant fits the selection")
	}
	result := &Proven{}
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(p.Parallel, 1))
	for _, m := range chosen {
		group.Go(func() error {
			why, err := p.run(ctx, m, file, filepath.Join(dir, m.ID))
			if why != "" && err == nil { // a world has its moments: a survivor must survive twice
				why, err = p.run(ctx, m, file, filepath.Join(dir, m.ID))
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
	if err := group.Wait(); err != nil {
		return nil, err
	}
	return result, nil
}

func (p Proof) chosen() (list []mutant.Mutant) {
	for _, m := range mutant.All() {
		named := len(p.Only) == 0 || slices.Contains(p.Only, m.ID)
		if named && (len(p.Interfaces) == 0 || slices.Contains(p.Interfaces, m.Iface)) && p.Target.Has(m.Iface) {
			list = append(list, m)
		}
	}
	return list
}

// run runs the suite on one mutant and says why it survived; empty if it was killed.
func (p Proof) run(ctx context.Context, m mutant.Mutant, file, out string) (string, error) {
	r, err := p.child(ctx, file, out, m.ID, m.MustKill)
	if err != nil {
		return "", err
	}
	var alive []string
	for _, c := range r.Clauses {
		if slices.Contains(m.MustKill, c.ID) && !failed(c) {
			alive = append(alive, fmt.Sprintf("%s is %s %s", c.ID, c.Verdict, c.Why))
		}
	}
	return strings.Join(alive, "; "), nil
}

// failed says whether a spec of the clause failed, whatever the verdict is called.
func failed(c report.Clause) bool {
	return slices.ContainsFunc(c.Specs, func(s report.Spec) bool { return s.Outcome == verdict.Failed })
}

// child runs this program on a mutant and reads its report.
func (p Proof) child(ctx context.Context, file, out, id string, clauses []string) (*report.Report, error) {
	args := []string{"conformance", "run", "--target", file, "--out", out, "--seed", "1", "--timeout", "45s"}
	for _, clause := range clauses {
		args = append(args, "--clause", clause)
	}
	if id != "" {
		args = append(args, "--mutant", id)
	}
	command := exec.CommandContext(ctx, p.Program, args...) //nolint:gosec // this program
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	err := command.Run()
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

// Baseline runs, on the right target, all clauses that mutants must fail, and returns those that do not pass: a mutant could be killed by accident there.
func (p Proof) Baseline(ctx context.Context) ([]string, error) {
	if len(p.chosen()) == 0 {
		return nil, Mistake("no mutant fits the selection")
	}
	dir, err := os.MkdirTemp("", "gavel-prove")
	if err != nil {
		return nil, fmt.Errorf("prove: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	file := filepath.Join(dir, "target.yaml")
	raw, err := yaml.Marshal(p.Target)
	if err == nil {
		err = os.WriteFile(file, raw, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("prove: %w", err)
	}
	var needed []string
	for _, m := range p.chosen() {
		needed = append(needed, m.MustKill...)
		needed = append(needed, sanity[m.Iface])
	}
	slices.Sort(needed)
	r, err := p.child(ctx, file, filepath.Join(dir, "out"), "", slices.Compact(needed))
	if err != nil {
		return nil, err
	}
	var wrong []string
	for _, c := range r.Clauses {
		if slices.Contains(needed, c.ID) && (failed(c) || c.Verdict == verdict.NotSure || c.Verdict == verdict.NotRun) {
			wrong = append(wrong, fmt.Sprintf("%s is %s %s", c.ID, c.Verdict, c.Why))
		}
	}
	return wrong, nil
}

// Dumb runs the suite on a target that answers everything with one status, and returns what passes there.
func (p Proof) Dumb(ctx context.Context, id string) ([]string, error) {
	dir, err := os.MkdirTemp("", "gavel-prove")
	if err != nil {
		return nil, fmt.Errorf("prove: %w", err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // a temporary folder
	file := filepath.Join(dir, "target.yaml")
	t := *p.Target
	t.Chain.WorldURL = "" // in grey mode nothing could be prepared, and everything would be inconclusive
	raw, err := yaml.Marshal(&t)
	if err == nil {
		err = os.WriteFile(file, raw, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("prove: %w", err)
	}
	r, err := p.child(ctx, file, filepath.Join(dir, "out"), id, nil)
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
