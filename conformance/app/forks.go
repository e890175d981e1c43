package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/conformance/report"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Forks runs the suite once in a world of each fork, each in a process of its own, and sets the
// reports side by side.
type Forks struct {
	// Program is the path of this program, and Args its arguments. Those that name forks and folder
	// are replaced for each run.
	Program string
	Args    []string
	Forks   []eth.Fork
	// AtOnce is how many run at a time. Mostly they wait for slots, and a clock that stands while its
	// process has work keeps their verdicts the same on a busy machine.
	AtOnce int
	// Out is the folder in which each fork's report has a folder, and matrix.html is.
	Out         string
	Notes, Said io.Writer
}

// ParseForks reads a list of forks with commas, or the word all.
func ParseForks(text string) (list []eth.Fork, err error) {
	for _, fork := range eth.Forks() {
		if text == "all" && probe.Has(fork) { // gloas has clauses of its own: name it to have them judged
			list = append(list, fork)
		}
	}
	if text == "all" {
		return list, nil
	}
	for name := range strings.SplitSeq(text, ",") {
		fork, err := eth.ParseFork(strings.TrimSpace(name))
		if err != nil {
			return nil, Mistake("forks: %v", err)
		}
		if !probe.Has(fork) {
			return nil, Mistake("forks: %s has clauses of its own: give --fork %s", fork, fork)
		}
		list = append(list, fork)
	}
	return list, nil
}

// Judge runs the suite in each fork. An outcome other than conformant is a Status.
func (f Forks) Judge(ctx context.Context) error {
	exit, err := f.Run(ctx)
	if err == nil && exit != clauses.Conformant {
		err = Status{exit, "not all forks are conformant: see matrix.html"}
	}
	return err
}

// Run runs the suite in each fork, writes the matrix, and returns the worst exit status.
func (f Forks) Run(ctx context.Context) (exit int, err error) {
	runs := make([]forkRun, len(f.Forks))
	notes := &shared{to: f.Notes}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(f.AtOnce, 1))
	for i, fork := range f.Forks {
		group.Go(func() (err error) {
			runs[i], err = f.run(ctx, fork, notes)
			return err
		})
	}
	err = group.Wait()
	var reports []*report.Report
	for i, r := range runs {
		fmt.Fprintf(f.Said, "\n== %s\n%s", f.Forks[i], r.said)
		exit = worseOf(exit, r.exit)
		reports = append(reports, r.report)
	}
	if err != nil {
		return worseOf(exit, clauses.SuiteFault), err
	}
	return exit, WriteMatrix(filepath.Join(f.Out, "matrix.html"), reports)
}

// forkRun is the outcome of one fork's run. Said is what it wrote for a person.
type forkRun struct {
	report *report.Report
	said   string
	exit   int
}

// run runs the suite in one fork.
func (f Forks) run(ctx context.Context, fork eth.Fork, notes io.Writer) (r forkRun, err error) {
	dir := filepath.Join(f.Out, fork.String())
	args := withoutFlags(f.Args, "forks", "fork", "out")
	cmd := exec.CommandContext(ctx, f.Program, append(args, "--fork", fork.String(), "--out", dir)...)
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, notes
	var ended *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &ended) {
		return r, fmt.Errorf("run fork %s: %w", fork, err)
	}
	r.said, r.exit = said.String(), cmd.ProcessState.ExitCode()
	if r.report, err = report.ReadFile(filepath.Join(dir, "report.json")); err != nil {
		return r, fmt.Errorf("fork %s: %w", fork, err)
	}
	return r, nil
}

// shared lets several processes write to one place.
type shared struct {
	mu sync.Mutex
	to io.Writer
}

// Write implements io.Writer.
func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to.Write(p)
}

// worseOf returns the status that somebody should look at first.
func worseOf(a, b int) int {
	if a == clauses.Conformant && b == clauses.Conformant {
		return clauses.Conformant
	}
	for _, status := range []int{clauses.SuiteFault, clauses.WrongUsage, clauses.Nonconformant, clauses.StaleExpected,
		clauses.Unusable} {
		if a == status || b == status {
			return status
		}
	}
	return clauses.SuiteFault // it was killed
}

// WriteMatrix writes reports side by side as one page.
func WriteMatrix(name string, reports []*report.Report) error {
	file, err := os.Create(name)
	if err != nil {
		return Mistake("write the matrix: %v", err)
	}
	return errors.Join(report.NewMatrix(reports).HTML(file), file.Close())
}

// withoutFlags returns arguments without some flags and their values.
func withoutFlags(args []string, names ...string) (kept []string) {
	for i := 0; i < len(args); i++ {
		dropped := false
		for _, name := range names {
			bare := strings.TrimLeft(args[i], "-")
			if bare == args[i] {
				break
			}
			if bare == name {
				i++ // its value
				dropped = true
				break
			}
			if strings.HasPrefix(bare, name+"=") {
				dropped = true
				break
			}
		}
		if !dropped {
			kept = append(kept, args[i])
		}
	}
	return kept
}
