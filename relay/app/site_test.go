package app_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/internal/sse"
	"github.com/gavel-relay/gavel/relay/app"
	"github.com/gavel-relay/gavel/relay/web"
)

// page returns the body of a page, and fails unless it is there.
func (h *relayUnderTest) page(t *testing.T, path string) string {
	t.Helper()
	got := h.get(t, path, nil)
	got.wantStatus(t, http.StatusOK)
	return string(got.body)
}

// A whole auction on the website: bids as they come, without keys; after the delivery keys and
// receipt; and after a restart what the archive has.
func TestWebsiteShowsAnAuction(t *testing.T) {
	dir := t.TempDir()
	h := newRelay(t, eth.Fulu, relayOptions{configure: func(c *app.Config) { c.Website, c.DataDir = true, dir }})
	s := h.worth(t, 0, 1e15)
	h.submitted(t, s)
	slot, key := fmt.Sprintf("/slot/%d", h.slot), fmt.Sprintf("%#x", s.trace.BuilderPubkey[:])
	var running string
	poll(t, "the bid is on the page", func() bool {
		got := h.get(t, slot, nil)
		running = string(got.body)
		return got.status == http.StatusOK && strings.Contains(running, "0.001000")
	})
	if strings.Contains(running, key) || strings.Contains(running, s.trace.BlockHash.String()) ||
		!strings.Contains(running, "the auction runs") {
		t.Errorf("while it runs: %s", running)
	}
	h.into(0)
	h.deliver(t, s)
	poll(t, "the delivery is on the page", func() bool {
		over := h.page(t, slot)
		return strings.Contains(over, key) && strings.Contains(over, "Delivered by")
	})
	poll(t, "the delivery is on the builder's page", func() bool {
		return strings.Contains(h.page(t, "/builder/"+key+"/md"), "]("+slot+")")
	})
	if first := h.page(t, "/md"); !strings.Contains(first, "/builder/"+key) {
		t.Error(first)
	}
	h.into(5 * time.Second) // over, as the archive cannot tell
	h.restart(t)
	if archived := h.page(t, slot); !strings.Contains(archived, "archive has") || !strings.Contains(archived, key) {
		t.Error(archived)
	}
}

// Without the flag there is no website.
func TestNoWebsiteUnlessWanted(t *testing.T) {
	h := newRelay(t, eth.Fulu, relayOptions{})
	for _, path := range []string{"/", "/slot/1", "/find?q=1"} {
		h.get(t, path, nil).wantStatus(t, http.StatusNotFound)
	}
}

// A viewer gets the auction that runs, without keys, and again when it was delivered; the stream
// ends when the relay stops.
func TestLiveAuction(t *testing.T) {
	h := newRelay(t, eth.Fulu, relayOptions{configure: func(c *app.Config) { c.Website = true }})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.relayURL+"/live", http.NoBody)
	must(t, err)
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	events := sse.NewReader(response.Body, 1<<20)
	until := func(step time.Duration, done func(live web.Live) bool) string {
		offset := h.clock.Now().Sub(h.spec.SlotStart(h.slot))
		for {
			said := make(chan string, 1)
			go func() {
				event, err := events.Next()
				if err != nil {
					event.Data = []byte(err.Error())
				}
				said <- string(event.Data)
			}()
			var text string
			poll(t, "a state of the auction", func() bool {
				offset += step // the next state is published
				h.into(offset)
				select {
				case text = <-said:
					return true
				default:
					return false
				}
			})
			var live web.Live
			must(t, json.Unmarshal([]byte(text), &live))
			if done(live) {
				return text
			}
		}
	}
	s := h.worth(t, 0, 1e15)
	h.submitted(t, s)
	text := until(time.Millisecond, func(live web.Live) bool { return live.Leader == "A" && live.LeaderETH == "0.001000" })
	if key := fmt.Sprintf("%x", s.trace.BuilderPubkey[:4]); strings.Contains(text, key) {
		t.Errorf("the viewer is told %s", text)
	}
	h.into(0)
	h.deliver(t, s)
	until(time.Millisecond, func(live web.Live) bool { return live.Over && strings.HasPrefix(live.Delivered, "0x") })
	must(t, h.stopRelay())
	for err = nil; err == nil; {
		_, err = events.Next()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("the stream ends with %v", err)
	}
}
