package projection

import (
	"context"
	"log/slog"
	"time"

	"github.com/gavel-relay/gavel/internal/run"
)

// LongestPause is the longest pause between two tries, so it bounds how late a database that is
// back is noticed.
const LongestPause = 5 * time.Second

// pauses are the pauses between tries while the database fails.
var pauses = run.Backoff{First: 100 * time.Millisecond, Longest: LongestPause}

// outage tracks whether the database fails now, and since when.
type outage struct {
	log *slog.Logger
	// tries is how many tries have failed in this outage; 0 while the database works.
	tries int
	since time.Time
	// applying says that a batch has failed, and not only reading the progress.
	applying bool
}

// wait records a failure, logs it if it is the first, and pauses until the next try or the
// context's end.
func (o *outage) wait(ctx context.Context, failed *databaseError) {
	if ctx.Err() != nil {
		return // it failed because the context ended
	}
	if o.tries == 0 {
		o.since = time.Now()
		o.log.ErrorContext(ctx, "a projection's database fails; facts stay in the journal until it is back", "error", failed)
	}
	o.applying = o.applying || failed.applying
	o.tries++
	_ = run.Pause(ctx, pauses.After(o.tries)) // the caller checks the context
}

// recordAnswer records that the database has answered its progress. That ends an outage in which no
// batch failed.
func (o *outage) recordAnswer() {
	if !o.applying {
		o.endOutage()
	}
}

// endOutage records that the database works, and logs the end of an outage.
func (o *outage) endOutage() {
	if o.tries > 0 {
		o.log.Info("a projection's database is back", "tries", o.tries, "after", time.Since(o.since))
	}
	o.tries, o.applying = 0, false
}
