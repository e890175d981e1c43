package browser_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gavel-relay/gavel/devnet/browser"
	"github.com/gavel-relay/gavel/devnet/timeline"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/internal/sse"
)

// hostile would take over a page if it were not text.
const hostile = `"><img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`

// served is a board behind a server, with a bid in slot 2.
func served(t *testing.T) (*browser.Board, string) {
	t.Helper()
	b := browser.New(timeline.About{Title: "a run", SlotMs: 12000})
	b.Add(bid(2, "builder-1"))
	server := httptest.NewServer(serve.Options{}.Wrap(b.Handler()))
	t.Cleanup(server.Close)
	return b, server.URL
}

func bid(slot int, builder string) timeline.Fact {
	return timeline.Fact{Slot: slot, SlotMs: -3000, Actor: "relay", Subject: "submission_judged", About: builder,
		ValueWei: "7", Counts: true, Text: builder}
}

// answer is what came back, whole.
type answer struct {
	status int
	header http.Header
	body   string
}

func ask(t *testing.T, method, address string) answer {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}

// The page and the file have a strict policy and are not kept by caches; nothing can be changed
// through them.
func TestAnswers(t *testing.T) {
	b, address := served(t)
	for _, row := range []struct {
		method, path string
		status       int
		want, not    string
	}{
		{http.MethodGet, "/", 200, `data-live="1"`, "http-equiv"},
		{http.MethodGet, "/run.html", 200, "http-equiv", "data-live"},
		{http.MethodPost, "/", 405, "can only be read", ""},
		{http.MethodGet, "/../../etc/passwd", 404, "no such page", ""},
		{http.MethodGet, "/live?after=-1", 400, "give a whole number", ""},
		{http.MethodGet, "/live?after=%3Cscript%3E", 400, "give a whole number", "<script>"},
	} {
		got := ask(t, row.method, address+row.path)
		if got.status != row.status || !strings.Contains(got.body, row.want) ||
			row.not != "" && strings.Contains(got.body, row.not) {
			t.Errorf("%s %s: %d %.300s", row.method, row.path, got.status, got.body)
		}
		policy := got.header.Get("Content-Security-Policy")
		if row.status == 200 && (!strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") ||
			got.header.Get("Cache-Control") != "no-store") {
			t.Errorf("%s: policy %q, cached %q", row.path, policy, got.header.Get("Cache-Control"))
		}
	}
	if got := ask(t, http.MethodGet, address+"/"); strings.Contains(got.body, "missing here") {
		t.Errorf("facts are missing: %.900s", got.body)
	}
	b.Miss()
	b.Miss()
	if got := ask(t, http.MethodGet, address+"/"); !strings.Contains(got.body, "2 more came faster") {
		t.Errorf("missed facts are not counted: %.900s", got.body)
	}
	b.End("The run is over: <all> landed")
	if got := ask(t, http.MethodGet, address+"/"); strings.Contains(got.body, "data-live") ||
		!strings.Contains(got.body, "The run is over: &lt;all&gt; landed") {
		t.Errorf("after the end: %.900s", got.body)
	}
}

// follow reads the stream from a version on.
func follow(t *testing.T, address, after string) *sse.Reader {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/live?after="+after, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("status %d", answer.StatusCode)
	}
	return sse.NewReader(answer.Body, 1<<20)
}

// next reads an event: "over", or the id of a part.
func next(t *testing.T, from *sse.Reader) (event sse.Event, id, html string) {
	t.Helper()
	event, err := from.Next()
	if err != nil {
		t.Fatal(err)
	}
	if event.Type == "over" {
		return event, "over", ""
	}
	var part struct{ ID, HTML string }
	if err := json.Unmarshal(event.Data, &part); err != nil {
		t.Fatal(err)
	}
	return event, part.ID, part.HTML
}

// A viewer gets the parts that have changed since its page was loaded, each whole, and is told of
// the end. A version of an earlier run gets everything.
func TestFollow(t *testing.T) {
	b, address := served(t)
	viewer := follow(t, address, "1")
	b.Add(bid(3, "builder-2"))
	if _, id, _ := next(t, viewer); id != "overview" {
		t.Errorf("first %s", id)
	}
	if event, id, html := next(t, viewer); id != "slot-3" || event.ID != "2" || !strings.Contains(html, "builder-2") {
		t.Errorf("then %s at %q: %s", id, event.ID, html)
	}
	stranger := follow(t, address, "99")
	for _, want := range []string{"overview", "slot-2", "slot-3"} {
		if _, id, _ := next(t, stranger); id != want {
			t.Errorf("a page of another run gets %s, want %s", id, want)
		}
	}
	b.End("over")
	for name, reader := range map[string]*sse.Reader{"viewer": viewer, "stranger": stranger} {
		if _, id, _ := next(t, reader); id != "over" {
			t.Errorf("%s: %s, want the end", name, id)
		}
		if _, err := reader.Next(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v after the end", name, err)
		}
	}
}

// Of a run without an end the newest slots are kept, and viewers are told to drop the others.
func TestForgets(t *testing.T) {
	b, address := served(t)
	for slot := range 1000 {
		b.Add(bid(slot+3, "builder-1"))
	}
	viewer, dropped, kept := follow(t, address, "1"), 0, 0
	for {
		event, _, html := next(t, viewer)
		if html == "" {
			dropped++
		} else {
			kept++
		}
		if event.ID == "1001" {
			break
		}
	}
	if dropped != 256 || kept != 257 {
		t.Errorf("%d slots dropped, %d parts kept", dropped, kept)
	}
}

// More than 64 browsers are turned away, and a place is free again when one has gone.
func TestTooManyViewers(t *testing.T) {
	b, address := served(t)
	for range 64 {
		next(t, follow(t, address, "0"))
	}
	if got := ask(t, http.MethodGet, address+"/live"); got.status != http.StatusServiceUnavailable ||
		got.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", got.status, got.body)
	}
	b.End("over") // all go
	for ask(t, http.MethodGet, address+"/live").status != http.StatusOK {
		continue
	}
}

// An open page grows with the run: slots come in their order, what a reader has opened stays open,
// names are text, and the end is told.
func TestLiveInABrowser(t *testing.T) {
	b, address := served(t)
	ctx, cancel := context.WithTimeout(servetest.OpenBrowser(t, 1200, 900), 3*time.Minute)
	defer cancel()
	var order, title string
	var open bool
	var images int
	wait := func(expression string) chromedp.Action {
		return chromedp.Poll(expression, nil, chromedp.WithPollingInterval(20*time.Millisecond))
	}
	add := func(f timeline.Fact) chromedp.Action {
		return chromedp.ActionFunc(func(context.Context) error { b.Add(f); return nil })
	}
	err := chromedp.Run(ctx, chromedp.Navigate(address+"/"),
		chromedp.Evaluate(`document.querySelector("#slot-2 details").open = true`, nil),
		add(bid(3, hostile)), wait(`document.getElementById("slot-3") !== null`),
		add(bid(1, "builder-2")), wait(`document.getElementById("slot-1") !== null`),
		add(bid(2, "builder-3")), wait(`document.querySelectorAll("#slot-2 svg a").length === 2`),
		chromedp.Evaluate(`document.querySelector("#slot-3 svg a").dispatchEvent(`+
			`new MouseEvent("click", {bubbles: true, cancelable: true}))`, nil),
		wait(`document.getElementById("chosen").textContent.includes("<img")`),
		chromedp.Evaluate(`[...document.querySelectorAll("#slots > section")].map(s => s.id).join(" ")`, &order),
		chromedp.Evaluate(`document.querySelector("#slot-2 details").open`, &open),
		chromedp.Evaluate(`document.images.length`, &images), chromedp.Title(&title),
		chromedp.ActionFunc(func(context.Context) error { b.End("The run is over"); return nil }),
		wait(`document.getElementById("state").textContent === "The run is over"`))
	if err != nil {
		t.Fatal(err)
	}
	if order != "slot-1 slot-2 slot-3" || !open || images != 0 || title != "a run" {
		t.Errorf("slots %q, facts open: %v, %d images, title %q", order, open, images, title)
	}
}
