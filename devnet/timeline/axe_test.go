//go:build axe

package timeline_test

import (
	"context"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// The page of a run has no violation of axe-core's rules, also with facts open and one chosen.
func TestAccessible(t *testing.T) {
	ctx, cancel := context.WithTimeout(servetest.OpenBrowser(t, 1200, 900), 3*time.Minute)
	defer cancel()
	servetest.CheckAccessible(t, ctx, []string{file(t, story())},
		chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => { d.open = true; })`, nil),
		chromedp.Evaluate(`document.querySelector("#slot-1 svg a").dispatchEvent(`+
			`new MouseEvent("click", {bubbles: true, cancelable: true}))`, nil))
}
