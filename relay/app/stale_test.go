package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/eth"
)

// A relay whose beacon nodes have told nothing for minutes is alive, and not ready: balancers go to
// one with better nodes.
func TestStaleHeadIsNotReady(t *testing.T) {
	h := newRelay(t, eth.Fulu, relayOptions{})
	head := h.spec.SlotStart(h.slot - 1)
	for _, row := range []struct {
		after time.Duration
		want  int
	}{
		{5 * time.Minute, http.StatusOK}, {5*time.Minute + time.Millisecond, http.StatusServiceUnavailable},
	} {
		h.clock.Set(head.Add(row.after))
		answer := h.get(t, "/readyz", nil)
		if answer.status != row.want {
			t.Errorf("%s after the newest head: status %d, want %d", row.after, answer.status, row.want)
		}
		if says := strings.Contains(string(answer.body), "the newest head, of slot"); says != (row.want != http.StatusOK) {
			t.Errorf("%s after the newest head: %s", row.after, answer.body)
		}
		if live := h.get(t, "/livez", nil); live.status != http.StatusOK {
			t.Errorf("%s after the newest head: /livez is %d", row.after, live.status)
		}
	}
}
