package replay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
	"github.com/gavel-relay/gavel/relay/archive"
)

// The slots of the relay's story: a payload in each, but none in every seventh.
const firstSlot, lastSlot = 7567001, 7567450

func slotStart(slot int64) time.Time { return time.Unix(1606824023+slot*12, 0) }

// relayFacts are a bid in each slot, a second one in each tenth, and 600 in one.
func relayFacts(t *testing.T) (facts []projection.Entry, bids, deliveries int) {
	t.Helper()
	add := func(fact relay.Fact) {
		raw, err := json.Marshal(fact)
		if err != nil {
			t.Fatal(err)
		}
		facts = append(facts, projection.Entry{
			Seq: uint64(len(facts) + 1), Subject: "relay." + fact.Subject(), Data: raw,
		})
	}
	for slot := int64(firstSlot); slot <= lastSlot; slot++ {
		count := 1
		if slot%10 == 0 {
			count = 2
		}
		for n := range count {
			trace := relay.Trace{
				Slot: phase0.Slot(slot), BlockHash: phase0.Hash32{byte(slot), byte(slot >> 8), byte(n), byte(n >> 8), 1},
				Builder: phase0.BLSPubKey{byte(n)}, ValueWei: uint256.NewInt(uint64(1000 + n)), NumTx: 3,
				BlockNumber: uint64(slot), GasLimit: 36_000_000, GasUsed: 21_000,
			}
			at := slotStart(slot).Add(time.Duration(n) * time.Millisecond)
			add(relay.SubmissionJudged{Trace: trace, ReceivedAt: at, EligibleAt: at, Verified: true})
			bids++
			if n == 0 && slot%7 != 0 {
				add(relay.PayloadDelivered{Trace: trace, At: at})
				deliveries++
			}
		}
	}
	return facts, bids, deliveries
}

// ourRelay serves the Data API of our relay over HTTP, through before, which may answer itself.
func ourRelay(t *testing.T, before func(http.ResponseWriter, *http.Request) bool) (address string, bids,
	deliveries int) {
	t.Helper()
	a, err := archive.Open(t.Context(), "sqlite::memory:", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	facts, bids, deliveries := relayFacts(t)
	if err := a.Apply(t.Context(), facts); err != nil {
		t.Fatal(err)
	}
	mux := api.NewMux()
	api.MountData(mux, api.DataConfig{Archive: a})
	return served(t, func(w http.ResponseWriter, r *http.Request) {
		if before == nil || !before(w, r) {
			mux.ServeHTTP(w, r)
		}
	}), bids, deliveries
}

func served(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// ofRelay are options with a clock that leaps, so that nothing waits.
func ofRelay(t *testing.T, from, to int64) (Options, *clock.Leap) {
	t.Helper()
	leap := clock.NewLeap(slotStart(lastSlot+100), slotStart(lastSlot+1e6), nil)
	o := options(t.TempDir())
	o.FromRelay = FromRelay{From: from, To: to, Clock: leap, Pace: 200 * time.Millisecond}
	return o, leap
}

// All that a relay lists of some slots is imported, also over several pages, and nothing else.
func TestImportFromRelay(t *testing.T) {
	asked := map[string]int{}
	address, bids, deliveries := ourRelay(t, func(_ http.ResponseWriter, r *http.Request) bool {
		asked[r.URL.String()]++
		return false
	})
	o, leap := ofRelay(t, firstSlot, lastSlot)
	began := leap.Now()
	r := imported(t, o, strings.Replace(address, "http://", "http://0xabcd@", 1)+"/")[0]
	if r.Added != int64(bids+deliveries) || r.Bad != 0 || r.Failure != "" || !r.Done {
		t.Errorf("%+v, want %d bids and %d deliveries", r.Input, bids, deliveries)
	}
	if strings.Contains(r.Name, "abcd") || !strings.HasSuffix(r.Name, " slots 7567001-7567450") {
		t.Errorf("the input is %q", r.Name)
	}
	for query, n := range asked {
		if n > 1 {
			t.Errorf("%s was asked %d times", query, n)
		}
	}
	if len(asked) != 450+2 && len(asked) != 450+3 {
		t.Errorf("%d requests", len(asked))
	}
	if took, want := leap.Now().Sub(began), time.Duration(len(asked)-1)*o.FromRelay.Pace; took < want {
		t.Errorf("%d requests within %s", len(asked), took)
	}
	before := tree(t, o.Into)
	if again := imported(t, o, address); !again[0].Before || !maps.Equal(before, tree(t, o.Into)) {
		t.Errorf("imported twice: %+v", again[0].Input)
	}
	part, _ := ofRelay(t, firstSlot+100, firstSlot+109)
	part.Relay = "ours"
	if r := imported(t, part, address)[0]; r.Added != 10+1+9 && r.Added != 10+1+8 {
		t.Errorf("ten slots: %+v", r.Input)
	}
	run := runOptions(t, part.Into, "")
	run.Relay = "ours"
	if report := mustRun(t, run); report.Slots != 10 || report.Summaries[0].Bids != 11 {
		t.Errorf("%d slots, %d bids", report.Slots, report.Summaries[0].Bids)
	}
}

// A relay that is busy is asked again when it says, also as a date; one that fails later and later.
func TestRelayIsBusy(t *testing.T) {
	o, leap := ofRelay(t, firstSlot, firstSlot+2)
	var times []time.Time
	address, _, _ := ourRelay(t, func(w http.ResponseWriter, _ *http.Request) bool {
		times = append(times, leap.Now())
		switch len(times) {
		case 1:
			w.Header().Set("Retry-After", "37")
			w.WriteHeader(http.StatusTooManyRequests)
		case 2:
			w.Header().Set("Retry-After", leap.Now().Add(time.Minute).UTC().Format(http.TimeFormat))
			w.WriteHeader(http.StatusServiceUnavailable)
		case 3, 4:
			w.WriteHeader(http.StatusBadGateway)
		case 5: // the connection breaks within the answer
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "[{")
		default:
			return false
		}
		return true
	})
	if r := imported(t, o, address)[0]; r.Failure != "" || r.Added < 3 {
		t.Fatalf("%+v", r.Input)
	}
	for i, seconds := range []time.Duration{37, 59, 4, 8, 16} {
		least := seconds * time.Second
		if waited := times[i+1].Sub(times[i]); waited < least || waited > least+2*time.Second {
			t.Errorf("after answer %d: waited for %s, want %s", i+1, waited, least)
		}
	}
}

// An import from a relay that is killed at any answer goes on there: each list is asked for once
// more at most, and the tables are those without the kill.
func TestImportFromRelayGoesOn(t *testing.T) {
	var stop func()
	var asked, left int
	address, _, _ := ourRelay(t, func(http.ResponseWriter, *http.Request) bool {
		asked++
		if left--; left == 0 {
			stop()
		}
		return false
	})
	whole, _ := ofRelay(t, firstSlot, lastSlot)
	imported(t, whole, address)
	want := tables(tree(t, whole.Into))
	all := asked
	for _, kill := range []int{1, 2, 3, 60, 150, 333, all} {
		o, _ := ofRelay(t, firstSlot, lastSlot)
		ctx, cancel := context.WithCancel(t.Context())
		stop, left, asked = cancel, kill, 0
		if _, err := Import(ctx, []string{address}, o); !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped at answer %d: %v", kill, err)
		}
		stop, left = func() {}, 0
		r := imported(t, o, address)[0]
		if !r.Done || asked > all+2 {
			t.Errorf("stopped at answer %d: %d requests in place of %d, %+v", kill, asked, all, r.Input)
		}
		if !maps.Equal(want, tables(tree(t, o.Into))) {
			t.Errorf("stopped at answer %d, the tables are others", kill)
		}
	}
}

// row is an item of a list. Without ms it is one of delivered payloads.
func row(slot int64, ms string) string {
	text := `{"slot":"` + strconv.FormatInt(slot, 10) + `","value":"7","block_hash":"0x` + strings.Repeat("ab", 32) + `"`
	if ms != "" {
		text += `,"timestamp_ms":"` + ms + `"`
	}
	return text + "}"
}

func many(n int, of func(i int) string) string {
	rows := make([]string, n)
	for i := range rows {
		rows[i] = of(i)
	}
	return "[" + strings.Join(rows, ",") + "]"
}

// Whatever a relay answers, the import ends, with an error that says what is wrong; what had come
// before is kept.
func TestHostileRelay(t *testing.T) {
	now := strconv.FormatInt(slotStart(firstSlot+5).UnixMilli(), 10)
	elsewhere := served(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "[]") })
	for _, c := range []struct {
		name      string
		delivered string // the answer to each question; empty: none delivered
		received  string
		status    int
		header    string
		want      error
	}{
		{name: "repeated page", delivered: many(200, func(int) string { return row(firstSlot+9, "") }), want: errFullSlot},
		{name: "cursor ignored", delivered: "[" + row(firstSlot+8, "") + "]", want: errNotAsked},
		{name: "ascending", delivered: many(9, func(i int) string { return row(firstSlot+int64(i), "") }), want: errNotAsked},
		{name: "above the cursor", delivered: "[" + row(firstSlot+50, "") + "]", want: errNotAsked},
		{name: "bids for payloads", delivered: "[" + row(firstSlot+5, now) + "]", want: errNotAsked},
		{name: "payloads for bids", received: "[" + row(firstSlot, "") + "]", want: errNotAsked},
		{name: "another slot", received: "[" + row(firstSlot+5, now) + "]", want: errNotAsked},
		{name: "web page", delivered: "<html><body>hello", header: "text/html", want: errNoList},
		{name: "an object", delivered: `{"data":[]}`, want: errNoList},
		{name: "cut", delivered: `[{"slot":"1"`, want: errNoList},
		{name: "deep", delivered: strings.Repeat("[", 1<<20), want: errNoList},
		{name: "too long", delivered: "[" + strings.Repeat(" ", maxListBytes) + "]", want: errLongAnswer},
		{name: "too many rows", delivered: many(maxRows+1, func(int) string { return "{}" }), want: errManyRows},
		{name: "always busy", status: 429, want: errFails},
		{name: "always failing", status: 500, want: errFails},
		{name: "busy for a day", status: 429, header: "86400", want: errAskedOff},
		{name: "sent elsewhere", status: 302, header: strings.Replace(elsewhere, "127.0.0.1", "localhost", 1),
			want: errRedirected},
	} {
		address := served(t, func(w http.ResponseWriter, r *http.Request) {
			answer := c.delivered
			if strings.HasSuffix(r.URL.Path, receivedList) {
				answer = c.received
			}
			if c.header != "" {
				for _, name := range []string{"Content-Type", "Retry-After", "Location"} {
					w.Header().Set(name, c.header)
				}
			}
			if c.status != 0 {
				w.WriteHeader(c.status)
			}
			if answer == "" {
				answer = "[]"
			}
			_, _ = io.WriteString(w, answer) // the client goes when it has enough
		})
		o, _ := ofRelay(t, firstSlot, firstSlot+9)
		results, err := Import(t.Context(), []string{address, all[0]}, o)
		if !errors.Is(err, ErrIncomplete) || len(results) != 2 || results[1].Added != 12 {
			t.Fatalf("%s: %v, %+v", c.name, err, results)
		}
		if !strings.Contains(results[0].Failure, c.want.Error()) || results[0].Done {
			t.Errorf("%s: %q, want %q", c.name, results[0].Failure, c.want)
		}
		before := tree(t, o.Into)
		again, err := Import(t.Context(), []string{address}, o)
		if !errors.Is(err, ErrIncomplete) || again[0].Failure != results[0].Failure ||
			!maps.Equal(before, tree(t, o.Into)) {
			t.Errorf("%s again: %v, %q", c.name, err, again[0].Failure)
		}
	}
}

// Bad rows of an answer, and an answer that may have been cut, are named by what was asked.
func TestBadAnswers(t *testing.T) {
	now := strconv.FormatInt(slotStart(firstSlot).UnixMilli(), 10)
	address := served(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, receivedList):
			fmt.Fprint(w, many(maxReceived, func(i int) string {
				return strings.Replace(row(firstSlot, now), `"7"`, fmt.Sprintf(`"%d"`, i), 1)
			}))
		case r.URL.Query().Get("cursor") == strconv.Itoa(firstSlot):
			fmt.Fprint(w, `[{"slot":"x"}]`)
		}
	})
	o, _ := ofRelay(t, firstSlot, firstSlot)
	r := imported(t, o, address)[0]
	if r.Added != maxReceived || r.Bad != 2 || r.Rows != maxReceived+2 {
		t.Errorf("%+v", r.Input)
	}
	text := tree(t, o.Into)["rejected/"+r.ID+"-2.ndjson"]
	for _, want := range []string{
		`"place":"answer","at":1,"reason":"proposer_payload_delivered?cursor=7567001\u0026limit=200: row 1: slot: `,
		`"at":2,"reason":"the relay lists 500 bids of the slot, the most of an answer: there may be more",` +
			`"text":"builder_blocks_received?limit=500\u0026slot=7567001"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

func TestCheckRelay(t *testing.T) {
	o, _ := ofRelay(t, 10, 20)
	for path, want := range map[string]error{
		"https://relay.example": nil, "http://0xabcd@127.0.0.1:1/path/": nil, "https://": errNoAddress,
		"https://relay.example/relay/v1/data/bidtraces/builder_blocks_received?slot=1": errNoAddress,
		"https://relay.example?x": errNoAddress, "http://%": errNoAddress,
	} {
		if err := CheckRelay(path, o.Network, o.FromRelay); !errors.Is(err, want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	for slots, want := range map[[2]int64]error{
		{0, -1}: errNoSlots, {5, 4}: errNoSlots, {0, lastSlot + 1000}: errNotOver, {0, 1 << 62}: errNotOver,
	} {
		f := o.FromRelay
		f.From, f.To = slots[0], slots[1]
		if err := CheckRelay("https://relay.example", o.Network, f); !errors.Is(err, want) {
			t.Errorf("%d: %v", slots, err)
		}
	}
	for _, text := range []string{"", "x", "5-4", "-1", "1-", "1-2-3"} {
		if _, _, err := ParseSlots(text); err == nil {
			t.Errorf("slots %q are taken", text)
		}
	}
	if from, to, err := ParseSlots("7"); from != 7 || to != 7 || err != nil {
		t.Error(from, to, err)
	}
}
