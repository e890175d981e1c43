package figures

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// The page is looked at in a browser: it is whole without anything else, its pictures fill its
// width, pointer and keys read values, tables are sorted, and hostile names stay text.
func TestPageInABrowser(t *testing.T) {
	var page bytes.Buffer
	about := About{Network: "mainnet", Slots: 1, Rules: []string{hostile}, Models: []string{hostile}}
	if err := WritePage(&page, about, hostileFigures()); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"src=\"", "<link", "@import", "url(", "<img"} {
		if strings.Contains(page.String(), word) {
			t.Errorf("the page has %q: it must stand alone", word)
		}
	}
	file := filepath.Join(t.TempDir(), "index.html")
	if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	// a browser that hangs must not hang the tests
	ctx, cancel := context.WithTimeout(servetest.OpenBrowser(t, 800, 900), time.Minute)
	defer cancel()
	var pictures, images, scripts int
	var sticksOut bool
	var curve, named, stages, missed, shading, before, after string
	const press = `(id, times) => { const p = document.querySelector("#" + id + " .picture"); ` +
		`for (let i = 0; i < times; i++) p.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"})); ` +
		`return document.querySelector("#" + id + " .readout").textContent; }`
	const topBuilder = `document.querySelector("#builders tbody td").textContent`
	err := chromedp.Run(ctx, chromedp.Navigate((&url.URL{Scheme: "file", Path: file}).String()),
		chromedp.Evaluate(`[...document.querySelectorAll(".picture svg")].filter(`+
			`s => s.getBoundingClientRect().width > 600 && s.getBoundingClientRect().height > 200).length`, &pictures),
		chromedp.Evaluate(`document.images.length`, &images),
		chromedp.Evaluate(`document.querySelectorAll("script:not([type])").length`, &scripts),
		chromedp.Evaluate(`document.documentElement.scrollWidth > innerWidth`, &sticksOut),
		chromedp.Evaluate(`(`+press+`)("bid-curve", 80)`, &curve),
		chromedp.Evaluate(`(`+press+`)("what-if", 1)`, &named),
		chromedp.Evaluate(`(`+press+`)("stages", 1)`, &stages),
		chromedp.Evaluate(`(`+press+`)("missed", 1)`, &missed),
		chromedp.Evaluate(`(`+press+`)("shading", 1)`, &shading),
		chromedp.Evaluate(topBuilder, &before),
		chromedp.Evaluate(`document.querySelectorAll("#builders th")[1].click()`, nil),
		chromedp.Evaluate(topBuilder, &after))
	if err != nil {
		t.Fatal(err)
	}
	if pictures != 14 || images != 0 || scripts != 1 || sticksOut {
		t.Errorf("%d pictures, %d images, %d scripts, sticks out: %v", pictures, images, scripts, sticksOut)
	}
	if !strings.Contains(curve, "served at 1,000: 0.025") || !strings.Contains(curve, "leading bid at 250: 0.025") {
		t.Errorf("the bid curve reads %q", curve)
	}
	if !strings.Contains(named, hostile+" *: 0.005 (0.005 to 0.005)") {
		t.Errorf("the variant reads %q", named)
	}
	for id, c := range map[string][2]string{
		"stages":  {stages, "90 % at submission: " + hostile + ": 0.007"},
		"missed":  {missed, "share, and its bounds at 1,200: 1 (0.34238023 to 1)"},
		"shading": {shading, "mean of all bids at 100: -0.1 (-0.1 to -0.1)"},
	} {
		if !strings.Contains(c[0], c[1]) {
			t.Errorf("%s reads %q, want %q", id, c[0], c[1])
		}
	}
	// B won and is first; A has more bids.
	if before != keyText(key('B')) || after != keyText(key('A')) {
		t.Errorf("first builder %s, and sorted by bids %s", before, after)
	}
}
