package api_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/archive"
)

// BenchmarkReceived500 asks over loopback for the received bids of a slot with 500 rows, in a
// database on disk: again and again, and with a new row before each request, so that what was kept
// is not the answer any more. Writing the row is not counted in requests/s.
func BenchmarkReceived500(b *testing.B) {
	for _, fresh := range []bool{false, true} {
		name := "again"
		if fresh {
			name = "after_a_new_row"
		}
		b.Run(name, func(b *testing.B) { benchReceived(b, fresh) })
	}
}

func benchReceived(b *testing.B, fresh bool) {
	a, err := archive.Open(b.Context(), "sqlite:"+filepath.Join(b.TempDir(), "archive.db"), slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	seq := uint64(0)
	add := func() {
		seq++
		one := trace(7, 1, "1000000000000000000")
		one.BlockHash = phase0.Hash32{byte(seq), byte(seq >> 8)}
		raw, err := json.Marshal(relay.SubmissionJudged{Trace: one, ReceivedAt: day, Verified: true})
		if err != nil {
			b.Fatal(err)
		}
		if err := a.Apply(context.Background(),
			[]projection.Entry{{Seq: seq, Subject: "relay." + relay.SubmissionJudged{}.Subject(), Data: raw}}); err != nil {
			b.Fatal(err)
		}
	}
	for range 500 {
		add()
	}
	server := httptest.NewServer(mount(a))
	defer server.Close()
	var asking time.Duration
	before := processorTime(b)
	for b.Loop() {
		if fresh {
			add()
		}
		begin := time.Now()
		answer, err := http.Get(server.URL + "/relay/v1/data/bidtraces/builder_blocks_received?slot=7")
		if err != nil {
			b.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, answer.Body); err != nil || n < 250_000 {
			b.Fatal(n, err)
		}
		if err := answer.Body.Close(); err != nil {
			b.Fatal(err)
		}
		asking += time.Since(begin)
	}
	b.ReportMetric(float64(b.N)/asking.Seconds(), "requests/s")
	b.ReportMetric(float64((processorTime(b)-before).Microseconds())/float64(b.N), "cpu-µs")
}

// processorTime is what this process has used of the processors.
func processorTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// A list that was kept is not told any more once its slot has other rows, and each form is kept by
// itself.
func TestKeptListsAreTheNewest(t *testing.T) {
	a, err := archive.Open(t.Context(), "sqlite::memory:", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	handler := mount(a)
	ask := func(accept string) int {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet,
			"/relay/v1/data/bidtraces/builder_blocks_received?slot=7", nil)
		r.Header.Set("Accept", accept)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, r)
		return strings.Count(answer.Body.String(), "36000000")
	}
	for rows := range 4 {
		for range 2 {
			for _, accept := range []string{"application/json", "text/csv", "application/x-ndjson"} {
				if got := ask(accept); got != rows {
					t.Errorf("%s: %d rows, want %d", accept, got, rows)
				}
			}
		}
		raw, err := json.Marshal(relay.SubmissionJudged{Trace: trace(7, rows, "5"), ReceivedAt: day, Verified: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := a.Apply(t.Context(),
			[]projection.Entry{{Seq: uint64(rows + 1), Subject: "relay." + relay.SubmissionJudged{}.Subject(),
				Data: raw}}); err != nil {
			t.Fatal(err)
		}
	}
	if deleted, err := a.Prune(t.Context(), day.Add(time.Hour)); err != nil || deleted != 4 {
		t.Fatal(deleted, err)
	}
	if got := ask("application/json"); got != 0 {
		t.Errorf("%d rows that were pruned", got)
	}
}
