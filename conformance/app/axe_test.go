//go:build axe

package app

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/conformance/bench"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// The page of a load test has no violation of axe-core's rules, alone and with two reports side by
// side.
func TestAccessible(t *testing.T) {
	var addresses []string
	for name, reports := range map[string][]*bench.Report{
		"one.html": {sampleBench("a relay")}, "two.html": {sampleBench("a relay"), sampleBench("another one")},
	} {
		var page bytes.Buffer
		if err := writeBenchPage(&page, reports); err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		addresses = append(addresses, (&url.URL{Scheme: "file", Path: file}).String())
	}
	ctx, cancel := context.WithTimeout(servetest.OpenBrowser(t, 1200, 900), 3*time.Minute)
	defer cancel()
	servetest.CheckAccessible(t, ctx, addresses)
}
