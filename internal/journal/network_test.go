package journal

import (
	"errors"
	"sync"
	"testing"
)

// A journal belongs to the network of the first service, whatever kind of service comes next. What
// two services do not both know is not compared.
func TestJournalBelongsToOneNetwork(t *testing.T) {
	manners(t, func(t *testing.T, cfg Config) {
		j := open(t, cfg)
		for _, c := range []struct {
			known map[string]string
			other bool
		}{
			{map[string]string{"chain": "1"}, false},
			{map[string]string{"chain": "1", "beacon-genesis": "a"}, false},
			{map[string]string{"beacon-genesis": "a"}, false},
			{map[string]string{"chain": "1", "beacon-genesis": "b"}, true},
			{map[string]string{"chain": "17000"}, true},
			{map[string]string{"chain": "1", "execution-genesis": "0x1"}, false},
			{map[string]string{"chain": "1", "execution-genesis": "0x2"}, true},
			{nil, false},
		} {
			if err := j.KeepNetwork(t.Context(), c.known); errors.Is(err, ErrOtherNetwork) != c.other || err != nil && !c.other {
				t.Errorf("%v: %v, want other network: %v", c.known, err, c.other)
			}
		}
		got, err := j.Network(t.Context())
		if err != nil || got["chain"] != "1" || got["beacon-genesis"] != "a" || got["execution-genesis"] != "0x1" {
			t.Errorf("%v, %v", got, err)
		}
	})
}

// Two networks that start on a new cluster at the same moment do not both get it.
func TestNetworksThatStartTogether(t *testing.T) {
	cluster := startThree(t)
	a := open(t, Config{URL: cluster[0].ClientURL()})
	b := open(t, Config{URL: cluster[1].ClientURL()})
	var errs [2]error
	var both sync.WaitGroup
	for i, j := range []*Journal{a, b} {
		both.Go(func() {
			errs[i] = j.KeepNetwork(t.Context(), map[string]string{"chain": string(rune('1' + i))})
		})
	}
	both.Wait()
	if (errs[0] == nil) == (errs[1] == nil) {
		t.Errorf("%v and %v: want one of them refused", errs[0], errs[1])
	}
}
