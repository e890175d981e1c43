//go:build axe

package api

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/stream"
)

// The page of the stream has no violation of axe-core's rules, with events in it.
func TestAccessible(t *testing.T) {
	h := newLiveServer(nil)
	address := h.open(t)
	for i := range 3 {
		h.Publish([]stream.Event{{ID: uint64(i + 1), Block: 7, JSON: fmt.Appendf(nil, `{"hash":"0x%064x","logs":[{}],"txs":null}`, i)}})
	}
	ctx, cancel := context.WithTimeout(servetest.OpenBrowser(t, 1200, 900), 3*time.Minute)
	defer cancel()
	servetest.CheckAccessible(t, ctx, []string{address},
		chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => { d.open = true; })`, nil))
}
