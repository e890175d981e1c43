package replay

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gofrs/flock"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios/generate"
)

// GenerateOptions say what to generate.
type GenerateOptions struct {
	// Into is the folder of the data set, which must not be there yet, or be empty.
	Into  string
	Seed  uint64
	Slots int
	// Progress gets a line now and then.
	Progress io.Writer

	step func()
}

// MaxSlots is how many slots may be generated: a leap year of them.
const MaxSlots = 366 * 24 * generate.SlotsPerHour

// The files that are no table.
const (
	dictionaryName = "README.md"
	sumsName       = "SHA256SUMS"
	// generatingName marks a folder in which a data set is being made, and is its lock.
	generatingName = ".generating"
)

var (
	errSlots     = fmt.Errorf("the number of slots is from 1 to %d", MaxSlots)
	errNotEmpty  = errors.New("the folder has something in it: give another --into, or remove it")
	errNotOurs   = errors.New("the folder is in the way: remove it")
	errAtWork    = errors.New("another generator is at work there: wait until it has ended")
	progressEach = 50
)

// Generate makes a data set. It is made in a folder beside Into, which gets its name when it is
// whole. What a generator that was killed has left there is removed.
func Generate(ctx context.Context, o GenerateOptions) (tally *generate.Tally, err error) {
	if o.step == nil {
		o.step = func() {}
	}
	if o.Slots < 1 || o.Slots > MaxSlots {
		return nil, run.Usage(fmt.Errorf("generate %d slots: %w", o.Slots, errSlots))
	}
	into := filepath.Clean(o.Into)
	if err := checkEmpty(into); err != nil {
		return nil, fmt.Errorf("generate into %s: %w", into, err)
	}
	part := into + newMark + "generate"
	lock, err := beginPart(part)
	if err != nil {
		return nil, fmt.Errorf("generate in %s: %w", part, err)
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if tally, err = o.fill(ctx, part); err != nil {
		return nil, fmt.Errorf("generate in %s: %w", part, err)
	}
	o.step()
	if err := finishPart(part, into); err != nil {
		return nil, fmt.Errorf("finish the data set: %w", err)
	}
	return tally, nil
}

// checkEmpty refuses a folder with something in it.
func checkEmpty(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return run.Usage(err)
	case len(entries) > 0:
		return run.Usage(errNotEmpty)
	}
	return nil
}

// beginPart makes the folder in which a data set is made, without what an earlier generator has
// left there, and keeps other generators out.
func beginPart(part string) (*flock.Flock, error) {
	mark := filepath.Join(part, generatingName)
	if _, err := os.Stat(mark); errors.Is(err, fs.ErrNotExist) && checkEmpty(part) != nil {
		return nil, run.Usage(errNotOurs)
	}
	if err := os.MkdirAll(part, 0o755); err != nil {
		return nil, err
	}
	lock := flock.New(mark)
	switch locked, err := lock.TryLock(); {
	case err != nil:
		return nil, err
	case !locked:
		return nil, run.Usage(errAtWork)
	}
	entries, err := os.ReadDir(part)
	for _, entry := range entries {
		if entry.Name() != generatingName {
			err = errors.Join(err, os.RemoveAll(filepath.Join(part, entry.Name())))
		}
	}
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return lock, nil
}

// fill makes the files of the data set.
func (o GenerateOptions) fill(ctx context.Context, part string) (tally *generate.Tally, err error) {
	catalogue, err := openCatalogue(part, generate.NetworkOf(o.Seed), o.step)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, catalogue.close()) }()
	cfg := generate.Config{Seed: o.Seed, Slots: o.Slots}
	in := catalogue.input(fmt.Sprintf("generated-%d-%d-%d", generate.Version, o.Seed, o.Slots),
		fmt.Sprintf("seed %d, %d slots", o.Seed, o.Slots))
	in.Format = string(generate.Source)
	b := &batch{catalogue: catalogue, input: in, held: true, told: func(*Input) {}, stopped: ctx.Err}
	tally = new(generate.Tally)
	at := int64(0)
	err = generate.Run(ctx, cfg, func(slot int, rows *generate.Rows) error {
		if slot%progressEach == 0 {
			fmt.Fprintf(o.Progress, "slot %d of %d\n", slot, o.Slots)
		}
		if rows == nil {
			return nil
		}
		tally.Add(rows)
		for row := range rows.All() {
			at++
			if err := b.Row(at, row); err != nil {
				return err
			}
		}
		in.Done = slot == o.Slots
		return errors.Join(b.handOver(b.filled), b.settle())
	})
	if err != nil {
		return nil, err
	}
	text := generate.Dictionary(cfg, tally)
	if err := writeSynced(filepath.Join(part, dictionaryName), []byte(text)); err != nil {
		return nil, err
	}
	sums, err := sumsOf(part)
	if err != nil {
		return nil, err
	}
	return tally, writeSynced(filepath.Join(part, sumsName), sums)
}

// finishPart gives the data set its name.
func finishPart(part, into string) error {
	for _, name := range []string{".lock", generatingName} {
		if err := os.Remove(filepath.Join(part, name)); err != nil {
			return err
		}
	}
	if err := os.Remove(into); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err // it is not empty any more
	}
	return os.Rename(part, into)
}

func writeSynced(path string, text []byte) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	return errors.Join(err, file.Sync(), file.Close())
}

// sumsOf has a line for each file of a data set, in the form of sha256sum.
func sumsOf(dir string) ([]byte, error) {
	var lines []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		sum := sha256.New()
		_, err = io.Copy(sum, file)
		if err = errors.Join(err, file.Close()); err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		lines = append(lines, fmt.Sprintf("%x  %s\n", sum.Sum(nil), filepath.ToSlash(name)))
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("sum the files: %w", err)
	}
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[64:], b[64:]) })
	return []byte(strings.Join(lines, "")), nil
}
