package app_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// operator is a browser at the admin listener of a relay.
type operator struct {
	http.Client
	url string
}

func (h *relayUnderTest) newOperator(t *testing.T) *operator {
	t.Helper()
	server := httptest.NewServer(h.app.Admin())
	t.Cleanup(server.Close)
	jar, err := cookiejar.New(nil)
	must(t, err)
	return &operator{http.Client{Jar: jar}, server.URL}
}

// page reads an answer.
func page(t *testing.T, answer *http.Response, err error) string {
	t.Helper()
	must(t, err)
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	must(t, err)
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s", answer.Request.URL, answer.StatusCode, raw)
	}
	return string(raw)
}

func (o *operator) send(t *testing.T, path string, fields url.Values) string {
	t.Helper()
	answer, err := o.PostForm(o.url+path, fields) //nolint:noctx // the server ends with the test
	return page(t, answer, err)
}

func (o *operator) get(t *testing.T, path string) string {
	t.Helper()
	answer, err := o.Get(o.url + path) //nolint:noctx // the server ends with the test
	return page(t, answer, err)
}

// An operator logs in, sees a builder demoted, fetches the evidence, promotes it and turns the kill
// switch. Both outlive a restart, and the reason is in the fact.
func TestOperatorsPage(t *testing.T) {
	folder, reasons := t.TempDir(), make(chan string, 8)
	h := newRelay(t, eth.Capella, relayOptions{configure: func(c *app.Config) {
		trusting(c)
		c.DataDir, c.Settings = folder, "listen: here\n"
		c.Observe = func(fact relay.Fact) {
			switch f := fact.(type) {
			case relay.BuilderChanged:
				reasons <- f.Why
			case relay.KillSwitchChanged:
				reasons <- f.Why
			}
		}
	}})
	bad := h.worth(t, 0, 1000)
	bad.trace.Value = uint256.NewInt(900_000) // promised, not paid
	bad.sign()
	h.submitted(t, bad)
	o := h.newOperator(t)
	shown := o.send(t, "/operator/login", url.Values{"token": {operatorToken}})
	poll(t, "the demotion is on the page", func() bool {
		shown = o.get(t, "/operator")
		return strings.Contains(shown, "bids count after execution") && strings.Contains(shown, "Evidence")
	})
	for _, want := range []string{"payment", "<td>beacon</td>", "<td>escrow</td>", "<td>archive</td>", "listen: here",
		"Promote alpha"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in %s", want, shown)
		}
	}
	if strings.Contains(shown, operatorToken) {
		t.Error("the page has the token")
	}
	evidence := fmt.Sprintf("/operator/evidence/%#x", bad.trace.BlockHash[:])
	poll(t, "the evidence is kept", func() bool {
		answer, err := o.Get(o.url + evidence) //nolint:noctx // the server ends with the test
		must(t, err)
		defer answer.Body.Close()
		return answer.StatusCode == http.StatusOK && answer.Header.Get("Content-Type") == "application/octet-stream"
	})
	form := regexp.MustCompile(`name="form" value="([A-Z0-9]+)"`).FindStringSubmatch(shown)[1]
	o.send(t, "/operator/promote", url.Values{"form": {form}, "name": {"alpha"}, "why": {"settled <b>it</b>"}})
	shown = o.send(t, "/operator/kill-switch", url.Values{"form": {form}, "on": {"true"}, "why": {"a bug"}})
	if !strings.Contains(shown, "optimistic: bids count at once") || !strings.Contains(shown, "It is on: no headers") {
		t.Errorf("after the changes: %s", shown)
	}
	for _, want := range []string{"demoted: payment", "promoted: settled <b>it</b>", "a bug"} {
		if got := <-reasons; got != want {
			t.Errorf("a fact says %q, want %q", got, want)
		}
	}
	h.restart(t)
	if kept := h.admin(t, "GET /admin/v1/status", ""); !strings.Contains(string(kept.body), `"kill_switch":true`) {
		t.Errorf("after a restart: %s", kept)
	}
	if kept := h.admin(t, "GET /admin/v1/builders/alpha", ""); !strings.Contains(string(kept.body), `"optimistic":true`) {
		t.Errorf("after a restart: %s", kept)
	}
	again := h.newOperator(t)
	if first := again.get(t, "/operator"); strings.Contains(first, "alpha") {
		t.Error("nobody has logged in, and builders are shown")
	}
}

// Without a token there is neither an admin API nor a page.
func TestNoOperatorsPageWithoutAToken(t *testing.T) {
	h := newRelay(t, eth.Capella, relayOptions{})
	o := h.newOperator(t)
	for _, path := range []string{"/operator", "/operator/login"} {
		answer, err := o.Get(o.url + path) //nolint:noctx // the server ends with the test
		must(t, err)
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, answer.StatusCode)
		}
	}
}
