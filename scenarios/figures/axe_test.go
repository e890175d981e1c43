//go:build axe

package figures

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// The page of figures has no violation of axe-core's rules.
func TestAccessible(t *testing.T) {
	var page bytes.Buffer
	about := About{Network: "mainnet", Slots: 1, Rules: []string{"a rule"}}
	if err := WritePage(&page, about, hostileFigures()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "index.html")
	if err := os.WriteFile(file, page.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(servetest.OpenBrowser(t, 1200, 900), 3*time.Minute)
	defer cancel()
	servetest.CheckAccessible(t, ctx, []string{(&url.URL{Scheme: "file", Path: file}).String()})
}
