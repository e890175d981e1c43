package report_test

import (
	"bytes"
	"context"
	"image/png"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// The page needs nothing from elsewhere, shows what a newcomer looks for, and runs nothing of what
// a target has said.
func TestPage(t *testing.T) {
	var b bytes.Buffer
	if err := sample().HTML(&b); err != nil {
		t.Fatal(err)
	}
	page := b.String()
	for _, word := range []string{"src=", "<link", "@import", "<script"} {
		if strings.Contains(page, word) {
			t.Errorf("the page has %q: it must stand alone and run nothing", word)
		}
	}
	for _, word := range []string{"our&lt;relay&gt;", "REL-REG-02", "A rule with a | in it.", "expected", "curl -sS",
		"gavel-lab conformance run --seed 7"} {
		if !strings.Contains(page, word) {
			t.Errorf("the page does not have %q", word)
		}
	}
}

// The page is looked at in a browser: it fills the window, and nothing sticks out of it.
func TestPageInABrowser(t *testing.T) {
	file := filepath.Join(t.TempDir(), "report.html")
	var b bytes.Buffer
	if err := sample().HTML(&b); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	// a browser that hangs must not hang the tests
	ctx, cancel := context.WithTimeout(servetest.OpenBrowser(t, 800, 900), time.Minute)
	defer cancel()
	var heading, outcome string
	var rows, open int
	var sticksOut bool
	var picture []byte
	err := chromedp.Run(ctx, chromedp.Navigate((&url.URL{Scheme: "file", Path: file}).String()),
		chromedp.Evaluate(`document.querySelector("h1").innerText`, &heading),
		chromedp.Evaluate(`document.querySelector("#outcome").innerText`, &outcome),
		chromedp.Evaluate(`document.querySelectorAll("#profiles tr").length`, &rows),
		chromedp.Evaluate(`document.querySelector("summary").click()`, nil),
		chromedp.Evaluate(`document.querySelectorAll("details[open]").length`, &open),
		chromedp.Evaluate(`document.documentElement.scrollWidth > innerWidth`, &sticksOut),
		chromedp.CaptureScreenshot(&picture))
	if err != nil {
		t.Fatal(err)
	}
	if heading != "our<relay> v1" || !strings.Contains(outcome, "not conformant") || rows != 2 || open == 0 || sticksOut {
		t.Errorf("heading %q, outcome %q, %d rows, %d open, sticks out: %v", heading, outcome, rows, open, sticksOut)
	}
	if keep := os.Getenv("GAVEL_KEEP_SCREENSHOT"); keep != "" {
		if err := os.WriteFile(keep, picture, 0o600); err != nil {
			t.Error(err)
		}
	}
	decoded, err := png.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatal(err)
	}
	colours := map[[3]uint32]bool{}
	for x := 0; x < decoded.Bounds().Dx(); x += 3 {
		for y := 0; y < decoded.Bounds().Dy(); y += 3 {
			r, g, b, _ := decoded.At(x, y).RGBA()
			colours[[3]uint32{r, g, b}] = true
		}
	}
	if len(colours) < 8 {
		t.Errorf("the picture has %d colours: nothing was drawn", len(colours))
	}
}
