package app

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/conformance/bench"
	"github.com/gavel-relay/gavel/conformance/load"
	"github.com/gavel-relay/gavel/conformance/world"
)

// retelling is a proxy in front of a stream: how often it passes on the event with a number, from 0
// on; less than 0 ends the connection.
func retelling(t *testing.T, stream string, times func(event int) int) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		request, err := http.NewRequestWithContext(r.Context(), http.MethodGet, stream, http.NoBody)
		if err != nil {
			t.Error(err)
			return
		}
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return // the listener has gone
		}
		defer answer.Body.Close()
		w.Header().Set("Content-Type", "text/event-stream")
		_ = http.NewResponseController(w).Flush()
		lines := bufio.NewScanner(answer.Body)
		for number := 0; lines.Scan(); {
			if !strings.HasPrefix(lines.Text(), "data:") {
				continue
			}
			n := times(number)
			if n < 0 {
				return
			}
			_, _ = io.WriteString(w, strings.Repeat(lines.Text()+"\n\n", n))
			_ = http.NewResponseController(w).Flush()
			number++
		}
	}))
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	return server.URL
}

// Our own stream loses nothing and tells nothing twice under load. Streams that do are found out,
// and one that cuts listeners is told of.
func TestBenchStream(t *testing.T) {
	local, around := startLoaded(t, world.Config{Slot: time.Second})
	stream := local.Target.Stream.URL
	for _, row := range []struct {
		name          string
		url           string
		lost, doubled bool
		note          string
	}{
		{"right", stream, false, false, ""},
		{"passed on", retelling(t, stream, func(int) int { return 1 }), false, false, ""},
		{"every third is lost", retelling(t, stream, func(n int) int { return min(n%3, 1) }), true, false, ""},
		{"every third is doubled", retelling(t, stream, func(n int) int { return 1 + n%3/2 }), false, true, ""},
		{"listeners are cut", retelling(t, stream, func(n int) int { return 1 - 2*(n/5) }), false, false,
			"4 of 4 listeners were cut"},
	} {
		report, err := load.RPC{URL: local.Target.RPC.URL, StreamURL: row.url, Listeners: 4, World: around,
			Mix:    bench.UsualStreamMix,
			Phases: []bench.Phase{{Name: "steady", For: time.Second, PerSecond: 30, Connections: 4}}}.Run(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		for i, want := range []bool{row.lost, row.doubled} {
			if f := report.Faults[2+i]; f.Found > 0 != want || f.Checked == 0 {
				t.Errorf("%s: %+v", row.name, f)
			}
		}
		if notes := strings.Join(report.Notes, "; "); !strings.Contains(notes, row.note) || row.note == "" && notes != "" {
			t.Errorf("%s: notes %q", row.name, notes)
		}
		events, orders := report.Phases[0].Measure(bench.Events), report.Phases[0].Measure(bench.Private)
		if orders == nil || orders.Good == 0 || events == nil ||
			row.note == "" && events.Requests != 4*orders.Good {
			t.Errorf("%s: %+v of %+v", row.name, events, orders)
		}
	}
	if _, err := (load.RPC{URL: local.Target.RPC.URL, StreamURL: local.Target.RPC.URL, Listeners: 1, World: around,
		Mix: bench.UsualStreamMix, Phases: []bench.Phase{{For: time.Second, Connections: 1}}}).Run(t.Context()); err == nil {
		t.Error("a server that is no stream is followed")
	}
}
