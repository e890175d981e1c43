package builder

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
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

func TestParse(t *testing.T) {
	parent := phase0.Hash32{0xaa}
	withdrawals :=
		`,"withdrawals":[{"index":"5","validator_index":"10","address":"0x000000000000000000000000000000000000000b","amount":"15640"}]`
	for name, c := range map[string]struct {
		event       string
		withdrawals int
	}{
		"bellatrix": {announcement("7", parent, ""), 0},
		"capella":   {announcement("7", parent, withdrawals), 1},
		"deneb on":  {announcement("7", parent, withdrawals+`,"parent_beacon_block_root":"0x00"`), 1},
		"empty":     {announcement("7", parent, `,"withdrawals":[]`), 0},
	} {
		a, err := parse([]byte(c.event))
		want := Attributes{Slot: 7, ParentHash: parent, ParentRoot: phase0.Root{0xee}, PrevRandao: [32]byte{0xdd}}
		if err != nil || !a.Same(want) || len(a.Withdrawals) != c.withdrawals {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		if c.withdrawals > 0 && (a.Withdrawals[0].Index != 5 || a.Withdrawals[0].Amount != 15640) {
			t.Errorf("%s: withdrawal %v", name, a.Withdrawals[0])
		}
	}
	good := announcement("7", parent, "")
	for _, bad := range []string{
		"", "{}", "[]", good[1:], announcement("-1", parent, ""), announcement("", parent, ""),
		strings.Replace(good, "0xaa", "0x", 1), strings.Replace(good, "0xee", "ee", 1), strings.Replace(good,
			"0xdd", "0xzz", 1),
		announcement("7", parent, `,"withdrawals":{}`),
	} {
		if a, err := parse([]byte(bad)); err == nil {
			t.Errorf("%s is read as %+v", bad, a)
		}
	}
}

func TestSame(t *testing.T) {
	base := Attributes{Slot: 7, ParentHash: phase0.Hash32{1}, ParentRoot: phase0.Root{2}, PrevRandao: [32]byte{3}}
	for name, change := range map[string]func(*Attributes){
		"slot": func(a *Attributes) { a.Slot++ }, "parent hash": func(a *Attributes) { a.ParentHash[31]++ },
		"parent root": func(a *Attributes) { a.ParentRoot[31]++ }, "randao": func(a *Attributes) { a.PrevRandao[31]++ },
	} {
		other := base
		if change(&other); other.Same(base) || !base.Same(base) {
			t.Errorf("another %s counts as the same", name)
		}
	}
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
