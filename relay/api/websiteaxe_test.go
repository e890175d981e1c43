//go:build axe

package api_test

import (
	"context"
	"fmt"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// No page of the website has a violation of axe-core's rules.
func TestWebsiteAccessible(t *testing.T) {
	site := newSite(t, story(), nil)
	for _, fact := range auctioned(site.policy.Spec) {
		site.auctions.Record(fact)
	}
	server := httptest.NewServer(site.handler)
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(servetest.OpenBrowser(t, 1200, 900), 3*time.Minute)
	defer cancel()
	var addresses []string
	for _, path := range []string{"/", "/slot/7", "/slot/5", "/builder/" + fmt.Sprintf("%#x", builderB[:]),
		"/proposer/" + fmt.Sprintf("%#x", proposerA[:]), "/slot/9"} {
		addresses = append(addresses, server.URL+path)
	}
	servetest.CheckAccessible(t, ctx, addresses)
}
