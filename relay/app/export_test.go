package app

import "context"

// NewestFact is the number of the journal's newest fact.
func (a *App) NewestFact(ctx context.Context) (uint64, error) { return a.journal.Last(ctx) }
