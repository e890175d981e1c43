package api

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/stream"
)

// Who gets the page: only those who like HTML better than a stream.
func TestWhoGetsThePage(t *testing.T) {
	h := newLiveServer(nil)
	for accept, want := range map[string]string{
		"text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8": "text/html; charset=utf-8",
		"text/html":                    "text/html; charset=utf-8",
		"":                             "text/event-stream",
		"*/*":                          "text/event-stream",
		"text/event-stream":            "text/event-stream",
		"application/json":             "text/event-stream",
		"nonsense":                     "text/event-stream",
		"text/event-stream, text/html": "text/event-stream",
		"text/html;q=0":                "text/event-stream",
	} {
		r := httptest.NewRequest("HEAD", "/", nil)
		if accept != "" {
			r.Header.Set("Accept", accept)
		}
		answer := httptest.NewRecorder()
		h.handler().ServeHTTP(answer, r)
		if got := answer.Header().Get("Content-Type"); got != want || answer.Header().Get("Vary") != "Accept" {
			t.Errorf("%q gets %s", accept, got)
		}
	}
}

func TestRow(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, test := range []struct {
		json        string
		want        row
		clock, more string
		unreadable  bool
	}{
		{json: `{"hash":"0x01","logs":null,"txs":null}`, want: row{Hash: "0x01"}, clock: "03:04:05"},
		{
			json:  `{"hash":"0x01","logs":[{},{}],"txs":[{"to":"0x02","functionSelector":"0xa9059cbb"},{},{}],"mevGasPrice":"0x1","gasUsed":"0x5208"}`,
			want:  row{Hash: "0x01", To: "0x02", Selector: "0xa9059cbb", Gas: "21000", Transactions: 3, Logs: 2},
			clock: "03:04:05", more: "+2",
		},
		{json: `{"gasUsed":"many"}`, clock: "03:04:05"},
		{json: `[]`, unreadable: true},
		{json: ``, unreadable: true},
	} {
		got, ok := rowOf(stream.Event{Block: 7, At: at, JSON: []byte(test.json)})
		if ok == test.unreadable {
			t.Errorf("%s: %v", test.json, ok)
		}
		if test.unreadable {
			continue
		}
		test.want.Block, test.want.At = 7, at
		if got != test.want || got.Clock() != test.clock || got.More() != test.more {
			t.Errorf("%s: %+v", test.json, got)
		}
	}
}

// wait runs actions, the last of which may wait for the page.
func run(ctx context.Context, t *testing.T, actions ...chromedp.Action) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute) // only when the test fails
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		var page string
		_ = chromedp.Run(ctx, chromedp.Text("body", &page))
		t.Fatalf("%v; the page shows\n%s", err, page)
	}
}

// until waits for a condition of the page.
func until(condition string, args ...any) chromedp.Action {
	return chromedp.Poll(fmt.Sprintf(condition, args...), nil, chromedp.WithPollingInterval(20*time.Millisecond))
}

const (
	stateIs  = `document.querySelector("#state").textContent === %q`
	firstRow = `document.querySelector("#events tr td[data-label=%s]").textContent === %q`
	figure   = `document.querySelector("#%s").textContent === %q`
)

// withHistory adds as much of a history as the page asks for.
func (h *liveServer) withHistory() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/history/info", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"count":%d,"maxBlock":%d}`, h.published, 100+h.published)
	})
	mux.HandleFunc("/api/v1/history", func(w http.ResponseWriter, _ *http.Request) {
		h.past.mu.Lock()
		defer h.past.mu.Unlock()
		var rows []string
		for _, event := range h.past.events {
			rows = append(rows, fmt.Sprintf(`{"block":%d,"hint":%s}`, event.Block, event.JSON))
		}
		_, _ = fmt.Fprintf(w, "[%s]", strings.Join(rows, ","))
	})
	mux.Handle("/", h.handler())
	return mux
}

// In a browser as wide as a phone: what was last is there before any script runs, what comes
// appears, and when the connection breaks the page says so, comes back, and has missed nothing.
func TestPageShowsEvents(t *testing.T) {
	h := newLiveServer(nil)
	h.publish(hint(1), hint(2))
	server := httptest.NewServer(serve.Options{}.Wrap(h.withHistory()))
	t.Cleanup(server.Close) // after the browser has gone
	ctx := servetest.OpenBrowser(t, 360, 740)
	var title string
	var rows int
	run(ctx, t, chromedp.Navigate(server.URL), chromedp.Title(&title),
		chromedp.Evaluate(`document.querySelectorAll("#events tr").length`, &rows),
		until(stateIs, "live"), until(firstRow, "block", "102"), until(figure, "block", "102"))
	if title != "devnet · order flow, live" || rows != 2 {
		t.Errorf("title %q, %d rows", title, rows)
	}
	bundle := fmt.Sprintf(
		`{"hash":"0x%064x","logs":[{},{}],"txs":[{"to":"0x0a","functionSelector":"0x12345678"},{}],"gasUsed":"0x186a0"}`, 3)
	h.publish(bundle)
	run(ctx, t, until(firstRow, "hash", fmt.Sprintf("0x%064x", 3)), until(firstRow, "to", "0x0a +1"),
		until(firstRow, "selector", "0x12345678"),
		until(firstRow, "logs", "2"), until(firstRow, "gas", "100000"), until(figure, "count", "1"),
		until(figure, "bundles", "1"),
		until(firstRow, "block", "103"))
	server.CloseClientConnections()
	run(ctx, t, until(stateIs, "connection lost, trying again"))
	h.publish(hint(4), hint(5))
	run(ctx, t, until(stateIs, "live"), until(firstRow, "hash", fmt.Sprintf("0x%064x", 5)), until(figure, "count", "3"))
	var hashes []string
	run(ctx, t, chromedp.Evaluate(`[...document.querySelectorAll("#events tr")].map((tr) => tr.dataset.hash)`, &hashes))
	for i, hash := range hashes {
		if want := fmt.Sprintf("0x%064x", 5-i); hash != want || len(hashes) != 5 {
			t.Errorf("row %d of %d is %s, want %s", i, len(hashes), hash, want)
		}
	}
}

// scheme is what somebody likes: light or dark.
func scheme(name string) chromedp.Action {
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme",
		Value: name}})
}

// The page has room on a phone, with nothing to scroll to the side, and is dark where people like
// that.
func TestPageFits(t *testing.T) {
	h := newLiveServer(nil)
	for i := range 8 {
		h.publish(hint(i + 1))
	}
	url := h.open(t)
	ctx := servetest.OpenBrowser(t, 360, 740)
	for _, widthPixels := range []int{320, 360, 768, 1440} {
		var contentPixels int
		var light, dark string
		background := chromedp.Evaluate(`getComputedStyle(document.body).backgroundColor`, &light)
		run(ctx, t, chromedp.EmulateViewport(int64(widthPixels), 740), scheme("light"), chromedp.Navigate(url),
			until(stateIs, "live"), chromedp.Evaluate(`document.documentElement.scrollWidth`, &contentPixels), background,
			scheme("dark"),
			chromedp.Evaluate(`getComputedStyle(document.body).backgroundColor`, &dark))
		if contentPixels > widthPixels {
			t.Errorf("the page is %d pixels wide on %d", contentPixels, widthPixels)
		}
		if light != "rgb(251, 250, 248)" || dark != "rgb(20, 23, 26)" {
			t.Errorf("the page is %s, and %s in the dark", light, dark)
		}
	}
}

// Whatever an event holds is text on the page: in the rows of the server and in those of the
// script.
func TestPageShowsOnlyText(t *testing.T) {
	const attack = `<img src=x onerror=\"document.title='taken'\"><script>document.title='taken'</script>`
	evil := `{"hash":"` + attack + `","logs":null,"txs":[{"to":"` + attack + `","functionSelector":"` + attack +
		`"},{}],"gasUsed":"` + attack + `"}`
	h := newLiveServer(nil)
	h.publish(evil)
	ctx := servetest.OpenBrowser(t, 360, 740)
	shown := strings.ReplaceAll(attack, `\"`, `"`)
	run(ctx, t, chromedp.Navigate(h.open(t)), until(stateIs, "live"), until(firstRow, "hash", shown))
	h.publish(`null`, `7`, `{"txs":{}}`, `{`, `{"hash":"0x01"}`, evil)
	var title string
	var images, scripts int
	run(ctx, t, until(figure, "count", "3"), until(firstRow, "to", shown+" +1"), chromedp.Title(&title),
		chromedp.Evaluate(`document.images.length`, &images), chromedp.Evaluate(`document.scripts.length`, &scripts))
	if title != "devnet · order flow, live" || images != 0 || scripts != 1 {
		t.Errorf("title %q, %d images, %d scripts", title, images, scripts)
	}
}

// A browser gives up when it is refused; the page does not.
func TestPageComesBackAfterARefusal(t *testing.T) {
	h := newLiveServer(nil)
	var mu sync.Mutex
	full := true
	handler := h.handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		refuse := full && r.Header.Get("Accept") == "text/event-stream"
		mu.Unlock()
		if refuse {
			http.Error(w, "full", http.StatusServiceUnavailable)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close) // after the browser has gone
	ctx := servetest.OpenBrowser(t, 360, 740)
	run(ctx, t, chromedp.Navigate(server.URL), until(stateIs, "refused, trying again"))
	mu.Lock()
	full = false
	mu.Unlock()
	run(ctx, t, until(stateIs, "live"))
}
