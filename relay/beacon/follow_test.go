package beacon

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/eth/gloas"
	"github.com/gavel-relay/gavel/relay"
)

// A node that does not know the events of gloas is followed without them, and named. When its next
// version is started, which knows them, that is told too.
func TestNodeWithoutEventsOfGloas(t *testing.T) {
	var streams atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		topics := strings.Split(r.URL.Query().Get("topics"), ",")
		if streams.Load() == 0 && slices.Contains(topics, preferencesTopic) {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, wireOf("head", fmt.Sprintf(headEvent, streams.Add(1), 2, 3)))
	}))
	t.Cleanup(server.Close)

	ctx, cancel := context.WithCancel(t.Context())
	var told []string
	err := nodes(t, server.URL).Follow(ctx, Events{
		Head: func(relay.Head) {
			if told = append(told, "head"); len(told) == 4 {
				cancel()
			}
		},
		Preferences: func(*gloas.SignedProposerPreferences) {},
		Block:       func(phase0.Slot, phase0.Root) {},
		Lacks: func(node string, err error) {
			if node != server.URL {
				t.Errorf("the node is called %s", node)
			}
			told = append(told, fmt.Sprintf("lacks: %t", err != nil))
		},
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if want := []string{"lacks: true", "head", "lacks: false", "head"}; !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}
