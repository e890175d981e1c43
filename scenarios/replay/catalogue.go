package replay

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/gofrs/flock"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// catalogue is dataset.json.
type catalogue struct {
	SchemaVersion int             `json:"schema_version"`
	Network       dataset.Network `json:"network"`
	// Commits counts the commits, so that the files of each have names of their own.
	Commits int      `json:"commits"`
	Inputs  []*Input `json:"inputs"`
	// Renames are the last commit's: from a new file to its place, both below the data set's folder.
	Renames [][2]string `json:"renames,omitempty"`

	dir  string
	lock *flock.Flock
	// step is called between two changes of the disk; tests end the process in it. Files of several
	// hours are written at a time, so mu guards it.
	mu   sync.Mutex
	step func()
}

func (c *catalogue) changed() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.step()
}

// Input is an imported file, or an entry of one.
type Input struct {
	// ID is the beginning of the SHA-256 of the file, and for an entry of a zip archive its name.
	ID string `json:"id"`
	// Name is the name that the file had when it was imported first.
	Name   string `json:"name"`
	Format string `json:"format"`
	// Relay is the relay that the rows are of if the file does not say.
	Relay string `json:"relay,omitempty"`
	// At is the last row or line that is committed.
	At int64 `json:"at"`
	// Rows were read; of them Added were new, Known were in the data set, or twice in the input, and
	// Bad could not be imported.
	Rows  int64 `json:"rows"`
	Added int64 `json:"added"`
	Known int64 `json:"known"`
	Bad   int64 `json:"bad"`
	// Note says how something about the whole input was found out.
	Note string `json:"note,omitempty"`
	// Done: the whole input is imported.
	Done bool `json:"done"`
	// Failure says why the input could not be read to its end.
	Failure string `json:"failure,omitempty"`
}

const (
	catalogueName = "dataset.json"
	newMark       = ".new-"
)

var errOtherNetwork = errors.New("a data set is of one network")

// openCatalogue opens or begins the data set in a folder, finishes the commit that a killed import
// left, and keeps other processes out until close.
func openCatalogue(dir string, network dataset.Network, step func()) (*catalogue, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder of the data set: %w", err)
	}
	lock := flock.New(filepath.Join(dir, ".lock"))
	locked, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("lock the data set: %w", err)
	}
	if !locked {
		return nil, fmt.Errorf("lock the data set %s: another import is at work there: wait until it has ended", dir)
	}
	c := &catalogue{dir: dir, lock: lock, step: step, SchemaVersion: dataset.Version, Network: network}
	if err := c.read(network); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return c, nil
}

func (c *catalogue) read(network dataset.Network) error {
	raw, err := os.ReadFile(filepath.Join(c.dir, catalogueName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read the data set's catalogue: %w", err)
	}
	if err == nil {
		if err := json.Unmarshal(raw, c); err != nil {
			return fmt.Errorf("read the data set's catalogue: %w", err)
		}
	}
	if c.SchemaVersion != dataset.Version {
		return fmt.Errorf("the data set has version %d of the schema, and this program has version %d: import into a new "+
			"folder",
			c.SchemaVersion, dataset.Version)
	}
	if c.Network != network {
		return run.Usage(fmt.Errorf("%w: the one in %s is of %s, and the import of %s: give another --into",
			errOtherNetwork, c.dir, c.Network.Name, network.Name))
	}
	if err := c.finish(); err != nil {
		return err
	}
	return c.sweep()
}

func (c *catalogue) close() error { return c.lock.Unlock() }

// finish makes the renames of the last commit that are not made yet.
func (c *catalogue) finish() error {
	for _, pair := range c.Renames {
		from, to := filepath.Join(c.dir, pair[0]), filepath.Join(c.dir, pair[1])
		if err := os.Rename(from, to); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("put a committed file in its place: %w", err)
		}
		c.changed()
	}
	return nil
}

// sweep removes new files of a commit that did not come about.
func (c *catalogue) sweep() error {
	err := filepath.WalkDir(c.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.Contains(entry.Name(), newMark) {
			return err
		}
		return os.Remove(path)
	})
	if err != nil {
		return fmt.Errorf("remove files of an import that was killed: %w", err)
	}
	return nil
}

// create begins a file of the next commit that will be at path, which is below the data set's
// folder.
func (c *catalogue) create(path string) (file *os.File, rename [2]string, err error) {
	rename = [2]string{fmt.Sprintf("%s%s%d", path, newMark, c.Commits+1), path}
	full := filepath.Join(c.dir, rename[0])
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		return nil, rename, fmt.Errorf("make a folder of the data set: %w", err)
	}
	if file, err = os.Create(full); err != nil {
		return nil, rename, fmt.Errorf("begin a file of the data set: %w", err)
	}
	return file, rename, nil
}

// commit makes the new files part of the data set, all or none: with the catalogue's rename they
// are, whatever happens then.
func (c *catalogue) commit(renames [][2]string) error {
	c.Commits++
	c.Renames = renames
	c.changed()
	raw, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the catalogue: %w", err)
	}
	path := filepath.Join(c.dir, catalogueName)
	file, err := os.Create(path + newMark + "catalogue")
	if err != nil {
		return fmt.Errorf("write the catalogue: %w", err)
	}
	_, err = file.Write(append(raw, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("write the catalogue: %w", err)
	}
	c.changed()
	if err := os.Rename(file.Name(), path); err != nil {
		return fmt.Errorf("write the catalogue: %w", err)
	}
	c.changed()
	return c.finish()
}

// input returns the entry of an input, a new one if it is not known.
func (c *catalogue) input(id, name string) *Input {
	for _, in := range c.Inputs {
		if in.ID == id {
			return in
		}
	}
	in := &Input{ID: id, Name: name}
	c.Inputs = append(c.Inputs, in)
	return in
}
