package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios"
)

// List writes the names of the library's scenarios, each with the first sentence of why it is told.
func List(out io.Writer) error {
	for _, name := range scenarios.Names() {
		p, err := scenarios.Open(name)
		if err != nil {
			return err
		}
		sentence, _, _ := strings.Cut(strings.Join(strings.Fields(p.Why), " "), ". ")
		if _, err := fmt.Fprintf(out, "%-28s %s.\n", name, strings.TrimSuffix(sentence, ".")); err != nil {
			return err
		}
	}
	return nil
}

// OpenPlans reads the scenarios with these names: a file if the name looks like a path, otherwise a
// scenario of the library. Its error is the caller's mistake.
func OpenPlans(names []string) ([]*scenarios.Plan, error) {
	if len(names) == 0 {
		return nil, errors.New("name a scenario or a file: gavel-lab scenario list shows the library")
	}
	var plans []*scenarios.Plan
	for _, name := range names {
		p, err := openPlan(name)
		if err != nil {
			return nil, err
		}
		plans = append(plans, p)
	}
	return plans, nil
}

func openPlan(name string) (*scenarios.Plan, error) {
	if !strings.ContainsAny(name, "./") {
		return scenarios.Open(name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	return scenarios.Parse(name, text)
}

// Replay runs the auctions of a run folder again, and writes every change of a leading bid as a
// line of JSON.
func Replay(out io.Writer, folder string) error {
	file, err := os.Open(filepath.Join(folder, "facts.ndjson"))
	if err != nil {
		return run.Usage(fmt.Errorf("read the run: %w: give the folder of a run", err))
	}
	defer file.Close()
	facts, err := scenarios.ReadRecords(file)
	if err != nil {
		return err
	}
	tops, err := scenarios.Replay(facts)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	for _, top := range tops {
		if err := encoder.Encode(top); err != nil {
			return fmt.Errorf("write a leading bid: %w", err)
		}
	}
	return nil
}
