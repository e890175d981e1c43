//go:build axe

package report_test

import (
	"bytes"
	"context"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/gavel-relay/gavel/conformance/report"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// Reports and their matrix have no violation of axe-core's rules, also with all details open.
func TestAccessible(t *testing.T) {
	var addresses []string
	for name, page := range map[string]func(io.Writer) error{
		"report.html": sample().HTML,
		"matrix.html": report.NewMatrix([]*report.Report{sample(), sample()}).HTML,
	} {
		var b bytes.Buffer
		if err := page(&b); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, (&url.URL{Scheme: "file", Path: file}).String())
	}
	ctx, cancel := context.WithTimeout(servetest.OpenBrowser(t, 1200, 900), 3*time.Minute)
	defer cancel()
	servetest.CheckAccessible(t, ctx, addresses,
		chromedp.Evaluate(`document.querySelectorAll("details").forEach(d => { d.open = true; })`, nil))
}
