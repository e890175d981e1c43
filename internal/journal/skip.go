package journal

import (
	"context"
	"errors"
	"fmt"
)

// skippedSubject is that of numbers which nobody's fact has. Readers know no such fact, and pass
// over it.
const skippedSubject = "skipped"

// ErrNotOurs says that the log belongs to a cluster, whose replicas answer for what it has.
var ErrNotOurs = errors.New("the journal is a cluster's")

// Skip gives no fact the numbers up to one. After a power cut the embedded engine may have lost
// facts that a database has; their numbers must not be given again, or the database would take the
// new facts for those that it has. The log must not be written by anybody else meanwhile.
func (j *Journal) Skip(ctx context.Context, upTo uint64) error {
	if j.server == nil {
		return ErrNotOurs
	}
	for {
		last, err := j.Last(ctx)
		if err != nil {
			return fmt.Errorf("skip lost facts: %w", err)
		}
		if last >= upTo {
			return nil
		}
		for range upTo - last {
			if err := j.AppendAsync(skippedSubject, []byte("{}")); err != nil {
				return fmt.Errorf("skip lost facts: %w", err)
			}
		}
		if err := j.Flush(ctx); err != nil {
			return fmt.Errorf("skip lost facts: %w", err)
		}
	}
}
