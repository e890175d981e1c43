package journal

import (
	"fmt"
	"net/url"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

func earlierGuard() jetstream.StreamConfig {
	return jetstream.StreamConfig{Name: guardName, Subjects: []string{"guard.*"}, DenyDelete: true, DenyPurge: true}
}

// threeOptions are the options of three servers that make a cluster, as operators run it.
func threeOptions(t *testing.T) (list []*server.Options) {
	t.Helper()
	var routes []*url.URL
	for range 3 {
		routes = append(routes, &url.URL{Scheme: "nats", Host: freePort(t)})
	}
	for i, route := range routes {
		port, err := strconv.Atoi(route.Port())
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, &server.Options{
			ServerName: fmt.Sprint("server-", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true,
			StoreDir:          t.TempDir(),
			JetStreamMaxStore: 8 << 30, NoSigs: true, NoLog: true, MaxPayload: maxValue, MaxPending: 4 * maxValue,
			Cluster: server.ClusterOpts{Name: "gavel", Host: "127.0.0.1", Port: port}, Routes: routes,
		})
	}
	return list
}

// startOne starts a server, which need not be ready yet. It is stopped with the test.
func startOne(t *testing.T, options *server.Options) *server.Server {
	t.Helper()
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	return s
}

// startThree is a cluster of three servers that has a leader.
func startThree(t *testing.T, changes ...func(*server.Options)) []*server.Server {
	t.Helper()
	var servers []*server.Server
	for _, options := range threeOptions(t) {
		for _, change := range changes {
			change(options)
		}
		servers = append(servers, startOne(t, options))
	}
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		ready := 0
		for _, s := range servers {
			// A server tells clients of the others that it has routes to, and by their number a new stream
			// gets its replicas.
			if s.JetStreamIsCurrent() && s.NumRemotes() == 2 && len(s.JetStreamClusterPeers()) == 3 {
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
	clients := []*Journal{a, b}
	// compete claims a key from so many goroutines at each client. It returns how many claims of each
	// value stand.
	compete := func(key string, each int, values ...string) (stand []int) {
		var group sync.WaitGroup
		won := make([]atomic.Int32, len(values))
		for i := range each * len(clients) {
			client, value := clients[i%len(clients)], (i+i/len(clients))%len(values)
			group.Go(func() {
				standing, stands, err := client.Claim(t.Context(), key, []byte(values[value]))
				// On a busy machine the cluster may have no leader for seconds; who is not answered asks again.
				for again := 0; err != nil && again < 100; again++ {
					<-time.After(200 * time.Millisecond)
					standing, stands, err = client.Claim(t.Context(), key, []byte(values[value]))
				}
				switch {
				case err != nil:
					t.Errorf("%s: %v", key, err)
				case stands:
					won[value].Add(1)
				case string(standing) == values[value]:
					t.Errorf("%s: %q stands and is told to have lost", key, standing)
				}
			})
		}
		group.Wait()
		for i := range won {
			stand = append(stand, int(won[i].Load()))
		}
		return stand
	}
	for slot := range 200 {
		if stand := compete(fmt.Sprint("equal-", slot), 1, "root"); stand[0] != 2 {
			t.Errorf("slot %d: %d of two equal claims stand", slot, stand[0])
		}
		if stand := compete(fmt.Sprint("other-", slot), 1, "root a", "root b"); stand[0]+stand[1] != 1 {
			t.Errorf("slot %d: %v of two different claims stand", slot, stand)
		}
	}
	const each = 8
	for slot := range 50 {
		if stand := compete(fmt.Sprint("equal-many-", slot), each, "root"); stand[0] != 2*each {
			t.Errorf("slot %d: %d of %d equal claims stand", slot, stand[0], 2*each)
		}
		stand := compete(fmt.Sprint("other-many-", slot), each, "root a", "root b")
		if stand[0] != 0 && stand[1] != 0 || stand[0]+stand[1] != each {
			t.Errorf("slot %d: %v of two different claims, each made %d times, stand", slot, stand, each)
		}
	}
}
