package replay

import (
	"errors"
	"fmt"

	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// Scan reads the rows of a file into a sink, and keeps nothing. The file is recognised as by
// Import. An error means that it ends in the middle, or that the sink has had enough.
func Scan(path string, from dataset.Origin, to dataset.Sink) (err error) {
	file, sources, err := openSources(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	for _, s := range sources {
		if err := s.scan(from, to); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

func (s source) scan(from dataset.Origin, to dataset.Sink) error {
	_, read, closer, err := s.recognise()
	if closer != nil {
		defer closer.Close() // it was only read
	}
	if err != nil {
		return err
	}
	return read(from, to)
}
