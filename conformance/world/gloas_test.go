package world

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth"
)

// In a world of gloas the local blocks have their payloads, all validators but the Stranger tell
// preferences, and a spec gets a slot on an empty parent if it asks for one.
func TestAWorldOfGloas(t *testing.T) {
	var told said
	w, client := Running(t, Config{
		Fork: eth.Gloas, Slot: 2 * time.Second, BlobsLater: true, Accounts: 8,
		Clock: clock.NewPaced(time.Now().Truncate(time.Second), 100), Log: slog.New(slog.NewTextHandler(&told, nil)),
	})
	w.Start()
	slot, err := client.Slot(t.Context(), Wanted{Kind: Registered, From: 4})
	if err != nil {
		t.Fatal(err)
	}
	if slot.Empty || w.Facts.Staked == nil {
		t.Errorf("slot %d is on an empty parent: %t; the staked builder is %v", slot.Slot, slot.Empty, w.Facts.Staked)
	}
	if _, err := client.Block(t.Context(),
		Order{Slot: *slot, FeeRecipient: fmt.Sprintf("%#x", FeeRecipient(1))}); err != nil {
		t.Error(err)
	}
	empty, err := client.Slot(t.Context(), Wanted{Kind: Registered, Empty: true})
	if err != nil {
		t.Fatal(err)
	}
	if !empty.Empty || empty.Withheld == (phase0.Hash32{}) || empty.ParentHash == empty.Withheld {
		t.Errorf("slot %d: %+v", empty.Slot, empty)
	}
	var block struct {
		Data struct {
			Message struct {
				Body map[string]any `json:"body"`
			} `json:"message"`
		} `json:"data"`
	}
	w.beacon(t, fmt.Sprintf("/eth/v2/beacon/blocks/%#x", slot.ParentRoot[:]), &block)
	bid := fmt.Sprint(block.Data.Message.Body["signed_execution_payload_bid"])
	if !strings.Contains(bid, fmt.Sprintf("%#x", slot.ParentHash[:])) {
		t.Errorf("slot %d is built on %#x, which is not the payload of the block before: %s", slot.Slot, slot.ParentHash, bid)
	}
	if log := told.String(); strings.Contains(log, "no preferences") || strings.Contains(log, "missed a slot") {
		t.Error(log)
	}
}

// said is a log that is read while others write it.
type said struct {
	mu   sync.Mutex
	text strings.Builder
}

// Write implements io.Writer.
func (s *said) Write(line []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(line)
}

// String returns what was written so far.
func (s *said) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
