package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
	"github.com/gavel-relay/gavel/relay/archive"
)

// watchedArchive notes what it was asked for last.
type watchedArchive struct {
	*archive.Archive
	asked *relay.TraceQuery
}

func (w *watchedArchive) Received(ctx context.Context, q relay.TraceQuery) ([]relay.ReceivedTrace, error) {
	w.asked = &q
	return w.Archive.Received(ctx, q)
}

// bids are facts of received bids that have come to an archive.
type bids struct {
	archive *archive.Archive
	seq     uint64
}

func (b *bids) add(t rapid.TB, slot phase0.Slot, builder, number int, at time.Time) {
	t.Helper()
	b.seq++
	one := trace(slot, int(b.seq%200)+1, fmt.Sprint(b.seq))
	one.Builder, one.BlockNumber = map[int]phase0.BLSPubKey{0: builderA, 1: builderB}[builder], uint64(number)
	raw, err := json.Marshal(relay.SubmissionJudged{Trace: one, ReceivedAt: at, Verified: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.archive.Apply(context.Background(),
		[]projection.Entry{{Seq: b.seq, Subject: "relay." + relay.SubmissionJudged{}.Subject(), Data: raw}}); err != nil {
		t.Fatal(err)
	}
}

func memoryArchive(t rapid.TB) *archive.Archive {
	t.Helper()
	a, err := archive.Open(context.Background(), "sqlite::memory:", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func asks(handler http.Handler, query, accept string) string {
	r := httptest.NewRequestWithContext(context.Background(), http.MethodGet, received+"?"+query, nil)
	r.Header.Set("Accept", accept)
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, r)
	return fmt.Sprint(answer.Code, answer.Body)
}

// After a new row only that one is read, and put before what was kept.
func TestKeptListsGrow(t *testing.T) {
	a := memoryArchive(t)
	defer a.Close()
	watched, come := &watchedArchive{Archive: a}, bids{archive: a}
	handler := mount(watched)
	for range 3 {
		come.add(t, 7, 0, 1, day)
	}
	asks(handler, "slot=7", "application/json")
	come.add(t, 7, 0, 1, day)
	come.add(t, 8, 0, 1, day)
	come.add(t, 7, 0, 1, day)
	watched.asked = nil
	got := asks(handler, "slot=7", "application/json")
	if watched.asked == nil || watched.asked.After != 3 || watched.asked.UpTo != 6 {
		t.Errorf("the archive was asked for %+v, want what came behind 3 up to 6", watched.asked)
	}
	if want := asks(mount(a), "slot=7", "application/json"); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// Whatever comes, goes and is asked, a list that was kept is the list that would be made anew.
func TestKeptListsAreTheSameAsNewOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a := memoryArchive(t)
		defer a.Close()
		come, keeping := bids{archive: a}, mount(a)
		queries := []string{
			"slot=7", "slot=8", "slot=7&limit=2", "slot=7&limit=0", "slot=7&builder_pubkey=" + builderA.String(),
			"slot=7&block_number=1&limit=3",
			"slot=7&block_hash=" + hash(3).String(), "slot=7&builder_pubkey=" + builderB.String() + "&block_number=2",
		}
		at := day
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch rapid.IntRange(0, 5).Draw(t, "step") {
			case 0:
				if _, err := a.Prune(context.Background(),
					at.Add(-time.Duration(rapid.IntRange(0, 5).Draw(t, "kept"))*time.Second)); err != nil {
					t.Fatal(err)
				}
			case 1, 2:
				for range rapid.IntRange(1, 4).Draw(t, "rows") {
					come.add(t, rapid.SampledFrom([]phase0.Slot{7, 7, 8}).Draw(t, "slot"), rapid.IntRange(0, 1).Draw(t, "builder"),
						rapid.IntRange(1, 2).Draw(t, "number"), at)
					at = at.Add(time.Second)
				}
			default:
				query := rapid.SampledFrom(queries).Draw(t, "query")
				accept := rapid.SampledFrom([]string{"application/json", "text/csv", "application/x-ndjson"}).Draw(t, "accept")
				if got, want := asks(keeping, query, accept), asks(mount(a), query, accept); got != want {
					t.Fatalf("%s as %s:\n%s\nwant\n%s", query, accept, got, want)
				}
			}
		}
	})
}

// slowArchive counts the lists that it is asked for, and answers when it is told to.
type slowArchive struct {
	api.Archive
	asked  atomic.Int64
	answer chan error
}

func (s *slowArchive) ReceivedMark(context.Context, phase0.Slot) (relay.Mark, error) {
	return relay.Mark{Rows: 1, Newest: 1}, nil
}

func (s *slowArchive) Received(ctx context.Context, _ relay.TraceQuery) ([]relay.ReceivedTrace, error) {
	s.asked.Add(1)
	select {
	case err := <-s.answer:
		return []relay.ReceivedTrace{{Trace: trace(7, 1, "5"), ReceivedAt: day}}, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Who asks for the same list while it is read waits for that read, also if the first who asked
// leaves. Another form of it is another read. A read that fails fails for all who waited, and the
// next one is tried again.
func TestListsAreReadOnceForAllWhoAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowArchive{answer: make(chan error)}
		handler := mount(slow)
		codes := make(chan int, 20)
		ask := func(ctx context.Context, accept string) {
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, received+"?slot=7", nil)
			r.Header.Set("Accept", accept)
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, r)
			codes <- answer.Code
		}
		round := func(answer error, want int) {
			t.Helper()
			before := slow.asked.Load()
			first, leave := context.WithCancel(t.Context())
			go ask(first, "application/json")
			synctest.Wait()
			for range 8 {
				go ask(t.Context(), "application/json")
			}
			go ask(t.Context(), "text/csv")
			synctest.Wait()
			leave()
			synctest.Wait()
			if got := slow.asked.Load() - before; got != 2 {
				t.Errorf("%d reads, want one of each form", got)
			}
			slow.answer <- answer
			slow.answer <- answer
			for range 10 {
				if got := <-codes; got != want {
					t.Errorf("answered %d, want %d", got, want)
				}
			}
		}
		round(relay.ArchiveUnavailable.Plain(), http.StatusServiceUnavailable)
		round(nil, http.StatusOK)
	})
}
