package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/projection"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/api"
	"github.com/gavel-relay/gavel/relay/archive"
	"github.com/gavel-relay/gavel/relay/web"
)

// hostile is a name that would take over the page if it were not text. The operator's file allows
// no such name; the pages must not rely on that.
const hostile = `"><img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`

// websiteSite is a website over some facts, at a time of the test.
type websiteSite struct {
	clock    *clock.Stepped
	policy   web.Policy
	auctions web.Auctions
	archive  api.Archive
	handler  http.Handler
}

// Shown implements api.Auctions.
func (s *websiteSite) Shown(slot phase0.Slot) (web.Shown, bool) {
	auction, known := s.auctions.Of(slot)
	return s.policy.Show(&auction, s.clock.Now()), known
}

// newSite is a website whose slot 7 is in the middle: six seconds before it begins.
func newSite(t *testing.T, archived, remembered []relay.Fact) *websiteSite {
	t.Helper()
	spec := &eth.Spec{GenesisTime: day.Truncate(time.Hour), SlotDuration: 12 * time.Second, SlotsPerEpoch: 32}
	s := &websiteSite{clock: clock.NewStepped(spec.SlotStart(7).Add(-6 * time.Second)),
		policy: web.Policy{Spec: spec, OverAfter: 4 * time.Second, Name: func(key phase0.BLSPubKey) string {
			return map[phase0.BLSPubKey]string{builderB: hostile}[key]
		}}, auctions: web.Auctions{Spec: spec}}
	a, err := archive.Open(t.Context(), "sqlite::memory:", slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = a.Close() })
	var entries []projection.Entry
	for i, fact := range archived {
		raw, err := json.Marshal(fact)
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, projection.Entry{Seq: uint64(i + 1), Subject: "relay." + fact.Subject(), Data: raw})
	}
	if err := a.Apply(t.Context(), entries); err != nil {
		t.Fatal(err)
	}
	for _, fact := range remembered {
		s.auctions.Record(fact)
	}
	s.archive = a
	s.handler = s.showing(nil)
	return s
}

// showing is the website with a live auction, unless that is nil.
func (s *websiteSite) showing(live api.LiveAuction) http.Handler {
	mux := api.NewMux()
	api.MountWebsite(mux, api.WebsiteConfig{Clock: s.clock, Archive: s.archive, Auctions: s, Policy: &s.policy, Live: live,
		Address: func(r *http.Request) string { return r.Header.Get("X-Address") },
		Status: func() web.Status {
			return web.Status{Network: "hoodi", Ready: true, HeadSlot: 6, Validators: 10, Registrations: 7}
		}})
	return serve.Options{}.Wrap(mux)
}

func (s *websiteSite) get(t *testing.T, target string) *httptest.ResponseRecorder {
	t.Helper()
	answer := httptest.NewRecorder()
	s.handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, target, nil))
	return answer
}

// auctioned is an auction of slot 7 that runs: A leads, B's bids come and are refused.
func auctioned(spec *eth.Spec) []relay.Fact {
	var facts []relay.Fact
	bid := func(builder phase0.BLSPubKey, block int, value string, before time.Duration, refusal string) {
		one := trace(7, block, value)
		one.Builder = builder
		at := spec.SlotStart(7).Add(-before)
		judged := relay.SubmissionJudged{Trace: one, ReceivedAt: at, Refusal: refusal}
		if refusal == "" {
			judged.EligibleAt = at
		}
		if facts = append(facts, judged); refusal == "" && builder == builderA {
			facts = append(facts, relay.TopChanged{At: at, Trace: one})
		}
	}
	for i := range 12 {
		step := time.Duration(i) * 400 * time.Millisecond
		bid(builderA, i%4, fmt.Sprintf("%d00000000000000", 400+23*i+i*i), 11*time.Second-step, "")
		bid(builderB, i%4, fmt.Sprintf("%d00000000000000", 390+20*i+i*i), 11*time.Second-step-150*time.Millisecond, "")
	}
	bid(builderB, 5, "90000000000000000", 6200*time.Millisecond, relay.SubmissionInvalid.ID)
	return facts
}

// Every page is there in three forms, with a strict policy, and each row is an address with what
// must be on its page and what must not.
func TestWebsite(t *testing.T) {
	keyA, keyB, who := fmt.Sprintf("%#x", builderA[:]), fmt.Sprintf("%#x", builderB[:]), fmt.Sprintf("%#x", proposerA[:])
	site := newSite(t, story(), nil)
	for _, fact := range auctioned(site.policy.Spec) {
		site.auctions.Record(fact)
	}
	for _, row := range []struct {
		path       string
		status     int
		wants, not []string
	}{
		{"", 200, []string{"gavel relay · hoodi", "7 of 10 (70.0", "serves headers", "1000000.000000"}, nil},
		{"/slot/5", 200, []string{"0.000000", "105"}, []string{"auction runs"}}, // only the archive has it
		{"/slot/7", 200, []string{"auction runs", "submission-invalid"}, []string{keyA[:20], keyB[:20], "0xa1a1"}},
		{"/slot/9", 404, []string{"Not Found"}, nil},
		{"/slot/4294967296", 404, nil, nil},
		{"/slot/-1", 400, []string{"slot"}, nil},
		{"/slot/<script>", 400, []string{"slot"}, nil},
		{"/builder/" + keyA, 200, []string{keyA, "106"}, nil},
		{"/builder/0x12", 400, []string{"key"}, nil},
		{"/proposer/" + who, 200, []string{"36000000", "0xfeed"}, nil},
		{"/proposer/" + keyA, 200, []string{"no"}, []string{"36000000"}},
	} {
		for _, form := range []struct{ suffix, contentType string }{
			{"", "text/html; charset=utf-8"}, {"/md", "text/markdown; charset=utf-8"}, {"/json", "application/json"},
		} {
			target := row.path + form.suffix
			if target == "" {
				target = "/"
			}
			answer := site.get(t, strings.ReplaceAll(target, "<script>", "%3Cscript%3E"))
			body := answer.Body.String()
			if answer.Code != row.status || answer.Header().Get("Content-Type") != form.contentType {
				t.Errorf("%s: %d, %s", target, answer.Code, answer.Header().Get("Content-Type"))
			}
			for _, want := range row.wants {
				if form.suffix == "" && !strings.Contains(body, want) {
					t.Errorf("%s lacks %q", target, want)
				}
			}
			for _, secret := range append(row.not, "<script>document", "<img") {
				if strings.Contains(body, secret) {
					t.Errorf("%s has %q", target, secret)
				}
			}
			if policy := answer.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") ||
				strings.Contains(policy, "unsafe") || answer.Header().Get("Cache-Control") == "" {
				t.Errorf("%s: policy %q", target, policy)
			}
		}
	}
}

// The form leads to the page of what was typed.
func TestFind(t *testing.T) {
	keyB, who := fmt.Sprintf("%#x", builderB[:]), fmt.Sprintf("%#x", proposerA[:])
	site, spaced := newSite(t, story(), nil), " 7 "
	for text, want := range map[string]string{
		"7": "/slot/7", spaced: "/slot/7", who: "/proposer/" + who, keyB: "/builder/" + keyB,
		"0x" + strings.Repeat("12", 48): "/proposer/0x" + strings.Repeat("12", 48),
		"//evil.example":                "", "": "", "7/../x": "", hostile: "",
	} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/find", nil)
		query := request.URL.Query()
		query.Set("q", text)
		request.URL.RawQuery = query.Encode()
		answer := httptest.NewRecorder()
		site.handler.ServeHTTP(answer, request)
		if got := answer.Header().Get("Location"); got != want || want == "" && answer.Code != http.StatusBadRequest {
			t.Errorf("%q: %d, %q, want %q", text, answer.Code, got, want)
		}
		if strings.Contains(answer.Body.String(), "<img") {
			t.Errorf("%q is markup on the page", text)
		}
	}
}

// A list is sorted by the server, so that it works without a script.
func TestWebsiteSorts(t *testing.T) {
	site := newSite(t, story(), nil)
	for by, want := range map[string]string{"": "7 7 6 5", "delivered.slot": "5 6 7 7",
		"-delivered.value_eth": "7 5 6 7"} {
		var page struct{ Delivered []struct{ Slot int } }
		if err := json.Unmarshal(site.get(t, "/json?sort="+by).Body.Bytes(), &page); err != nil {
			t.Fatal(err)
		}
		var slots []string
		for _, row := range page.Delivered {
			slots = append(slots, fmt.Sprint(row.Slot))
		}
		if got := strings.Join(slots, " "); got != want {
			t.Errorf("%q: %s, want %s", by, got, want)
		}
	}
}

// In a browser, on a phone and on a desk, light and dark: nothing to scroll to the side, names are
// text, the keyboard reaches the content first, and each input has a label.
func TestWebsiteInABrowser(t *testing.T) {
	deliveredNow := trace(7, 3, "612300000000000000")
	site := newSite(t, story(), nil)
	for _, fact := range append(auctioned(site.policy.Spec),
		relay.HeaderServed{At: site.policy.Spec.SlotStart(7), Slot: 7, Builder: builderA, BlockHash: hash(3),
			ValueWei: uint256.NewInt(612300000000000000)},
		relay.PayloadDelivered{At: site.policy.Spec.SlotStart(7).Add(time.Second), Trace: deliveredNow, MsIntoSlot: 900}) {
		site.auctions.Record(fact)
	}
	site.clock.Set(site.policy.Spec.SlotStart(7).Add(5 * time.Second))
	server := httptest.NewServer(site.handler)
	t.Cleanup(server.Close)
	ctx := servetest.OpenBrowser(t, 1200, 900)
	for _, path := range []string{"/", "/slot/7", "/builder/" + fmt.Sprintf("%#x", builderB[:]),
		"/proposer/" + fmt.Sprintf("%#x", proposerA[:]), "/slot/9"} {
		for _, widthPixels := range []int64{320, 1200} {
			for theme, want := range map[string]string{"light": "rgb(251, 250, 248)", "dark": "rgb(20, 23, 26)"} {
				var content, images, unlabelled, headings int64
				var ground, title, first string
				err := chromedp.Run(ctx, chromedp.EmulateViewport(widthPixels, 900),
					emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}),
					chromedp.Navigate(server.URL+path),
					chromedp.Evaluate(`document.documentElement.scrollWidth`, &content),
					chromedp.Evaluate(`getComputedStyle(document.body).backgroundColor`, &ground),
					chromedp.Evaluate(`document.images.length`, &images), chromedp.Title(&title),
					chromedp.Evaluate(`[...document.querySelectorAll("input")].filter(i => !i.labels.length).length`, &unlabelled),
					chromedp.Evaluate(`document.querySelectorAll("h1").length`, &headings),
					chromedp.KeyEvent("\t"), chromedp.Evaluate(`document.activeElement.textContent`, &first))
				if err != nil {
					t.Fatal(err)
				}
				if content > widthPixels || ground != want || images != 0 || title == "taken" || unlabelled != 0 ||
					headings != 1 || first != "Skip to content" {
					t.Errorf("%s at %d, %s: %d wide, ground %s, %d images, title %q, %d inputs without label, %d headings, first %q",
						path, widthPixels, theme, content, ground, images, title, unlabelled, headings, first)
				}
			}
		}
	}
	if os.Getenv("SCREENSHOTS") == "" { // fonts differ between machines, so the picture is written when wanted only
		return
	}
	var picture []byte
	site.policy.Name = func(phase0.BLSPubKey) string { return "" }
	if err := chromedp.Run(ctx, chromedp.EmulateViewport(1100, 800),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}}),
		chromedp.Navigate(server.URL+"/slot/7"), chromedp.CaptureScreenshot(&picture)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("../../docs/website.png", picture, 0o644); err != nil {
		t.Fatal(err)
	}
}

// states is a live auction that a test sets.
type states chan []byte

// Next implements api.LiveAuction.
func (s states) Next(ctx context.Context, after uint64) ([]byte, uint64, error) {
	select {
	case <-ctx.Done():
		return nil, after, ctx.Err()
	case state, open := <-s:
		if !open {
			return nil, after, errors.New("the relay stops")
		}
		return state, after + 1, nil
	}
}

// One address has twenty places among the viewers, and gets them back when it leaves.
func TestViewersAreBounded(t *testing.T) {
	site := newSite(t, nil, nil)
	synctest.Test(t, func(t *testing.T) {
		to := make(states, 1)
		handler := site.showing(to)
		watch := func(ctx context.Context, address string) *httptest.ResponseRecorder {
			answer, request := httptest.NewRecorder(), httptest.NewRequestWithContext(ctx, http.MethodGet, "/live", nil)
			request.Header.Set("X-Address", address)
			handler.ServeHTTP(answer, request)
			return answer
		}
		ctx, leave := context.WithCancel(t.Context())
		var group sync.WaitGroup
		for range 20 {
			group.Go(func() { watch(ctx, "a") })
		}
		synctest.Wait()
		if answer := watch(ctx, "a"); answer.Code != http.StatusServiceUnavailable ||
			answer.Header().Get("Retry-After") == "" {
			t.Errorf("the twenty-first has %d", answer.Code)
		}
		group.Go(func() {
			if answer := watch(ctx, "b"); answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(), ":ping") {
				t.Errorf("another address: %d, %q", answer.Code, answer.Body)
			}
		})
		time.Sleep(16 * time.Second) // silence, then a ping
		leave()
		group.Wait()
		to <- []byte(`{"slot":7}`)
		close(to)
		if answer := watch(t.Context(), "a"); answer.Code != http.StatusOK || !strings.Contains(answer.Body.String(),
			"data: {\"slot\":7}\n\n") {
			t.Errorf("after all have left: %d, %q", answer.Code, answer.Body)
		}
	})
}

// In a browser: the curve rises as states come, a builder's name is text, and what is delivered is
// told in words.
func TestLiveAuctionInABrowser(t *testing.T) {
	site, to := newSite(t, story(), nil), make(states, 8)
	server := httptest.NewServer(site.showing(to))
	t.Cleanup(server.Close)
	t.Cleanup(func() { close(to) }) // before the server, which waits for the viewer
	ctx := servetest.OpenBrowser(t, 360, 900)
	says := func(text string) chromedp.Action {
		return chromedp.Poll(fmt.Sprintf(`document.getElementById("live-state").textContent.includes(%q)`, text), nil)
	}
	for _, facts := range [][]relay.Fact{auctioned(site.policy.Spec), {relay.PayloadDelivered{
		At: site.policy.Spec.SlotStart(7), Trace: func() relay.Trace {
			d := trace(7, 3, "5")
			d.Builder = builderB
			return d
		}()}}} {
		for _, fact := range facts {
			site.auctions.Record(fact)
		}
		shown, _ := site.Shown(7)
		raw, err := json.Marshal(site.policy.Live(shown, site.clock.Now()))
		if err != nil {
			t.Fatal(err)
		}
		to <- raw
	}
	var lines, images, width int64
	var title, legend string
	if err := chromedp.Run(ctx, chromedp.Navigate(server.URL), says("Delivered: the block of "+hostile[:4]),
		says("25 submissions, 1 refused"),
		chromedp.Evaluate(`document.querySelectorAll("#live-curve polyline").length`, &lines),
		chromedp.Evaluate(`document.images.length`, &images), chromedp.Title(&title),
		chromedp.Evaluate(`document.getElementById("live-legend").textContent`, &legend),
		chromedp.Evaluate(`document.documentElement.scrollWidth`, &width)); err != nil {
		t.Fatal(err)
	}
	if lines != 2 || images != 0 || title == "taken" || !strings.Contains(legend, hostile) || width > 360 {
		t.Errorf("%d curves, %d images, title %q, legend %q, %d wide", lines, images, title, legend, width)
	}
	if os.Getenv("SCREENSHOTS") != "" {
		var picture []byte
		if err := chromedp.Run(ctx, chromedp.EmulateViewport(1100, 800), chromedp.CaptureScreenshot(&picture)); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("../../docs/website-live.png", picture, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
