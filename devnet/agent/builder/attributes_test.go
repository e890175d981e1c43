package builder

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/attestantio/go-eth2-client/spec/phase0"
)

// announcement is a payload_attributes event as beacon nodes send it (beacon-APIs, eventstream).
func announcement(slot string, parent phase0.Hash32, more string) string {
	root, randao := phase0.Root{0xee}, phase0.Root{0xdd}
	return fmt.Sprintf(`{"version":"capella","data":{"proposer_index":"3","proposal_slot":"%s","parent_block_number":"9",`+
		`"parent_block_root":"%#x","parent_block_hash":"%#x","payload_attributes":{"timestamp":"1700000012","prev_randao":"%#x",`+
		`"suggested_fee_recipient":"0x0000000000000000000000000000000000000000"%s}}}`, slot, root[:], parent[:],
		randao[:], more)
}

// A stream that ends is opened again; what cannot be read, or is no event, is passed over.
func TestFollow(t *testing.T) {
	opened := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.RequestURI() != "/eth/v1/events?topics=payload_attributes" {
			t.Errorf("asked for %s", r.URL.RequestURI())
		}
		opened++
		switch opened {
		case 1:
			fmt.Fprintf(w,
				":hello\n\nevent: payload_attributes\ndata: %s\n\ndata: {broken\n\nevent: payload_attributes\ndata:%s\n\n",
				announcement("7", phase0.Hash32{1}, ""), announcement("8", phase0.Hash32{1}, ""))
		case 2:
			w.WriteHeader(http.StatusServiceUnavailable)
		default:
			fmt.Fprintf(w, "data: %s\n\n", announcement("9", phase0.Hash32{1}, ""))
		}
	}))
	defer server.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var slots []phase0.Slot
	err := Follow(ctx, server.URL, slog.New(slog.DiscardHandler), func(a Attributes) {
		if slots = append(slots, a.Slot); a.Slot == 9 {
			cancel()
		}
	})
	if err != nil || fmt.Sprint(slots) != "[7 8 9]" {
		t.Errorf("slots %v, %v", slots, err)
	}
}
