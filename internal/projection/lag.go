package projection

import (
	"context"
	"time"
)

// Progress is a journal, or a projection of one.
type Progress interface {
	// Last is the number of the newest fact; 0 if there is none.
	Last(ctx context.Context) (uint64, error)
}

// lagTimeout bounds the two requests of Lag.
const lagTimeout = time.Second

// Lag is how many facts of the journal a projection has not applied yet; -1 if one of the two does
// not answer within a second. It is below 0, too, if the journal has lost facts. It is for metrics
// and readiness.
func Lag(journal, projection Progress) float64 {
	ctx, cancel := context.WithTimeout(context.Background(), lagTimeout)
	defer cancel()
	// the projection first: it may apply facts that come in between, and must not seem to be ahead
	last, err := projection.Last(ctx)
	if err != nil {
		return -1
	}
	newest, err := journal.Last(ctx)
	if err != nil {
		return -1
	}
	return float64(newest) - float64(last)
}
