package replay

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"time"

	builderelectra "github.com/attestantio/go-builder-client/api/electra"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/scenarios/backtest"
)

// sent is a bid that the relay got, and what it answered.
type sent struct {
	made

	bid *backtest.LiveBid
	// late is by how much it was sent after its time.
	late           time.Duration
	sentAt, doneAt time.Time
	status         int    // 0: no answer
	answer         string // of a refusal, or why there is no answer
	asked          bool   // it was sent after the proposer had asked
}

func (s *sent) accepted() bool { return s.status == http.StatusOK || s.status == http.StatusAccepted }

// shown is what the relay showed the proposer, and what came of it.
type shown struct {
	late      time.Duration
	header    *builderelectra.SignedBuilderBid
	err       error // no header could be read
	delivered error // nil if the payload was delivered
}

// feeding is an auction that is held again.
type feeding struct {
	*held

	live  backtest.Live
	speed float64
	all   []sent
	built []chan error // one for each bid: its block is made
	shown shown
	// flying are the bids without an answer yet.
	flying sync.WaitGroup
}

// feed holds an auction again. Bids are sent at their times, or as soon after them as their blocks
// are built. Bids of one builder wait for each other's answers, so that the relay gets them in
// their order. The header is asked for when no bid is without an answer: so what must lead then
// follows from the bids alone.
func (h *held) feed(ctx context.Context, live backtest.Live, speed float64) (*Fed, error) {
	f := &feeding{held: h, live: live, speed: speed, all: make([]sent, len(live.Bids)),
		built: make([]chan error, len(live.Bids))}
	for i := range f.built {
		f.built[i] = make(chan error, 1)
	}
	group, during := errgroup.WithContext(ctx)
	group.Go(func() error { return f.build(during) })
	group.Go(func() error { return f.send(during) })
	if err := group.Wait(); err != nil {
		return nil, fmt.Errorf("feed slot %d: %w", live.Slot, err)
	}
	return f.compare(ctx)
}

// build makes the blocks in the order of their bids, several at a time.
func (f *feeding) build(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2 * runtime.GOMAXPROCS(0))
	for i := range f.all {
		group.Go(func() (err error) {
			s := &f.all[i]
			s.bid = &f.live.Bids[i]
			s.made, err = f.make(ctx, s.bid, i)
			f.built[i] <- err
			return err
		})
	}
	return group.Wait()
}

// at returns the time of a moment of the archive's slot.
func (f *feeding) at(moment time.Duration) time.Time {
	return f.start.Add(time.Duration(float64(moment) / f.speed))
}

// send sends all bids, and asks for the header between them.
func (f *feeding) send(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	lines := map[phase0.BLSPubKey]chan *sent{}
	end := func() {
		for _, line := range lines {
			close(line)
		}
	}
	asked := false
	err := func() error {
		for i := range f.all {
			s := &f.all[i]
			if at := f.live.Bids[i].At; !asked && at > f.live.Asked {
				asked = true
				if err := f.ask(ctx, group); err != nil {
					return err
				}
			}
			select {
			case err := <-f.built[i]:
				if err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
			if err := f.clock.Until(ctx, f.at(s.bid.At)); err != nil {
				return err
			}
			line := lines[s.bid.Builder]
			if line == nil {
				line = make(chan *sent, len(f.all))
				lines[s.bid.Builder] = line
				group.Go(func() error { return f.inLine(ctx, line) })
			}
			s.asked = asked
			f.flying.Add(1)
			line <- s
		}
		if !asked {
			return f.ask(ctx, group)
		}
		return nil
	}()
	end()
	return errors.Join(err, group.Wait())
}

// inLine sends one builder's bids, one after another.
func (f *feeding) inLine(ctx context.Context, line <-chan *sent) error {
	for s := range line {
		s.sentAt = f.clock.Now()
		s.late = s.sentAt.Sub(f.at(s.bid.At))
		answer, err := f.submit(ctx, s.bid, s.made)
		s.doneAt = f.clock.Now()
		switch {
		case err != nil:
			s.answer = err.Error()
		case answer.Status != http.StatusOK:
			s.status, s.answer = answer.Status, answer.String()
		default:
			s.status = answer.Status
		}
		f.flying.Done()
	}
	return ctx.Err()
}

// ask asks for the header when it is time and all bids before are answered, and has its payload
// delivered beside the bids that come later.
func (f *feeding) ask(ctx context.Context, group *errgroup.Group) error {
	due := f.at(f.live.Asked)
	if err := f.clock.Until(ctx, due); err != nil {
		return err
	}
	f.flying.Wait()
	f.shown.late = f.clock.Now().Sub(due)
	f.shown.header, f.shown.err = f.header(ctx)
	if f.shown.header == nil {
		return ctx.Err()
	}
	group.Go(func() error {
		f.shown.delivered = f.deliver(ctx, f.shown.header)
		return ctx.Err()
	})
	return nil
}

// order returns the bids before the header in the order of a time.
func (f *feeding) order(of func(*sent) time.Time) []*sent {
	var before []*sent
	for i := range f.all {
		if s := &f.all[i]; !s.asked {
			before = append(before, s)
		}
	}
	slices.SortStableFunc(before, func(a, b *sent) int { return of(a).Compare(of(b)) })
	return before
}
