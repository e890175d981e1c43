package world

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/eth"
)

// The slot of a block in JSON stands below its blobs or alone; what is too short has none.
func TestSlotOf(t *testing.T) {
	for _, text := range []string{`{"message":{"slot":"9"}}`, `{"signed_block":{"message":{"slot":"9"}},"blobs":[]}`} {
		if slot, found := slotOf(eth.Fulu, "application/json", json.RawMessage(text)); !found || slot != 9 {
			t.Errorf("%s: slot %d, found %v; want 9", text, slot, found)
		}
	}
	for media, body := range map[string][]byte{"application/json": []byte("["),
		"application/octet-stream": make([]byte, 100)} {
		if slot, found := slotOf(eth.Fulu, media, body); found {
			t.Errorf("slot %d in %s that is no block", slot, media)
		}
	}
}

// A block of a refused slot does not get onto the chain, with blobs and without; the world says how
// often it was refused, and the next slot has one.
func TestRefuse(t *testing.T) {
	for _, fork := range []eth.Fork{eth.Bellatrix, eth.Electra} {
		t.Run(fork.String(), func(t *testing.T) {
			t.Parallel()
			w, client := Running(t, Config{Slot: time.Second, Fork: fork})
			ctx := t.Context()
			now, err := client.Slot(ctx, Wanted{Kind: Registered})
			if err != nil {
				t.Fatal(err)
			}
			refused := now.Slot + 1
			if times, err := client.Refuse(ctx, refused); err != nil || times != 0 {
				t.Fatalf("refused %d times before there was a block: %v", times, err)
			}
			for next := now; next.Slot < refused+3; { // the world's keeper has proposed meanwhile
				if next, err = client.Slot(ctx, Wanted{Kind: Registered, Alone: true}); err != nil {
					t.Fatal(err)
				}
			}
			if times, err := client.Refuse(ctx, refused); err != nil || times != 1 {
				t.Errorf("refused %d times, want once: %v", times, err)
			}
			beacon := probe.NewClient(w.Facts.BeaconURL, nil, time.Second)
			for slot, want := range map[string]int{fmt.Sprint(uint64(refused)): http.StatusNotFound,
				fmt.Sprint(uint64(refused) + 1): http.StatusOK} {
				answer, err := beacon.Do(ctx, probe.Request{Method: http.MethodGet, Path: "/eth/v2/beacon/blocks/" + slot})
				if err != nil || answer.Status != want {
					t.Errorf("the block of slot %s: %v %v, want %d", slot, answer, err, want)
				}
			}
		})
	}
}

// A block of an overtaken slot is on the chain from somebody else before who made it publishes it;
// that they are refused then is seen by REL-PAY-20.
func TestOvertake(t *testing.T) {
	w, client := Running(t, Config{Slot: time.Second})
	ctx := t.Context()
	now, err := client.Slot(ctx, Wanted{Kind: Registered})
	if err != nil {
		t.Fatal(err)
	}
	overtaken := now.Slot + 1
	if times, err := client.Overtake(ctx, overtaken); err != nil || times != 0 {
		t.Fatalf("overtaken %d times before there was a block: %v", times, err)
	}
	for next := now; next.Slot < overtaken+3; { // the world's keeper has proposed meanwhile
		if next, err = client.Slot(ctx, Wanted{Kind: Registered, Alone: true}); err != nil {
			t.Fatal(err)
		}
	}
	if times, err := client.Overtake(ctx, overtaken); err != nil || times != 1 {
		t.Errorf("overtaken %d times, want once: %v", times, err)
	}
	beacon := probe.NewClient(w.Facts.BeaconURL, nil, time.Second)
	answer, err := beacon.Do(ctx, probe.Request{Method: http.MethodGet, Path: "/eth/v2/beacon/blocks/" +
		fmt.Sprint(uint64(overtaken))})
	if err != nil || answer.Status != http.StatusOK {
		t.Errorf("the block of the slot: %v %v", answer, err)
	}
}
