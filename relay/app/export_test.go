package app

import (
	"context"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/journal"
)

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

// HearLog waits until this instance has applied what is in the auction log now.
func (a *App) HearLog(ctx context.Context) error { return a.others.catchUp(ctx) }

// AuctionSubject is the subject of a slot's auction log.
func (a *App) AuctionSubject(slot phase0.Slot) string {
	return auctionLog{network: networkName(a.spec)}.subject(slot)
}

// Journal is the journal of this instance.
func (a *App) Journal() *journal.Journal { return a.journal }

// HasServed says whether this instance knows that a proposer was last given a block at a value.
func (a *App) HasServed(slot phase0.Slot, block phase0.Hash32, wei uint64) bool {
	given := a.topBid.LastServed(slot, block)
	return given != nil && given.ValueWei.Eq(uint256.NewInt(wei))
}

// ProcessorTime is the processor time of this process.
var ProcessorTime = processorTime
