package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/relay"
)

// testLog is a journal in memory. It takes nothing while busy says so, and stands still while held.
type testLog struct {
	lines []string
	busy  func() bool
	held  chan struct{}
}

func (l *testLog) AppendAsync(subject string, data []byte) error {
	if l.held != nil {
		<-l.held
	}
	if l.busy != nil && l.busy() {
		return errors.New("busy")
	}
	var fact struct{ Slot phase0.Slot }
	if err := json.Unmarshal(data, &fact); err != nil {
		return err
	}
	l.lines = append(l.lines, fmt.Sprint(strings.TrimPrefix(subject, "relay."), " ", fact.Slot))
	return nil
}

func (l *testLog) AppendAcked(subject string, data []byte, _ string, told func(error)) error {
	err := l.AppendAsync(subject, data)
	if err == nil {
		go told(nil)
	}
	return err
}

func servedIn(slot phase0.Slot) relay.HeaderServed {
	return relay.HeaderServed{Slot: slot, ValueWei: uint256.NewInt(7)}
}

func deliveredIn(slot phase0.Slot) relay.PayloadDelivered {
	return relay.PayloadDelivered{Trace: relay.Trace{Slot: slot, ValueWei: uint256.NewInt(7)}}
}

func refusedIn(slot phase0.Slot) relay.PayloadRefused { return relay.PayloadRefused{Slot: slot} }

// told keeps what it is told.
type told []string

func (l *told) Record(fact relay.Fact) { *l = append(*l, fact.Subject()) }

func closeFacts(t *testing.T, f *facts) {
	t.Helper()
	if err := f.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Everything is written in the order in which it was recorded, and nothing is left at the end.
func TestFactsKeepTheirOrder(t *testing.T) {
	log := new(testLog)
	var atOnce told
	var observed []string
	f := newFacts(log, slog.New(slog.DiscardHandler), factEncoder{}, func(fact relay.Fact) {
		observed = append(observed, fact.Subject())
	}, &atOnce)
	var want []string
	for slot := range phase0.Slot(1000) {
		if slot%3 == 0 {
			f.Record(refusedIn(slot))
			want = append(want, fmt.Sprint("payload_refused ", slot))
		} else {
			f.Record(servedIn(slot))
			want = append(want, fmt.Sprint("header_served ", slot))
		}
	}
	if len(atOnce) != 1000 {
		t.Errorf("listeners were told %d facts before the end", len(atOnce))
	}
	closeFacts(t, f)
	if !slices.Equal(log.lines, want) || f.Lost() != 0 {
		t.Errorf("%d facts written, %d lost", len(log.lines), f.Lost())
	}
	if len(observed) != len(want) || observed[0] != "payload_refused" || observed[1] != "header_served" {
		t.Errorf("%d facts observed", len(observed))
	}
	f.Record(refusedIn(1001))
	if f.Lost() != 1 {
		t.Error("a fact after the end is not counted as lost")
	}
}

// Nobody waits for a journal that stands still. What strangers cause may fill one half of the
// queue; the other is for the rest.
func TestFactsDoNotWaitForTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said bytes.Buffer
		log := &testLog{held: make(chan struct{})}
		f := newFacts(log, slog.New(slog.NewTextHandler(&said, nil)), factEncoder{}, nil)
		f.Limit = 8
		f.Record(refusedIn(0))
		synctest.Wait() // the writer stands still with it
		for slot := range phase0.Slot(8) {
			f.Record(servedIn(slot))
		}
		for slot := range phase0.Slot(8) {
			f.Record(refusedIn(slot))
		}
		if f.Lost() != 8 {
			t.Errorf("%d lost", f.Lost())
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := f.Close(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("Close: %v", err)
		}
		close(log.held)
		closeFacts(t, f)
		if got := strings.Join(log.lines[3:7],
			", "); got != "header_served 2, header_served 3, payload_refused 0, payload_refused 1" {
			t.Errorf("written in the middle: %s", got)
		}
		if len(log.lines) != 9 || !strings.Contains(said.String(), "facts=8 in_all=8") {
			t.Errorf("%d facts written, log %q", len(log.lines), said.String())
		}
	})
}

// A busy journal is asked again; only one that takes nothing for a second loses a fact, and the
// next one still has its chance.
func TestFactsHavePatience(t *testing.T) {
	for wait, want := range map[time.Duration]int{900 * time.Millisecond: 0, 1500 * time.Millisecond: 1} {
		synctest.Test(t, func(t *testing.T) {
			var said bytes.Buffer
			began := time.Now()
			log := &testLog{busy: func() bool { return time.Since(began) < wait }}
			f := newFacts(log, slog.New(slog.NewTextHandler(&said, nil)), factEncoder{}, nil)
			f.Record(servedIn(1))
			f.Record(refusedIn(2))
			closeFacts(t, f)
			if f.Lost() != want || len(log.lines) != 2-want || log.lines[1-want] != "payload_refused 2" {
				t.Errorf("busy for %v: %d lost, %v written", wait, f.Lost(), log.lines)
			}
			if (want > 0) != strings.Contains(said.String(), "record relay.header_served: busy") {
				t.Errorf("busy for %v: log %q", wait, said.String())
			}
		})
	}
}

// A delivery that the journal does not take is sent until it does, also when that takes longer than
// others are given; and what is put later goes on meanwhile.
func TestDeliveriesAreSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var back atomic.Bool
		log := &testLog{busy: func() bool { return !back.Load() }}
		f := newFacts(log, slog.New(slog.DiscardHandler), factEncoder{}, nil)
		f.Record(deliveredIn(1))
		f.Record(deliveredIn(2))
		f.Record(refusedIn(1))
		time.Sleep(time.Minute)
		back.Store(true)
		f.Record(refusedIn(3))
		closeFacts(t, f)
		if want := []string{"payload_refused 3", "payload_delivered 1", "payload_delivered 2"}; f.Lost() != 1 ||
			!slices.Equal(slices.Sorted(slices.Values(log.lines)), slices.Sorted(slices.Values(want))) {
			t.Errorf("%d lost, written %q; want 1 and %q", f.Lost(), log.lines, want)
		}
	})
}
