package app

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay/submit"
	"github.com/gavel-relay/gavel/relay/wire"
)

// BenchmarkInstances is the time from the last byte of a trusted builder's 1.2 MB submission in
// SSZ, sent to one of two instances on three servers of a journal in this process, until both show
// the bid; and the same for an instance alone on these servers, which has no log. Rounds of both
// follow each other, so above, the difference of the medians, is what the log costs.
func BenchmarkInstances(b *testing.B) {
	servers := benchCluster(b)
	alone := openBenchWith(b, benchOn(servers[0]))
	other := make(chan time.Time, 1)
	first := openBenchShared(b, benchOn(servers[0]), "first", nil)
	openBenchShared(b, benchOn(servers[1]), "second", other)
	block, shared := benchBlock(b, alone.spec, 0, 200, 1000, 7), benchBlock(b, alone.spec, 1, 200, 1000, 7)
	var one, both []time.Duration
	wei := uint64(0)
	for b.Loop() {
		b.StopTimer()
		wei++
		body := offer(b, alone, block, benchBuilders[0], wire.SSZ, wei)
		reader := newLastRead(offer(b, alone, shared, benchBuilders[1], wire.SSZ, wei)) // another value of the escrow
		b.StartTimer()
		took, _ := alone.submit(b, 0, true, wire.SSZ, body)
		one = append(one, took)
		here, _ := first.receive(b, 1, true, wire.SSZ, reader)
		there := (<-other).Sub(reader.at)
		both = append(both, max(here, there))
	}
	p50, p99 := percentile(both, 0.5), percentile(both, 0.99)
	b.ReportMetric(float64(p50.Microseconds()), "p50-µs")
	b.ReportMetric(float64(p99.Microseconds()), "p99-µs")
	b.ReportMetric(float64(percentile(one, 0.5).Microseconds()), "one-p50-µs")
	b.ReportMetric(float64(percentile(one, 0.99).Microseconds()), "one-p99-µs")
	b.ReportMetric(float64((p50 - percentile(one, 0.5)).Microseconds()), "above-p50-µs")
}

// benchOn is a journal on a server of a cluster.
func benchOn(s *server.Server) journal.Config {
	return journal.Config{URL: s.ClientURL(), EscrowBytes: 256 << 20, FactsBytes: 64 << 20, EvidenceBytes: 64 << 20,
		EscrowInMemory: true, AuctionLog: true}
}

// openBenchShared opens the way at one of several instances. shown, if not nil, gets the time of
// each change of the top.
func openBenchShared(b *testing.B, config journal.Config, instance string, shown chan time.Time) *benchWay {
	b.Helper()
	h := openBenchAs(b, config, func(c *submit.Config, j *journal.Journal) {
		c.Log, c.Instance = auctionLog{journal: j, network: "bench"}, instance
		if shown != nil {
			c.TopBids.(*noticeBoard).told = shown
		}
	})
	ctx, stop := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- h.journal.FollowAuction(ctx, 1, func(number uint64, _ time.Time, subject string, data []byte) error {
			if slot, ours := slotOf("bench", subject); ours {
				h.pipeline.Hear(number, slot, data)
			} else {
				h.pipeline.HearOther(number)
			}
			return nil
		})
	}()
	b.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return h
}

// benchCluster is three servers of a journal in this process.
func benchCluster(b *testing.B) (servers [3]*server.Server) {
	b.Helper()
	var routes []*url.URL
	var ports []int
	for range servers {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		ports = append(ports, listener.Addr().(*net.TCPAddr).Port)
		routes = append(routes, &url.URL{Scheme: "nats", Host: listener.Addr().String()})
		if err := listener.Close(); err != nil {
			b.Fatal(err)
		}
	}
	for i := range servers {
		s, err := server.NewServer(&server.Options{
			ServerName: fmt.Sprint("server-", i), Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true,
			StoreDir: b.TempDir(), JetStreamMaxStore: 8 << 30, NoSigs: true, NoLog: true, MaxPayload: 32 << 20,
			MaxPending: 128 << 20,
			Cluster:    server.ClusterOpts{Name: "gavel", Host: "127.0.0.1", Port: ports[i]}, Routes: routes,
		})
		if err != nil {
			b.Fatal(err)
		}
		go s.Start()
		b.Cleanup(func() {
			s.Shutdown()
			s.WaitForShutdown()
		})
		servers[i] = s
	}
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for begun := time.Now(); ; <-poll.C {
		led := false
		for _, s := range servers {
			led = led || s.JetStreamIsLeader() && len(s.JetStreamClusterPeers()) == len(servers)
		}
		if led {
			return servers
		}
		if time.Since(begun) > 30*time.Second {
			b.Fatal("the servers do not find each other")
		}
	}
}
