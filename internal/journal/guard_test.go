package journal

import (
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

func earlierGuard() jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: guardName, Subjects: []string{"guard.*"}, DenyDelete: true, DenyPurge: true}
}

// startThree is a cluster of three servers, as operators run it.
func startThree(t *testing.T) []*server.Server {
	t.Helper()
	servers := make([]*server.Server, 3)
	var routes []*url.URL
	for range servers {
		routes = append(routes, &url.URL{Scheme: "nats", Host: freePort(t)})
	}
	for i := range servers {
		port, err := strconv.Atoi(routes[i].Port())
		if err != nil {
			t.Fatal(err)
		}
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprint("server-", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true,
			StoreDir:          t.TempDir(),
			JetStreamMaxStore: 8 << 30, NoSigs: true, NoLog: true, MaxPayload: maxValue, MaxPending: 4 * maxValue,
			Cluster: server.ClusterOpts{Name: "gavel", Host: "127.0.0.1", Port: port}, Routes: routes,
		})
		if err != nil {
			t.Fatal(err)
		}
		go s.Start()
		t.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		servers[i] = s
	}
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		ready := 0
		for _, s := range servers {
			if s.JetStreamIsCurrent() && s.NumRoutes() > 0 && len(s.JetStreamClusterPeers()) == 3 {
				ready++
			}
			if s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == 3 {
				ready += 10
			}
		}
		if ready > 10 {
			return servers
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			t.Fatal("the servers do not find each other")
		}
	}
}

// mev-boost sends a signed block to every relay that it knows: two instances claim the same at the
// same moment, and both must be told that it stands. Different blocks never both stand.
func TestEqualClaimsAtTwoInstancesOfACluster(t *testing.T) {
	servers := startThree(t)
	a, b := open(t, Config{URL: servers[0].ClientURL()}), open(t, Config{URL: servers[1].ClientURL()})
	info, err := a.facts.Info(t.Context())
	if err != nil || info.Config.Replicas != 3 {
		t.Fatalf("%v, %v: want three replicas by default", info, err)
	}
	both := func(key string, one, other string) (wins int) {
		var group sync.WaitGroup
		won := make([]bool, 2)
		for i, claim := range []func() (bool, error){
			func() (bool, error) { _, won, err := a.Claim(t.Context(), key, []byte(one)); return won, err },
			func() (bool, error) { _, won, err := b.Claim(t.Context(), key, []byte(other)); return won, err },
		} {
			group.Go(func() {
				var err error
				if won[i], err = claim(); err != nil {
					t.Errorf("%s: %v", key, err)
				}
			})
		}
		group.Wait()
		for _, won := range won {
			if won {
				wins++
			}
		}
		return wins
	}
	for slot := range 500 {
		if wins := both(fmt.Sprint("equal-", slot), "root", "root"); wins != 2 {
			t.Errorf("slot %d: %d of two equal claims stand", slot, wins)
		}
		if wins := both(fmt.Sprint("other-", slot), "root a", "root b"); wins != 1 {
			t.Errorf("slot %d: %d of two different claims stand", slot, wins)
		}
	}
}
