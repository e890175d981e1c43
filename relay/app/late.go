package app

import (
	"context"
	"fmt"
	"time"
)

const (
	// lateFacts is how many facts the archive may be behind: some minutes of a busy relay.
	lateFacts = 50_000
	// lateFor is how long it may be so, or give no answer, before the operator is told; lateEvery is how often it is looked at (wall time).
	lateFor   = time.Minute
	lateEvery = 5 * time.Second
)

// lateness says when the archive is late, and when it is no more. The Data API is made of it, and registrations after a restart; the auction does not need it.
type lateness struct {
	since time.Time // zero while all is well
	told  bool
}

// look takes the archive's lag, as view.Lag has it, and answers what is to be told: that it is late, or that it no longer is.
func (l *lateness) look(at time.Time, lag float64) (late error, over bool) {
	switch {
	case lag >= 0 && lag <= lateFacts:
		over = l.told
		*l = lateness{}
		return nil, over
	case l.since.IsZero():
		l.since = at
	case !l.told && at.Sub(l.since) >= lateFor:
		l.told = true
		if lag < 0 {
			return fmt.Errorf("the archive or the journal does not answer, or they do not fit together, since %s", l.since.UTC().Format(time.RFC3339)), false
		}
		return fmt.Errorf("it is %d facts behind the journal", int64(lag)), false
	}
	return nil, false
}

// watchArchive tells the operator once when the archive is late, and once when it has caught up.
func (a *App) watchArchive(ctx context.Context) error {
	tick := time.NewTicker(lateEvery)
	defer tick.Stop()
	var seen lateness
	for {
		select {
		case <-ctx.Done():
			return nil
		case at := <-tick.C:
			late, over := seen.look(at, a.archiveLag())
			if late != nil {
				a.trouble("keep the archive up to date", late)
			}
			if over {
				a.log.Info("the archive is up to date again")
				a.alerts.Over(a.cfg.Clock.Now(), "the archive is up to date again")
			}
		}
	}
}
