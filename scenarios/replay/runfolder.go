package replay

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gavel-relay/gavel/scenarios"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// The files of a run folder that are read.
const (
	factsName = "facts.ndjson"
	planName  = "plan.yaml"
)

var errNoRun = errors.New("it is a folder without facts.ndjson: give a run folder, or the files of the folder")

// runFacts returns the facts of a run folder, and for instances of relays the relay that they are
// of. What is no folder is returned as it is.
func runFacts(path string) (file string, instances map[string]string, err error) {
	info, err := os.Stat(path)
	if err != nil || !info.IsDir() {
		return path, nil, nil // opening it tells what is wrong
	}
	file = filepath.Join(path, factsName)
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return path, nil, errNoRun
	}
	plan, err := planOf(path)
	if err != nil || plan == nil {
		return file, nil, err
	}
	instances = map[string]string{}
	for _, one := range plan.Relays {
		instances[one.Name] = plan.RelayOf(one.Name)
	}
	return file, instances, nil
}

// planOf reads the plan of a run folder, nil if there is none.
func planOf(folder string) (*scenarios.Plan, error) {
	text, err := os.ReadFile(filepath.Join(folder, planName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the plan of the run: %w", err)
	}
	plan, err := scenarios.Parse(planName, text)
	if err != nil {
		return nil, fmt.Errorf("read the plan of the run: %w", err)
	}
	return plan, nil
}

var errOtherRun = errors.New("each run has a network of its own: import it into a data set of its own")

// RunNetwork is the network of the run folders among what is to be imported, whose slots began when
// the run did. It returns false if there is none.
func RunNetwork(paths []string) (network dataset.Network, found bool, err error) {
	for _, path := range paths {
		one, isRun, err := runNetwork(path)
		switch {
		case err != nil:
			return network, false, fmt.Errorf("find the network of %s: %w", path, err)
		case isRun && found && one != network:
			return network, false, fmt.Errorf("import %s beside another run: %w", path, errOtherRun)
		case isRun:
			network, found = one, true
		}
	}
	return network, found, nil
}

func runNetwork(path string) (network dataset.Network, found bool, err error) {
	file, _, err := runFacts(path)
	if err != nil {
		return network, false, nil // the import tells it
	}
	var slot time.Duration
	if file != path {
		if plan, err := planOf(path); err == nil && plan != nil {
			slot = plan.Slot
		}
	}
	in, err := os.Open(file)
	if err != nil {
		return network, false, nil // this, too
	}
	defer in.Close()
	var text io.Reader
	format, text, err := plain(in)
	if err != nil || format != &dataset.RunFacts {
		return network, false, nil
	}
	network, err = dataset.RunNetwork(text, slot)
	return network, true, err
}
