package journal

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
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

// A cluster may lose its leader between the start's first steps. The network is bound as soon as
// there is one again.
func TestNetworkIsBoundWhenThereIsALeaderAgain(t *testing.T) {
	list := threeOptions(t)
	var cluster []*server.Server
	for _, options := range list {
		cluster = append(cluster, startOne(t, options))
	}
	if !cluster[0].ReadyForConnections(startTime) {
		t.Fatal("the server does not start")
	}
	waits := make(chan string, 1)
	opened := make(chan struct{})
	j := open(t, Config{URL: cluster[0].ClientURL(), StartTimeout: time.Minute, Waiting: func(what string) {
		select {
		case <-opened:
			select {
			case waits <- what:
			default:
			}
		default:
		}
	}})
	close(opened)
	for _, s := range cluster[1:] {
		s.Shutdown()
		s.WaitForShutdown()
	}
	bound := make(chan error, 1)
	go func() { bound <- j.KeepNetwork(t.Context(), map[string]string{"chain": "1"}) }()
	select {
	case what := <-waits:
		if !strings.Contains(what, "network") {
			t.Errorf("it waits for %s", what)
		}
	case err := <-bound:
		t.Fatalf("%v without a leader", err)
	}
	startOne(t, list[1])
	if err := <-bound; err != nil {
		t.Error(err)
	}
}
