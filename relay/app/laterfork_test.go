package app_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// goingOverToGloas stands before a beacon node and adds the fork to its configuration.
func goingOverToGloas(t *testing.T, node, epoch string) string {
	t.Helper()
	to, err := url.Parse(node)
	must(t, err)
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval = -1 // events
	proxy.ModifyResponse = func(r *http.Response) error {
		if r.Request.URL.Path != "/eth/v1/config/spec" {
			return nil
		}
		var config struct {
			Data map[string]any `json:"data"`
		}
		if err := json.NewDecoder(r.Body).Decode(&config); err != nil {
			return err
		}
		config.Data["GLOAS_FORK_EPOCH"], config.Data["GLOAS_FORK_VERSION"] = epoch, "0x07000001"
		body, err := json.Marshal(config)
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		r.Header.Del("Content-Length")
		return err
	}
	listener, server := listen(t), &http.Server{Handler: proxy, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	t.Cleanup(func() {
		must(t, server.Close())
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("serve the beacon node: %v", err)
		}
	})
	return "http://" + listener.Addr().String()
}

// A relay on a network that goes over to gloas serves the slots before, and says in those of gloas
// that it does not serve them: to probes, to proposers and to builders.
func TestForkThatIsNotServedIsNamed(t *testing.T) {
	h := newRelay(t, eth.Fulu, relayOptions{slotsPerEpoch: 2, configure: func(c *app.Config) {
		c.BeaconURLs = []string{goingOverToGloas(t, c.BeaconURLs[0], "1")}
	}})
	if got := h.app.Spec().ForkPointAt(1); got.Fork != eth.Gloas || got.Version[0] != 7 {
		t.Fatalf("the relay knows %+v", got)
	}
	h.get(t, "/readyz", nil).wantStatus(t, http.StatusOK)
	h.deliver(t, h.good(t)) // slot 1 is the last one of fulu

	h.slot++
	h.attributes = h.announced(t, h.slot)
	poll(t, "/readyz names the fork", func() bool {
		got := h.get(t, "/readyz", nil)
		return got.status == http.StatusServiceUnavailable && strings.Contains(string(got.body), "slot 2 is in gloas")
	})
	h.get(t, "/eth/v1/builder/status", nil).wantStatus(t, http.StatusOK) // requests for bids are answered, with 204
	if got := h.get(t, h.headerPath(), nil); got.status != http.StatusNoContent {
		t.Errorf("a bid in gloas: %s", got)
	}
	late := h.good(t)
	got := h.post(t, "/relay/v1/builder/blocks", jsonHeader(), late.json(t))
	if got.status != http.StatusBadRequest || got.header.Get("X-Refusal") != relay.UnknownFork.ID ||
		!strings.Contains(string(got.body), "gloas") {
		t.Errorf("a block in gloas: %s", got)
	}
}
