package history

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/projection/projectiontest"
	"github.com/gavel-relay/gavel/stream"
)

var noon = time.Unix(1_000_000, 0)

func prune(t *testing.T, h *openedHistory, now time.Time, keep Retention) {
	t.Helper()
	for {
		_, err := h.Prune(t.Context(), now, keep)
		if err == nil {
			return
		}
		if !errors.Is(err, projectiontest.ErrFault) {
			t.Fatal(err)
		}
	}
}

// What is too old by blocks or by age goes; what is left says what there is. Ids go on, and no
// order is announced again.
func TestPrune(t *testing.T) {
	onEach(t, func(t *testing.T, h *openedHistory) {
		record(t, h, came{1, 10, 1_000_000}, came{2, 11, 1_000_100}, came{3, 11, 1_000_200}, came{4, 9, 1_000_300},
			came{5, 12, 1_000_400})
		for _, step := range []struct {
			name string
			now  time.Time
			keep Retention
			want string
			info stream.Info
		}{
			{"nothing", noon.Add(time.Hour), Retention{}, "1:1 2:2 3:3 4:4 5:5", known(5, 9, 1_000_000, 12, 1_000_400)},
			{"three blocks", noon, Retention{Blocks: 3}, "1:1 2:2 3:3 5:5", known(4, 10, 1_000_000, 12, 1_000_400)},
			{"a minute", noon.Add(160 * time.Second), Retention{For: time.Minute}, "2:2 3:3 5:5",
				known(3, 11, 1_000_100, 12, 1_000_400)},
			{"both", noon.Add(160 * time.Second), Retention{Blocks: 1, For: time.Minute}, "5:5",
				known(1, 12, 1_000_400, 12, 1_000_400)},
			{"all", noon.Add(time.Hour), Retention{For: time.Minute}, "", stream.Info{}},
			{"of nothing", noon.Add(time.Hour), Retention{Blocks: 1, For: time.Minute}, "", stream.Info{}},
		} {
			prune(t, h, step.now, step.keep)
			if got := page(t, h, everything(10)); got != step.want || info(t, h) != step.info {
				t.Errorf("%s: %q, %+v, want %q, %+v", step.name, got, info(t, h), step.want, step.info)
			}
		}
		record(t, h, came{3, 12, 1_000_500}, came{6, 12, 1_000_500})
		if got, want := page(t, h, everything(10)), "7:6"; got != want {
			t.Errorf("afterwards %q, want %q", got, want)
		}
		if got := shown(h.published); got != "1:1 2:2 3:3 4:4 5:5 7:6" {
			t.Errorf("published %q", got)
		}
	})
}

// What another process has deleted is known at the next look.
func TestKeepLooksEveryHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := openAt(t, "sqlite::memory:")
		record(t, h, came{1, 1, time.Now().Unix()}, came{2, 1, time.Now().Add(30 * time.Minute).Unix()})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { h.Keep(ctx, time.Now, Retention{For: time.Minute}); close(ended) }()
		for _, want := range []int64{2, 0} {
			synctest.Wait()
			if got := info(t, h).Count; got != want {
				t.Errorf("%d events, want %d", got, want)
			}
			<-time.After(time.Hour)
		}
		cancel()
		<-ended
	})
}

func known(count, minBlock, minSec, maxBlock, maxSec int64) stream.Info {
	return stream.Info{Count: count, MinBlock: minBlock, MinSec: minSec, MaxBlock: maxBlock, MaxSec: maxSec}
}
