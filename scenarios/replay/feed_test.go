package replay

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/golden"
)

// feedWorld starts a world with our relay, both by a clock that stands while there is work.
func feedWorld(t *testing.T) (FeedOptions, string) {
	t.Helper()
	paced := clock.NewPaced(time.Now().Truncate(time.Second), 3)
	opened, end, err := app.Open(context.Background(), app.Source{Local: true, Notes: io.Discard,
		World: world.Config{Slot: 2 * time.Second, Clock: paced, BlobsLater: true, Accounts: 16}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(end)
	relay := opened.Target.Relay
	how := runOptions(t, "", "").How
	return FeedOptions{How: how, WorldURL: opened.Target.Chain.WorldURL, Clock: paced,
		RelayURL: strings.Replace(relay.ProposerURL, "://", "://"+relay.PublicKey+"@", 1)}, relay.ProposerURL
}

func mustFeed(t *testing.T, o FeedOptions) (*FeedReport, string) {
	t.Helper()
	report, err := Feed(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for _, fed := range report.Auctions {
		if err := fed.WriteText(&text); err != nil {
			t.Fatal(err)
		}
	}
	return report, text.String()
}

// Two real auctions, bid for bid, at our relay: the header, the lists and the chain are exactly
// those of the replay. Relays that lie in one answer are noticed by it.
func TestFeed(t *testing.T) {
	o, _ := feedWorld(t)
	o.Dir = t.TempDir()
	for relay, files := range map[string][]string{
		"flashbots": {"testdata/demo/flashbots-7567001.json.gz"},
		"bloxroute": {"testdata/demo/bloxroute-7613244.json.gz", "testdata/demo/delivered-7613244.json"},
	} {
		into := options(o.Dir)
		into.Relay = relay
		imported(t, into, files...)
	}
	report, text := mustFeed(t, o)
	t.Log(text)
	if !report.OK() || !report.Judged() || len(report.Auctions) != 2 {
		t.Fatal("our relay differs from the replay")
	}
	if won := report.Auctions[1]; won.ServedWei != won.ExpectedWei || won.PaidWei != won.ExpectedWei || won.Bids != 895 {
		t.Errorf("the auction of bloXroute: %+v", won)
	}
}

// liar stands before a relay, and changes one of its answers.
func liar(t *testing.T, direct, path string, lie func(*http.Response, string) string) string {
	t.Helper()
	target, err := url.Parse(direct)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(answer *http.Response) error {
		if !strings.HasPrefix(answer.Request.URL.Path, path) {
			return nil
		}
		body, err := io.ReadAll(answer.Body)
		if err != nil {
			return err
		}
		changed := lie(answer, string(body))
		answer.Body, answer.ContentLength = io.NopCloser(strings.NewReader(changed)), int64(len(changed))
		answer.Header.Del("Content-Length")
		return nil
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return server.URL
}

func TestFeedNoticesLies(t *testing.T) {
	o, direct := feedWorld(t)
	key, _, _ := strings.Cut(strings.TrimPrefix(o.RelayURL, "http://"), "@")
	o.Dir = t.TempDir()
	into := options(o.Dir)
	into.Relay = "flashbots"
	imported(t, into, samples+"flashbots-7567001.json")
	value := regexp.MustCompile(`"value":"\d`)
	more := func(_ *http.Response, body string) string { return value.ReplaceAllString(body, `"value":"9`) }
	const data = "/relay/v1/data/bidtraces/"
	for _, c := range []struct {
		name, path string
		lie        func(*http.Response, string) string
		want       string
	}{
		{"nothing", "/none", more, ""},
		{"the header's value", "/eth/v1/builder/header/", more, "signature header delivered-list paid"},
		{"no header", "/eth/v1/builder/header/", func(answer *http.Response, _ string) string {
			answer.StatusCode = http.StatusNoContent
			return ""
		}, "header"},
		{"received bids", data + "builder_blocks_received", more, "received-list"},
		{"no received bids", data + "builder_blocks_received", func(*http.Response, string) string { return "[]" },
			"received-list"},
		{"a delivery", data + "proposer_payload_delivered", more, "delivered-list"},
		{"refusals", "/relay/v1/builder/blocks", func(answer *http.Response, _ string) string {
			answer.StatusCode = http.StatusInternalServerError
			return "{}"
		}, "refused"},
		{"no delivery", "/eth/v2/builder/blinded_blocks", func(answer *http.Response, _ string) string {
			answer.StatusCode = http.StatusInternalServerError
			return "{}"
		}, "delivery delivered-list"},
	} {
		o.RelayURL = strings.Replace(liar(t, direct, c.path, c.lie), "://", "://"+key+"@", 1)
		report, text := mustFeed(t, o)
		kinds := map[string]bool{}
		for _, d := range report.Auctions[0].Differences {
			kinds[d.What] = true
		}
		for _, kind := range strings.Fields(c.want) {
			if !kinds[kind] {
				t.Errorf("a lie about %s is not noticed as %s", c.name, kind)
			}
			delete(kinds, kind)
		}
		if len(kinds) > 0 || report.OK() != (c.want == "") {
			t.Errorf("a lie about %s:\n%s", c.name, text)
		}
	}
}

func TestDifferencesDocs(t *testing.T) {
	golden.Section(t, "../../docs/replay.md", "differences", DifferencesMarkdown())
}
