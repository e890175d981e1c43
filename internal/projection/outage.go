package projection

import (
	"context"
	"log/slog"
	"time"

	"github.com/gavel-relay/gavel/internal/backoff"
)

// LongestPause is how long a database that is back is waited for at most.
const LongestPause = 5 * time.Second

// pauses are those between tries while the database fails.
var pauses = backoff.Doubling{First: 100 * time.Millisecond, Longest: LongestPause}

// outage is a time in which the database fails, or the wait for the next.
type outage struct {
	log *slog.Logger
	// tries failed so far; none while all is well.
	tries int
	since time.Time
	// applying tells that a batch failed, and not only the look at the progress.
	applying bool
}

// wait notes a failure, tells of it if it is the first, and pauses until the next try or the
// context's end.
func (o *outage) wait(ctx context.Context, failed *databaseError) {
	if ctx.Err() != nil {
		return // it failed because it was told to end
	}
	if o.tries == 0 {
		o.since = time.Now()
		o.log.ErrorContext(ctx, "a projection's database fails; facts stay in the journal until it is back", "error", failed)
	}
	o.applying = o.applying || failed.applying
	o.tries++
	_ = backoff.Wait(ctx, pauses.After(o.tries)) // whoever called looks at the context
}

// answered notes that the database has told its progress. That ends an outage that began there.
func (o *outage) answered() {
	if !o.applying {
		o.over()
	}
}

// over notes that the database works, and tells of it once.
func (o *outage) over() {
	if o.tries > 0 {
		o.log.Info("a projection's database is back", "tries", o.tries, "after", time.Since(o.since))
	}
	o.tries, o.applying = 0, false
}
