package timeline_test

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/gavel-relay/gavel/devnet/timeline"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// file is the address of a file with the page of a run.
func file(t *testing.T, c *timeline.Chart) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.html")
	if err := os.WriteFile(path, []byte(page(t, c)), 0o600); err != nil {
		t.Fatal(err)
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// In a browser the facts are where their times are, a click shows one of them, and a fault covers
// the time that it lasted. Nothing sticks out at any width, in light or dark.
func TestPageInABrowser(t *testing.T) {
	ctx, cancel := context.WithTimeout(servetest.OpenBrowser(t, 1200, 900), 3*time.Minute)
	defer cancel()
	address := file(t, story())
	for _, widthPixels := range []int64{320, 1200} {
		for theme, want := range map[string]string{"light": "rgb(251, 250, 248)", "dark": "rgb(20, 23, 26)"} {
			var content int64
			var ground string
			if err := chromedp.Run(ctx, chromedp.EmulateViewport(widthPixels, 900),
				emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}),
				chromedp.Navigate(address), chromedp.Evaluate(`document.documentElement.scrollWidth`, &content),
				chromedp.Evaluate(`getComputedStyle(document.body).backgroundColor`, &ground)); err != nil {
				t.Fatal(err)
			}
			if content > widthPixels || ground != want {
				t.Errorf("at %d, %s: %d wide, ground %s", widthPixels, theme, content, ground)
			}
		}
	}
	var marks int
	var inOrder, covers bool
	var before, shown, target string
	const mark = `document.querySelector("#slot-1 svg a[aria-label*='payload delivered']")`
	const left = `(s) => document.querySelector("#slot-2 svg " + s).getBoundingClientRect()`
	err := chromedp.Run(ctx,
		chromedp.Evaluate(`[...document.querySelectorAll("#slot-1 svg a use")].filter(`+
			`u => u.getBoundingClientRect().width > 4).length`, &marks),
		chromedp.Evaluate(`(() => { const at = `+left+`; return at("a[aria-label*='-6000 ms']").left < `+
			`at("a[aria-label*='-4000 ms']").left && at("a[aria-label*='-4000 ms']").top < at("a[aria-label*='-6000 ms']").top`+
			` && at(".begin").left < at("a[aria-label*='header served']").right; })()`, &inOrder),
		chromedp.Evaluate(`(() => { const at = `+left+`; const b = at(".band rect"), h = at("a[aria-label*='header served']");`+
			` return b.left > h.right && b.width > 150; })()`, &covers),
		chromedp.Evaluate(`document.getElementById("chosen").innerText`, &before),
		chromedp.Evaluate(mark+`.dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true}))`, nil),
		chromedp.Evaluate(`document.getElementById("chosen").innerText`, &shown),
		// without a script the mark is a link to the row of its fact
		chromedp.Evaluate(`document.querySelector(`+mark+`.getAttribute("href")).cells[2].textContent`, &target))
	if err != nil {
		t.Fatal(err)
	}
	if marks != 10 || !inOrder || !covers {
		t.Errorf("%d marks, in order: %v, the fault covers its time: %v", marks, inOrder, covers)
	}
	if before != "" || !strings.Contains(shown, "payload delivered") || !strings.Contains(shown, "builder-2") ||
		target != "payload delivered" {
		t.Errorf("chosen %q, then %q; the row says %q", before, shown, target)
	}
	if os.Getenv("SCREENSHOTS") == "" { // fonts differ between machines, so the picture is written when wanted only
		return
	}
	var picture []byte
	if err := chromedp.Run(ctx, chromedp.EmulateViewport(1100, 900),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "light"}}),
		chromedp.Navigate(address), chromedp.Evaluate(`scrollTo(0, document.getElementById("overview").offsetTop)`, nil),
		chromedp.CaptureScreenshot(&picture)); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("../../docs/run.png", picture, 0o644); err != nil {
		t.Fatal(err)
	}
}

// A page whose names are markup shows them as text, also when a fact is chosen.
func TestHostileTextsInABrowser(t *testing.T) {
	ctx, cancel := context.WithTimeout(servetest.OpenBrowser(t, 1200, 900), 3*time.Minute)
	defer cancel()
	var images, shown int
	var heading, title string
	err := chromedp.Run(ctx, chromedp.Navigate(file(t, adversary())),
		chromedp.Evaluate(`document.querySelectorAll("#slot-1 svg a").forEach(a => a.dispatchEvent(`+
			`new MouseEvent("click", {bubbles: true, cancelable: true})))`, nil),
		chromedp.Evaluate(`document.querySelectorAll("#chosen dd").length`, &shown),
		chromedp.Evaluate(`document.querySelectorAll("img, iframe, object, a[href^=javascript]").length`, &images),
		chromedp.Evaluate(`document.querySelector("h1").textContent`, &heading), chromedp.Title(&title))
	if err != nil {
		t.Fatal(err)
	}
	if images != 0 || title != hostile || heading != hostile || shown < 5 {
		t.Errorf("%d images, title %q, heading %q, %d values", images, title, heading, shown)
	}
}
