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

	"github.com/gavel-relay/gavel/conformance/report"
	"github.com/gavel-relay/gavel/conformance/verdict"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Forks runs the suite once in a world of each fork, each in a process of its own, and sets the
// reports side by side.
type Forks struct {
	// Program is the path of this program, and Args the arguments of one run, without fork and folder.
	Program string
	Args    []string
	Forks   []eth.Fork
	// Out is the folder in which each fork's report has a folder, and matrix.html is.
	Out         string
	Notes, Said io.Writer
}

// ParseForks reads a list of forks with commas, or the word all.
func ParseForks(text string) (list []eth.Fork, err error) {
	for _, fork := range eth.Forks() {
		of := world.Config{Fork: fork}
		if text == "all" && of.Check() == nil {
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
		of := world.Config{Fork: fork}
		if err := of.Check(); err != nil {
			return nil, Mistake("forks: %v", err)
		}
		list = append(list, fork)
	}
	return list, nil
}

// Run runs the suite in each fork, writes the matrix, and returns the worst exit status.
func (f Forks) Run(ctx context.Context) (exit int, err error) {
	var reports []*report.Report
	for _, fork := range f.Forks {
		dir := filepath.Join(f.Out, fork.String())
		fmt.Fprintf(f.Said, "\n== %s\n", fork)
		cmd := exec.CommandContext(ctx, f.Program, append(f.Args, "--fork", fork.String(), "--out", dir)...)
		cmd.Stdout, cmd.Stderr = f.Said, f.Notes
		var ended *exec.ExitError
		if err := cmd.Run(); err != nil && !errors.As(err, &ended) {
			return verdict.SuiteFault, fmt.Errorf("run fork %s: %w", fork, err)
		}
		exit = worse(exit, cmd.ProcessState.ExitCode())
		r, err := report.ReadFile(filepath.Join(dir, "report.json"))
		if err != nil {
			return worse(exit, verdict.SuiteFault), fmt.Errorf("fork %s: %w", fork, err)
		}
		reports = append(reports, r)
	}
	return exit, WriteMatrix(filepath.Join(f.Out, "matrix.html"), reports)
}

// worse returns the status that somebody should look at first.
func worse(a, b int) int {
	if a == verdict.Conformant && b == verdict.Conformant {
		return verdict.Conformant
	}
	for _, status := range []int{verdict.SuiteFault, verdict.WrongUsage, verdict.Nonconformant, verdict.StaleExpected,
		verdict.Unusable} {
		if a == status || b == status {
			return status
		}
	}
	return verdict.SuiteFault // it was killed
}

// WriteMatrix writes reports side by side as one page.
func WriteMatrix(name string, reports []*report.Report) error {
	file, err := os.Create(name)
	if err != nil {
		return Mistake("write the matrix: %v", err)
	}
	return errors.Join(report.NewMatrix(reports).HTML(file), file.Close())
}
