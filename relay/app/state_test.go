package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/relay"
)

// notebook is a journal that keeps state in memory, and nothing at all while it is told to.
type notebook struct {
	mu     sync.Mutex
	away   bool
	kept   map[string]string
	writes []string
	seq    uint64
}

func (n *notebook) StoreState(_ context.Context, subject string, data []byte) (uint64, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.away {
		return 0, errors.New("away")
	}
	n.kept[subject] = string(data)
	n.writes = append(n.writes, subject)
	n.seq++
	return n.seq, nil
}

func (n *notebook) set(away bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.away = away
}

func stateIn(t *testing.T) (*state, *notebook) {
	n := &notebook{kept: map[string]string{}}
	s := newState(n, factEncoder{}, slog.New(slog.DiscardHandler))
	t.Cleanup(func() {
		if err := s.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return s, n
}

func on(why string) relay.Fact { return relay.KillSwitchChanged{On: true, Why: why} }

// What happened while the journal was away is kept when it is back, the newest of each subject, and
// Kept does not pretend before.
func TestStateWaitsForTheJournal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, n := stateIn(t)
		n.set(true)
		for i := range 5 {
			s.Record(on(fmt.Sprint(i)))
		}
		s.Record(relay.BuilderChanged{Builder: relay.Builder{Name: "a.b"}})
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Kept(short); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v: want that nothing is kept", err)
		}
		n.set(false)
		if err := s.Kept(t.Context()); err != nil {
			t.Fatal(err)
		}
		if want := []string{stateKillSwitch, "relay.builder.a%2Eb"}; !slices.Equal(n.writes, want) {
			t.Errorf("written %q, want %q", n.writes, want)
		}
		if change, err := decodeFact[relay.KillSwitchChanged]([]byte(n.kept[stateKillSwitch])); err != nil ||
			change.Why != "4" {
			t.Errorf("%+v, %v: want the last change", change, err)
		}
	})
}

// An older slot that is delivered late does not take the place of a newer one; demotions are
// numbered on from those of earlier lives.
func TestStateIsTheNewest(t *testing.T) {
	s, n := stateIn(t)
	s.noteDemotionNumber("998")
	for _, slot := range []phase0.Slot{7, 9, 8} {
		s.Record(relay.PayloadDelivered{Trace: relay.Trace{Slot: slot}})
	}
	if err := s.Kept(t.Context()); err != nil {
		t.Fatal(err)
	}
	if last, err := decodeFact[relay.PayloadDelivered]([]byte(n.kept[stateDelivered])); err != nil || last.Slot != 9 {
		t.Errorf("slot %d, %v: want the newest", last.Slot, err)
	}
	n.writes = nil
	for range 3 {
		s.Record(relay.BuilderDemoted{Name: "a"})
	}
	if err := s.Kept(t.Context()); err != nil {
		t.Fatal(err)
	}
	if want := []string{"relay.demotion.999", "relay.demotion.0", "relay.demotion.1"}; !slices.Equal(n.writes, want) {
		t.Errorf("%q, want %q", n.writes, want)
	}
}
