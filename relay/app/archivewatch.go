package app

import (
	"context"
	"fmt"
	"time"
)

const (
	// lateFacts is how many facts the archive may be behind: some minutes of a busy relay.
	lateFacts = 50_000
	// lateFor is how long it may be further behind, or not answer, before the operator gets an alert.
	// lateEvery is how often the lag is read.
	lateFor   = time.Minute
	lateEvery = 5 * time.Second
)

// archiveWatch decides when the archive is late, and when it is no longer. The Data API reads the
// archive, and a restart reads registrations from it; the auction does not need it.
type archiveWatch struct {
	since time.Time // when the archive began to be late; zero while it is not
	known bool      // that it is late was reported
}

// look takes the archive's lag, as projection.Lag returns it. It returns what has to be reported:
// over if the archive is no longer late, late if it has become late, with the reason.
func (l *archiveWatch) look(at time.Time, lag float64) (over bool, late error) {
	switch {
	case lag >= 0 && lag <= lateFacts:
		over = l.known
		*l = archiveWatch{}
		return over, nil
	case l.since.IsZero():
		l.since = at
	case !l.known && at.Sub(l.since) >= lateFor:
		l.known = true
		if lag < 0 {
			return false, fmt.Errorf("the archive or the journal does not answer, or they do not fit together, since %s",
				l.since.UTC().Format(time.RFC3339))
		}
		return false, fmt.Errorf("it is %d facts behind the journal", int64(lag))
	}
	return false, nil
}

// watchArchive alerts the operator once when the archive is late, and once when it has caught up.
func (a *App) watchArchive(ctx context.Context) error {
	var seen archiveWatch
	for {
		if err := a.cfg.Clock.Until(ctx, a.cfg.Clock.Now().Add(lateEvery)); err != nil {
			return nil // the relay stops
		}
		over, late := seen.look(a.cfg.Clock.Now(), a.archiveLag())
		if late != nil {
			a.reportFailure("keep the archive up to date", late)
		}
		if over {
			a.log.Info("the archive is up to date again")
			a.alerts.ReportRecovery(a.cfg.Clock.Now(), "the archive is up to date again")
		}
	}
}
