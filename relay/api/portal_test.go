package api

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/web"
)

// markup is a name that would take over the page if it were not text.
const markup = `"><img src=x onerror="document.title='taken'"><script>document.title='taken'</script>`

// portalAPI is the operator's page over real HTTP, with the list of builders of the admin API's
// tests.
type portalAPI struct {
	*adminAPI

	clock *clock.Stepped
	url   string
	state func(*web.Portal) // what a test changes of what is shown
}

func newPortal(t *testing.T) *portalAPI {
	t.Helper()
	h := &portalAPI{adminAPI: newAdminAPI(t), clock: clock.NewStepped(time.Unix(1_700_000_000, 0))}
	mux := NewMux()
	MountPortal(mux, PortalConfig{AdminConfig: AdminConfig{
		Clock: h.clock, Token: token, Records: h.list, Changes: h.list, Trust: h.list, Demotions: h.list, Evidence: h,
		Switch: h, Kept: func(context.Context) error { return h.notKept },
	}, State: func(context.Context) web.Portal {
		p := web.Portal{Network: "hoodi", Builders: h.list.All(), Demotions: h.list.Demotions(), KillSwitch: h.on,
			Stores:   []web.Store{{Name: "facts", SizeBytes: 12_345_678, FreeBytes: -1, Lag: 7, Fault: "disk full"}},
			Nodes:    []web.Node{{Kind: "beacon", Name: "node-a:5052", Works: true}, {Kind: "validation", Name: "node-b:8545"}},
			Settings: "listen: \":9062\"\n"}
		if h.state != nil {
			h.state(&p)
		}
		return p
	}})
	server := httptest.NewServer(serve.Options{}.Wrap(mux))
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// sent is a request of a browser.
type sent struct {
	method, path string
	header       map[string]string
	cookie       string
	fields       url.Values
}

// portalAnswer is an answer without its body.
type portalAnswer struct {
	StatusCode int
	Header     http.Header
	cookies    []*http.Cookie
}

// Cookies are those that the answer sets.
func (a portalAnswer) Cookies() []*http.Cookie { return a.cookies }

// send sends a request, and follows no redirect.
func (h *portalAPI) send(s sent) (portalAnswer, string) {
	h.t.Helper()
	request, err := http.NewRequestWithContext(h.t.Context(), s.method, h.url+s.path, strings.NewReader(s.fields.Encode()))
	if err != nil {
		h.t.Fatal(err)
	}
	if s.method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	if s.cookie != "" {
		request.AddCookie(&http.Cookie{Name: sessionCookie, Value: s.cookie})
	}
	for name, value := range s.header {
		request.Header.Set(name, value)
	}
	answer, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		h.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return portalAnswer{answer.StatusCode, answer.Header, answer.Cookies()}, string(body)
}

// logIn returns a session's cookie and the value of its forms.
func (h *portalAPI) logIn() (cookie, form string) {
	h.t.Helper()
	answer, body := h.send(sent{method: "POST", path: "/operator/login", fields: url.Values{"token": {token}}})
	if answer.StatusCode != http.StatusSeeOther || len(answer.Cookies()) != 1 {
		h.t.Fatalf("log-in: %d %s", answer.StatusCode, body)
	}
	cookie = answer.Cookies()[0].Value
	_, page := h.send(sent{method: "GET", path: "/operator", cookie: cookie})
	found := regexp.MustCompile(`name="form" value="([A-Z0-9]+)"`).FindStringSubmatch(page)
	if found == nil {
		h.t.Fatalf("the page has no form's value: %s", page)
	}
	return cookie, found[1]
}

// Without a session nothing is shown and nothing is done, whatever the path and method.
func TestPortalNeedsALogin(t *testing.T) {
	h := newPortal(t)
	for _, cookie := range []string{"", "x", strings.Repeat("A", 26), token} {
		for _, request := range []string{"GET /operator", "GET /operator/evidence/0x" + strings.Repeat("ab", 32),
			"POST /operator/logout", "POST /operator/promote", "POST /operator/suspend", "POST /operator/kill-switch"} {
			method, path, _ := strings.Cut(request, " ")
			answer, body := h.send(sent{method: method, path: path, cookie: cookie,
				header: map[string]string{"Authorization": "Bearer " + token}, // that is for the API
				fields: url.Values{"name": {"alpha"}, "on": {"true"}, "why": {"because"}, "form": {""}}})
			want := http.StatusUnauthorized
			if request == "GET /operator" {
				want = http.StatusOK // the form of the token
			}
			if answer.StatusCode != want || strings.Contains(body, "alpha") || h.on || len(h.whys) > 0 {
				t.Errorf("%s with %q: %d, %s", request, cookie, answer.StatusCode, body)
			}
		}
	}
}

// The token opens a session, whose cookie scripts cannot read and other sites cannot cause to be
// sent; the token is in neither a URL, a cookie nor a page. A log-out ends the session.
func TestPortalLogin(t *testing.T) {
	h := newPortal(t)
	for name, row := range map[string]struct {
		sent
		status  int
		refusal relay.Refusal
	}{
		"wrong":     {sent{fields: url.Values{"token": {"wrong"}}}, 401, relay.AdminToken},
		"in a path": {sent{path: "/operator/login?token=" + url.QueryEscape(token)}, 401, relay.AdminToken},
		"of another origin": {sent{fields: url.Values{"token": {token}},
			header: map[string]string{"Origin": "https://evil.example"}}, 403, relay.AdminForm},
		"of another site": {sent{fields: url.Values{"token": {token}},
			header: map[string]string{"Sec-Fetch-Site": "cross-site"}}, 403, relay.AdminForm},
		"no form": {sent{fields: url.Values{"token": {token}}, header: map[string]string{"Content-Type": "text/plain"}}, 415,
			relay.UnsupportedMediaType},
		"too long": {sent{fields: url.Values{"token": {strings.Repeat("x", 20_000)}}}, 413, relay.BodyTooLarge},
	} {
		row.method = "POST"
		if row.path == "" {
			row.path = "/operator/login"
		}
		h.clock.Set(h.clock.Now().Add(time.Minute))
		answer, body := h.send(row.sent)
		if answer.StatusCode != row.status || answer.Header.Get("X-Refusal") != row.refusal.ID || len(answer.Cookies()) > 0 ||
			!strings.Contains(answer.Header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d %q %s", name, answer.StatusCode, answer.Header.Get("X-Refusal"), body)
		}
	}
	h.clock.Set(h.clock.Now().Add(time.Minute))
	answer, _ := h.send(sent{method: "POST", path: "/operator/login", fields: url.Values{"token": {token}}})
	cookie := answer.Cookies()[0]
	if !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/operator" || cookie.Secure ||
		strings.Contains(cookie.Value, token) || answer.Header.Get("Location") != "/operator" {
		t.Errorf("cookie %s, to %s", cookie, answer.Header.Get("Location"))
	}
	answer, page := h.send(sent{method: "GET", path: "/operator", cookie: cookie.Value})
	policy := answer.Header.Get("Content-Security-Policy")
	if strings.Contains(page, token) || strings.Contains(page, "<script") ||
		answer.Header.Get("Cache-Control") != "no-store" ||
		!strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") ||
		!strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("policy %q, %s", policy, page)
	}
	for _, want := range []string{"hoodi · operator", "alpha", "NO: disk full", "12.3 MB", "node-a:5052", "<td>NO</td>",
		"listen: &#34;:9062&#34;", "It is off."} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in %s", want, page)
		}
	}
	form := regexp.MustCompile(`name="form" value="([A-Z0-9]+)"`).FindStringSubmatch(page)[1]
	h.send(sent{method: "POST", path: "/operator/logout", cookie: cookie.Value, fields: url.Values{"form": {form}}})
	if _, page = h.send(sent{method: "GET", path: "/operator", cookie: cookie.Value}); strings.Contains(page, "alpha") {
		t.Error("the session goes on after the log-out")
	}
	answer, _ = h.send(sent{method: "POST", path: "/operator/login", fields: url.Values{"token": {token}},
		header: map[string]string{"X-Forwarded-Proto": "https"}})
	if !answer.Cookies()[0].Secure {
		t.Error("behind TLS the cookie would go over plain HTTP, too")
	}
}

// An action needs the session's own form, from this origin, and a reason, which is in its fact.
func TestPortalActions(t *testing.T) {
	h := newPortal(t)
	cookie, form := h.logIn()
	_, other := h.logIn()
	fields := func(pairs ...string) url.Values {
		all := url.Values{"form": {form}, "name": {"alpha"}, "on": {"true"}, "why": {"new collateral"}}
		for i := 0; i < len(pairs); i += 2 {
			all.Set(pairs[i], pairs[i+1])
		}
		return all
	}
	for name, row := range map[string]struct {
		path    string
		header  map[string]string
		fields  url.Values
		refusal relay.Refusal
	}{
		"no form's value":   {"promote", nil, fields("form", ""), relay.AdminForm},
		"of another log-in": {"promote", nil, fields("form", other), relay.AdminForm},
		"another origin": {"kill-switch", map[string]string{"Origin": "http://evil.example"}, fields(),
			relay.AdminForm},
		"an opaque origin": {"kill-switch", map[string]string{"Origin": "null"}, fields(), relay.AdminForm},
		"another site": {"kill-switch", map[string]string{"Sec-Fetch-Site": "same-site"}, fields(),
			relay.AdminForm},
		"no reason":         {"kill-switch", nil, fields("why", " \t "), relay.AdminReason},
		"a short reason":    {"promote", nil, fields("why", "ok"), relay.AdminReason},
		"a long reason":     {"promote", nil, fields("why", strings.Repeat("é", 501)), relay.AdminReason},
		"two lines":         {"promote", nil, fields("why", "a bug\nbuilder beta promoted"), relay.AdminReason},
		"no text":           {"promote", nil, fields("why", "a bug\xff"), relay.AdminReason},
		"no such builder":   {"promote", nil, fields("name", markup), relay.BuilderUnknown},
		"no position":       {"kill-switch", nil, fields("on", "maybe"), relay.Malformed},
		"a log-out of else": {"logout", nil, fields("form", other), relay.AdminForm},
	} {
		answer, body := h.send(sent{method: "POST", path: "/operator/" + row.path, cookie: cookie, header: row.header,
			fields: row.fields})
		if answer.StatusCode != Statuses[row.refusal.ID] || answer.Header.Get("X-Refusal") != row.refusal.ID ||
			!strings.Contains(body, row.refusal.Short) && !strings.Contains(body, "operator&#39;s page") ||
			strings.Contains(body, "<img") {
			t.Errorf("%s: %d %q %s", name, answer.StatusCode, answer.Header.Get("X-Refusal"), body)
		}
	}
	if h.on || len(h.whys) > 0 {
		t.Fatalf("something was done: on %v, %q", h.on, h.whys)
	}
	for _, row := range []struct {
		path   string
		fields url.Values
	}{
		{"promote", fields()}, {"suspend", fields("why", "maintenance")}, {"kill-switch", fields("why", " a bug ")},
		{"kill-switch", fields("on", "false", "why", "it is fixed")},
	} {
		answer, body := h.send(sent{method: "POST", path: "/operator/" + row.path, cookie: cookie, fields: row.fields,
			header: map[string]string{"Origin": h.url}})
		if answer.StatusCode != http.StatusSeeOther || answer.Header.Get("Location") != "/operator" {
			t.Errorf("%s: %d %s", row.path, answer.StatusCode, body)
		}
	}
	want := `["promoted: new collateral" "suspended: maintenance" "a bug" "it is fixed"]`
	if got := fmt.Sprintf("%q", h.whys); got != want {
		t.Errorf("facts say %s, want %s", got, want)
	}
	h.notKept = context.DeadlineExceeded
	if answer, _ := h.send(sent{method: "POST", path: "/operator/kill-switch", cookie: cookie, fields: fields()}); answer.
		StatusCode != http.StatusServiceUnavailable || !h.on {
		t.Errorf("a change that is not kept: %d", answer.StatusCode)
	}
}

// After five tries an address has to wait, also with the right token, so that trying tells nothing.
func TestPortalLoginsAreLimited(t *testing.T) {
	h := newPortal(t)
	for i := range 8 {
		answer, _ := h.send(sent{method: "POST", path: "/operator/login", fields: url.Values{"token": {"wrong"}}})
		if want := map[bool]int{true: 401, false: 429}[i < 5]; answer.StatusCode != want {
			t.Errorf("try %d: %d", i+1, answer.StatusCode)
		}
	}
	right := sent{method: "POST", path: "/operator/login", fields: url.Values{"token": {token}}}
	if answer, _ := h.send(right); answer.StatusCode != 429 || answer.Header.Get("Retry-After") != "10" ||
		len(answer.Cookies()) > 0 {
		t.Errorf("%d, retry after %q", answer.StatusCode, answer.Header.Get("Retry-After"))
	}
	h.clock.Set(h.clock.Now().Add(10 * time.Second))
	if answer, _ := h.send(right); answer.StatusCode != http.StatusSeeOther {
		t.Errorf("after ten seconds: %d", answer.StatusCode)
	}
}

// A session ends an hour after its last request, and twelve hours after it began. There are at most
// 32; the one that was used longest ago makes room.
func TestSessionsEnd(t *testing.T) {
	var s sessions
	now := time.Unix(1_700_000_000, 0)
	request := func(id string) *http.Request {
		r := httptest.NewRequest("GET", "/operator", nil)
		r.AddCookie(&http.Cookie{Name: sessionCookie, Value: id})
		return r
	}
	id := s.start(now)
	for range 12 {
		now = now.Add(59 * time.Minute)
		if _, found := s.of(request(id), now); !found {
			t.Fatalf("ended at %s", now)
		}
	}
	if _, found := s.of(request(s.start(now)), now.Add(time.Hour)); found {
		t.Error("a session without requests goes on")
	}
	id = s.start(now)
	for used := now; used.Before(now.Add(12 * time.Hour)); used = used.Add(30 * time.Minute) {
		s.of(request(id), used)
	}
	if _, found := s.of(request(id), now.Add(12*time.Hour)); found {
		t.Error("a session goes on for ever")
	}
	var ids []string
	for i := range mostSessions + 1 {
		ids = append(ids, s.start(now.Add(time.Duration(i))))
	}
	_, first := s.of(request(ids[0]), now)
	_, second := s.of(request(ids[1]), now)
	if first || !second || len(s.open) != mostSessions {
		t.Errorf("first %v, second %v of %d", first, second, len(s.open))
	}
}

// In a browser: log in, promote with a reason, log out. Names that are markup are text, nothing
// sticks out, and each input has a label.
func TestPortalInABrowser(t *testing.T) {
	h := newPortal(t)
	h.state = func(p *web.Portal) {
		p.Builders = append(p.Builders, relay.Builder{Name: markup, CollateralWei: uint256.NewInt(1)})
		p.Demotions = append(p.Demotions, relay.BuilderDemoted{Name: markup, Demotion: relay.Demotion{Rule: markup,
			Detail: markup, Trace: relay.Trace{BlockHash: phase0.Hash32{1}}}})
		p.Settings, p.NotReady = markup, markup
		p.Stores, p.Nodes = append(p.Stores, web.Store{Name: markup, Fault: markup, Note: markup}),
			append(p.Nodes, web.Node{Kind: markup, Name: markup, Note: markup})
	}
	ctx, cancel := context.WithTimeout(servetest.OpenBrowser(t, 1200, 900), 3*time.Minute)
	defer cancel()
	var images, unlabelled, wide int
	var title, heading, body, cookies string
	err := chromedp.Run(ctx, chromedp.Navigate(h.url+"/operator"),
		chromedp.SendKeys("#token", token), chromedp.Submit("#token"), chromedp.WaitVisible("#builders"),
		chromedp.Evaluate(`document.images.length`, &images), chromedp.Title(&title),
		chromedp.Evaluate(`[...document.querySelectorAll("input:not([type=hidden])")].filter(`+
			`i => !i.labels.length && !i.ariaLabel).length`, &unlabelled),
		chromedp.Evaluate(`document.cookie`, &cookies),
		chromedp.EmulateViewport(320, 900), chromedp.Evaluate(`document.documentElement.scrollWidth`, &wide),
		chromedp.SendKeys(`//tr[td[text()="alpha"]]//input[@name="why"]`, "new collateral"),
		chromedp.Click(`//tr[td[text()="alpha"]]//button`),
		chromedp.WaitVisible(`//tr[td[text()="alpha"]]//button[text()="Suspend"]`),
		chromedp.Click(`//button[text()="Log out"]`), chromedp.WaitVisible("#token"),
		chromedp.Text("h1", &heading), chromedp.Text("body", &body))
	if err != nil {
		t.Fatal(err)
	}
	if images != 0 || title != "hoodi · operator" || unlabelled != 0 || wide > 320 || cookies != "" ||
		heading != "Operator" || strings.Contains(body, "alpha") {
		t.Errorf("%d images, title %q, %d inputs without label, %d wide, cookies %q, then %q", images, title, unlabelled,
			wide, cookies, heading)
	}
	if got := fmt.Sprintf("%q", h.whys); got != `["promoted: new collateral"]` {
		t.Errorf("facts say %s", got)
	}
	if os.Getenv("SCREENSHOTS") != "" { // fonts differ between machines, so the picture is written when wanted only
		h.picture(ctx)
	}
}

// picture writes the picture of the page for the documents.
func (h *portalAPI) picture(browser context.Context) {
	h.t.Helper()
	h.state = func(p *web.Portal) {
		ether := uint256.NewInt(1e18)
		p.HeadSlot, p.Validators, p.Registrations = 9_876_543, 1_040_000, 612_345
		p.Builders = []relay.Builder{{Name: "alpha", CollateralWei: ether, Pubkeys: make([]phase0.BLSPubKey, 2)},
			{Name: "beta", CollateralWei: ether, Optimistic: true, HeaderFirst: true, APIKeyHash: &phase0.Hash32{}}}
		p.Demotions = []relay.BuilderDemoted{{At: h.clock.Now(), Name: "alpha", Demotion: relay.Demotion{Rule: "payment",
			Detail: "9000 wei were bid, 8000 wei paid", Trace: relay.Trace{Slot: 9_876_500, BlockHash: phase0.Hash32{0xab},
				ValueWei: uint256.NewInt(31e15)}}}}
		p.Stores = []web.Store{{Name: "journal", SizeBytes: -1, FreeBytes: 412e9, Lag: -1, Note: "synced 0 s ago"},
			{Name: "facts", SizeBytes: 21e9, FreeBytes: -1, Lag: -1}, {Name: "escrow", SizeBytes: 812e6, FreeBytes: -1, Lag: -1},
			{Name: "archive", SizeBytes: -1, FreeBytes: -1, Lag: 3}}
		p.Nodes = []web.Node{{Kind: "beacon", Name: "lighthouse:5052", Works: true, Note: "follows the head"},
			{Kind: "validation", Name: "reth:8545", Works: true}}
	}
	var picture []byte
	if err := chromedp.Run(browser, chromedp.EmulateViewport(1100, 1250),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}}),
		chromedp.SendKeys("#token", token), chromedp.Submit("#token"), chromedp.WaitVisible("#builders"),
		chromedp.CaptureScreenshot(&picture)); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile("../../docs/operator.png", picture, 0o644); err != nil {
		h.t.Fatal(err)
	}
}
