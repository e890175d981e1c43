package app

import "context"

// NewestFact is the number of the journal's newest fact.
func (a *App) NewestFact(ctx context.Context) (uint64, error) { return a.journal.Last(ctx) }

// StopHearing ends the reading of what other instances write.
func (a *App) StopHearing() { _ = a.others.close() }

// HearAgain begins it again.
func (a *App) HearAgain() { a.others.start() }

// LastState is the number of the newest state in the journal.
func (a *App) LastState(ctx context.Context) (uint64, error) { return a.journal.LastState(ctx) }

// Heard is the number of the newest state that this instance has applied.
func (a *App) Heard() uint64 { return a.others.states.from() - 1 }
