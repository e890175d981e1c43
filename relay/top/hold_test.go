package top

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
)

// All times are milliseconds into the slot. A better bid comes every 50 ms from the start on, worth
// as many wei as the time that it came, so the value served says when it was read.
func TestHeaderIsHeldBack(t *testing.T) {
	const never = -1
	for name, row := range map[string]struct {
		delayMs, cutOffMs, marginMs int
		askedMs, deadlineMs         int
		answeredMs                  int
	}{
		"no delay configured":                    {0, 3000, 0, 100, 1000, 100},
		"a client that does not say how long":    {500, 3000, 0, 100, never, 100},
		"until the delay is over":                {500, 3000, 0, 100, 1000, 500},
		"asked after the delay":                  {500, 3000, 0, 600, 1000, 600},
		"until shortly before the client leaves": {500, 3000, 0, 100, 450, 350},
		"with a margin of its own":               {500, 3000, 200, 100, 450, 250},
		"the client leaves too soon to be held":  {500, 3000, 0, 100, 150, 100},
		"the client has left already":            {500, 3000, 0, 400, 300, 400},
		"not beyond the cut-off":                 {4000, 3000, 0, 2500, 9000, 3000},
		"no cut-off":                             {4000, 0, 0, 2500, 9000, 4000},
		"asked at the cut-off":                   {4000, 3000, 0, 3000, 9000, 3000},
		"asked after the cut-off":                {4000, 3000, 0, 3001, 9000, never},
		"before the slot":                        {500, 3000, 0, -1000, 0, -100},
		"from before the slot into it":           {500, 3000, 0, -1000, 9000, 500},
		"longer than a slot is held by nobody":   {500, 3000, 0, -12_000, 60_000, -12_000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now().Add(time.Minute)
				ms := func(n int) time.Time { return began.Add(time.Duration(n) * time.Millisecond) }
				facts := new(recorded)
				topBid := &Bids{Served: facts}
				topBid.Show(inSlot(0), bidOf(0))
				go func() {
					for n := 50; n <= 5000; n += 50 {
						_ = clock.Real{}.Until(context.Background(), ms(n).Add(-time.Microsecond)) // ends with the time alone
						topBid.Show(inSlot(0), bidOf(uint64(n)))
					}
				}()
				headers := &Headers{
					Bids: topBid, Spec: &eth.Spec{GenesisTime: began, SlotDuration: 12 * time.Second, SlotsPerEpoch: 32},
					Head:   fixedHead(0),
					CutOff: time.Duration(row.cutOffMs) * time.Millisecond, Clock: clock.Real{},
					Delay: time.Duration(row.delayMs) * time.Millisecond, Margin: time.Duration(row.marginMs) * time.Millisecond,
				}
				var deadline time.Time
				if row.deadlineMs != never {
					deadline = ms(row.deadlineMs)
				}
				time.Sleep(time.Until(ms(row.askedMs)))
				bid, err := headers.Header(t.Context(), time.Now(), inSlot(0), deadline)
				at := time.Now()
				if err != nil {
					t.Fatal(err)
				}
				if row.answeredMs == never {
					if bid != nil || len(*facts) > 0 {
						t.Errorf("served %v", bid)
					}
				} else {
					if !at.Equal(ms(row.answeredMs)) {
						t.Errorf("answered %v into the slot", at.Sub(began))
					}
					if want := uint64(max(0, row.answeredMs/50*50)); bid == nil || bid.ValueWei.Uint64() != want {
						t.Errorf("served %v, want the top of %d ms", bid, want)
					}
					if len(*facts) != 1 || !(*facts)[0].At.Equal(at) {
						t.Errorf("facts %+v, want one of %v", *facts, at)
					}
				}
				time.Sleep(time.Until(ms(6000)))
			})
		})
	}
}

func TestHeaderForAClientThatGoesAwayIsNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		facts := new(recorded)
		topBid := &Bids{Served: facts}
		topBid.Show(inSlot(0), bidOf(1))
		headers := &Headers{
			Bids: topBid, Spec: &eth.Spec{GenesisTime: began, SlotDuration: 12 * time.Second, SlotsPerEpoch: 32},
			Head:  fixedHead(0),
			Clock: clock.Real{}, Delay: time.Second,
		}
		ctx, leave := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer leave()
		bid, err := headers.Header(ctx, began, inSlot(0), began.Add(time.Minute))
		if bid != nil || err != nil || len(*facts) > 0 || time.Since(began) != 300*time.Millisecond {
			t.Errorf("%v, %v and %d facts after %v", bid, err, len(*facts), time.Since(began))
		}
	})
}

// The switch counts at the moment of the answer, not of the question.
func TestStoppedHeadersAreNotServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		facts := new(recorded)
		topBid := &Bids{Served: facts}
		topBid.Show(inSlot(0), bidOf(1))
		headers := &Headers{
			Bids: topBid, Spec: &eth.Spec{GenesisTime: began, SlotDuration: 12 * time.Second, SlotsPerEpoch: 32},
			Head:  fixedHead(0),
			Clock: clock.Real{}, Delay: time.Second, Stopped: func() bool { return time.Since(began) > 0 },
		}
		for _, row := range []struct {
			deadline time.Time
			bid      bool
		}{{time.Time{}, true}, {began.Add(time.Minute), false}} {
			bid, err := headers.Header(t.Context(), time.Now(), inSlot(0), row.deadline)
			if (bid != nil) != row.bid || err != nil {
				t.Errorf("%v, %v", bid, err)
			}
		}
		if len(*facts) != 1 {
			t.Errorf("%d facts", len(*facts))
		}
		if _, err := headers.Header(t.Context(), time.Now(), relay.Key{}, time.Time{}); err != nil {
			t.Error(err)
		}
	})
}
