package app_test

import (
	"os"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/eth"
)

// Every endpoint is in the relay's page, and the page names no test that is not there.
func TestEveryEndpointIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/relay.md")
	must(t, err)
	page := string(text)
	h := newRelay(t, eth.Capella, relayOptions{configure: trusting})
	patterns := h.app.Patterns()
	if len(patterns) < 20 {
		t.Errorf("only %d endpoints: %q", len(patterns), patterns)
	}
	for _, pattern := range patterns {
		_, path, _ := strings.Cut(pattern, " ")
		if !strings.Contains(page, path) {
			t.Errorf("docs/relay.md does not have %s", pattern)
		}
	}
}
