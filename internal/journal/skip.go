package journal

import (
	"context"
	"errors"
	"fmt"
)

// skippedSubject is the subject of facts that only fill skipped numbers. Readers do not know it,
// and ignore such facts.
const skippedSubject = "skipped"

// ErrNotOurs says that the log belongs to a cluster, whose replicas are responsible for its facts.
var ErrNotOurs = errors.New("the journal is a cluster's")

// Skip fills the numbers up to upTo, so that no fact gets them. After a power cut the embedded
// engine may have lost facts that a database has. Their numbers must not be reused, or the database
// would take new facts for those that it has. Nobody else may write to the log meanwhile.
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
