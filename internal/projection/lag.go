package projection

import (
	"context"
	"time"
)

// Progress is a row of facts, or what is made of one.
type Progress interface {
	// Last is the number of the newest fact; 0 if there is none.
	Last(ctx context.Context) (uint64, error)
}

// lagTimeout bounds the two questions behind a lag.
const lagTimeout = time.Second

// Lag is how many facts of the journal a projection has not taken up yet; -1 when one of them does
// not answer within a second. Less says that the journal has lost facts. It is for metrics and
// readiness.
func Lag(journal, projection Progress) float64 {
	ctx, cancel := context.WithTimeout(context.Background(), lagTimeout)
	defer cancel()
	newest, err := journal.Last(ctx)
	if err != nil {
		return -1
	}
	last, err := projection.Last(ctx)
	if err != nil {
		return -1
	}
	return float64(newest) - float64(last)
}
