package replay

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/scenarios/backtest"
	"github.com/gavel-relay/gavel/scenarios/dataset"
)

// FeedOptions say which auctions of a data set are held again, and where.
type FeedOptions struct {
	// Dir is the folder of the data set. Slots are those that are fed, all if there are none; Archived
	// is the only relay of the archive whose auctions are fed, all if empty; Most is how many auctions
	// are fed at most, 0: all.
	Dir string
	How backtest.Inference
	// Variants are what-ifs under each of which the auctions are held; without one they are held as
	// they were archived.
	Variants []backtest.Variant
	Slots    []int64
	Archived string
	Most     int
	// RelayURL is the relay that gets the bids; its user part may name the relay's key. WorldURL is
	// the world that the relay follows.
	RelayURL, WorldURL string
	// Speed is how many times as fast as in the archive bids are sent; 0: as fast as makes a slot of
	// the archive last a slot of the world.
	Speed float64
	// Clock is the world's.
	Clock clock.Clock
	// Told is called with each auction that is over; it may be nil.
	Told func(*Fed)
}

// Feed holds archived auctions again, one after another, at a relay that follows a world, and
// compares what the relay serves and lists with the replay.
//
//	data set ─▶ backtest.Lives ─▶ blocks of the world that pay the values ─at their times─▶ relay ─▶ header, delivery, Data API
//	                  └─▶ backtest.Leader ──────────────────────compare─────────────────────────────────────┘
func Feed(ctx context.Context, o FeedOptions) (*FeedReport, error) {
	network, err := networkOf(o.Dir)
	if err != nil {
		return nil, err
	}
	auctions, err := o.auctions(ctx, network)
	if err != nil {
		return nil, err
	}
	if len(auctions) == 0 {
		return nil, run.Usage(errors.New("the data set has no bids of the wanted slots and relay"))
	}
	stage, err := openStage(ctx, o)
	if err != nil {
		return nil, err
	}
	if err := stage.register(ctx); err != nil {
		return nil, err
	}
	slot := time.Duration(stage.world.Facts.SlotMs) * time.Millisecond
	speed := cmp.Or(o.Speed, float64(network.SlotSeconds)*float64(time.Second)/float64(slot))
	report := &FeedReport{Network: network, Rules: o.How.Sentences(), Speed: speed}
	for _, auction := range auctions {
		h, err := stage.open(ctx)
		if err != nil {
			return report, err
		}
		fed, err := h.feed(ctx, auction, speed)
		if err != nil {
			return report, err
		}
		report.Auctions = append(report.Auctions, fed)
		if o.Told != nil {
			o.Told(fed)
		}
	}
	return report, nil
}

// auctions reads the wanted auctions.
func (o FeedOptions) auctions(ctx context.Context, network dataset.Network) (all []backtest.Live, err error) {
	hours, err := hoursOf(o.Dir)
	if err != nil {
		return nil, err
	}
	enough := errors.New("enough")
	for _, h := range hours {
		err := eachSlot(ctx, network, h, RunOptions{Relay: o.Archived}, func(number int64, slot backtest.Slot) error {
			if len(o.Slots) > 0 && !slices.Contains(o.Slots, number) {
				return nil
			}
			for _, live := range o.lives(slot) {
				if len(live.Bids) > 0 {
					all = append(all, live)
				}
				if o.Most > 0 && len(all) == o.Most {
					return enough
				}
			}
			return nil
		})
		if errors.Is(err, enough) {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// lives are the auctions of a slot as they are held.
func (o FeedOptions) lives(slot backtest.Slot) (all []backtest.Live) {
	if len(o.Variants) == 0 {
		return backtest.Lives(slot, o.How, nil)
	}
	for i := range o.Variants {
		all = append(all, backtest.Lives(slot, o.How, &o.Variants[i])...)
	}
	return all
}
