package journal

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// followAuction reads so many entries of all auction logs.
func followAuction(t *testing.T, j *Journal, entries int) (read []string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := j.FollowAuction(ctx, 1, func(number uint64, _ time.Time, subject string, data []byte) error {
		if read = append(read, fmt.Sprint(number, " ", subject, " ", string(data))); len(read) == entries {
			cancel()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// Two instances begin and append at the same time: each log has one first entry, before all others,
// and both instances read the same order without gaps.
func TestAuctionLogHasOneOrder(t *testing.T) {
	cluster := startCluster(t, maxValue)
	const slots, each = 3, 5
	var instances []*Journal
	for range 2 {
		instances = append(instances, open(t, Config{URL: cluster.ClientURL(), AuctionLog: true}))
	}
	var writing sync.WaitGroup
	for i, j := range instances {
		writing.Go(func() {
			for slot := range slots {
				subject := fmt.Sprint("net.", slot)
				if err := j.BeginAuction(t.Context(), subject, []byte("first")); err != nil {
					t.Error(err)
				}
				for n := range each {
					if _, err := j.AppendAuction(t.Context(), subject, fmt.Append(nil, i, ".", n)); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	writing.Wait()
	const all = slots + 2*slots*each
	if last, err := instances[0].LastAuction(t.Context()); err != nil || last != all {
		t.Fatalf("%d entries, %v; want %d", last, err, all)
	}
	a, b := followAuction(t, instances[0], all), followAuction(t, instances[1], all)
	if !slices.Equal(a, b) {
		t.Errorf("instances read\n%q\n%q", a, b)
	}
	begun := map[string]bool{}
	for at, entry := range a {
		var number int
		var subject, data string
		if _, err := fmt.Sscan(entry, &number, &subject, &data); err != nil {
			t.Fatal(err)
		}
		if number != at+1 || begun[subject] == (data == "first") {
			t.Errorf("entry %q at place %d, begun %v", entry, at+1, begun[subject])
		}
		begun[subject] = true
	}
}

// Only a relay in a cluster has the stream: other services of the cluster do not make it.
func TestAuctionLogIsMadeWhenAskedFor(t *testing.T) {
	cluster := startCluster(t, maxValue)
	j := open(t, Config{URL: cluster.ClientURL()})
	if _, err := j.js.Stream(t.Context(), auctionName); err == nil {
		t.Error("the stream was made for a service that has no auctions")
	}
}
