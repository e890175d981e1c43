package app_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
	"github.com/gavel-relay/gavel/relay/client"
)

// Whoever listens is told of each leading bid, through all that stands before the public API, and
// is sent away in good order.
func TestTopBidsArePushed(t *testing.T) {
	h := newRelay(t, eth.Capella, relayOptions{})
	c, err := client.New(h.relayURL, client.Options{})
	must(t, err)
	low, high := h.worth(t, 0, 1000), h.worth(t, 1, 2000)
	h.submitted(t, low)
	want := []*submission{low, high}
	heard := 0
	for top, err := range c.TopBids(t.Context(), client.TopBidOptions{}) {
		if heard == len(want) {
			if err == nil {
				t.Errorf("heard %+v of a relay that stops", top)
			}
			break
		}
		must(t, err)
		if top.BlockHash != want[heard].payload.BlockHash || !top.ValueWei.Eq(want[heard].trace.Value) {
			t.Errorf("heard %+v, want the bid of %s wei", top, want[heard].trace.Value)
		}
		if heard++; heard == 1 {
			h.submitted(t, high)
		} else {
			go func() { must(t, h.stopRelay()) }()
		}
	}
	if heard != len(want) {
		t.Errorf("%d bids heard", heard)
	}
}

// A builder with an API key uses up its own allowance and nobody else's.
func TestAllowances(t *testing.T) {
	h := newRelay(t, eth.Capella, relayOptions{configure: func(c *app.Config) {
		trusting(c)
		c.Limits.BuilderPerSecond, c.Limits.BuilderBurst = 1, 3
	}})
	path, refused := "/relay/v1/builder/validators", 0
	for range 5 {
		got := h.get(t, path, withKey(http.Header{}))
		if got.status != http.StatusTooManyRequests {
			continue
		}
		refused++
		got.wantRefusal(t, relay.RateLimited, "")
		if got.header.Get("Retry-After") != "1" {
			t.Errorf("Retry-After is %q", got.header.Get("Retry-After"))
		}
	}
	if refused == 0 {
		t.Error("five requests at once are within an allowance of three")
	}
	h.get(t, path, nil).wantStatus(t, http.StatusOK)
	// no builder's, so it is the address's
	h.get(t, path, http.Header{"X-Api-Key": {"a stranger's"}}).wantStatus(t, http.StatusOK)
}

// A demotion reaches the operator without being asked for.
func TestDemotionIsAlerted(t *testing.T) {
	alerts := make(chan string, 8)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		var alert struct {
			Text string `json:"text"`
		}
		if err := json.Unmarshal(raw, &alert); err != nil {
			t.Error(err)
		}
		alerts <- alert.Text
	}))
	t.Cleanup(hook.Close)
	h := newRelay(t, eth.Capella, relayOptions{configure: func(c *app.Config) {
		trusting(c)
		c.Webhooks = []string{hook.URL}
	}})
	bad := h.worth(t, 0, 1000)
	bad.trace.Value = uint256.NewInt(900_000) // promised, not paid
	bad.sign()
	h.submitted(t, bad)
	if text := <-alerts; !strings.HasPrefix(text, "gavel: builder alpha demoted: slot 1,") ||
		!strings.Contains(text, "payment") {
		t.Errorf("%s", text)
	}
}
