package builder

import (
	"context"
	"encoding/binary"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/relay/client"
)

// topBid is a record of a relay's stream of leading bids, for a slot.
func topBid(slot uint64) []byte {
	record := make([]byte, 188)
	binary.LittleEndian.PutUint64(record[8:], slot)
	return record
}

// Whoever follows leading bids tells of each, and when it is cut off; a stall comes once, after the
// first one. They come by a way of their own, if there is one.
func TestFollowTop(t *testing.T) {
	connections := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		connections++
		for slot := range uint64(2) {
			if err := conn.Write(r.Context(), websocket.MessageBinary, topBid(slot+1)); err != nil {
				t.Error(err)
			}
		}
		_ = conn.CloseNow() // as a relay does with who is behind
	}))
	defer server.Close()
	near, err := client.New(server.URL, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	nowhere, err := client.New("http://127.0.0.1:1", client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var told []string
	begin := time.Unix(1_700_000_000, 0)
	chain := clock.NewLeap(begin, begin.Add(time.Hour), nil)
	b := New(Config{Name: "builder-1", Clock: chain, Conduct: Conduct{Stall: 20 * time.Second},
		Tell: func(r devnet.Event) {
			if r.Actor != "builder-1" || r.At != "relay-1" {
				t.Errorf("told of %+v", r)
			}
			if told = append(told, r.Subject); len(told) == 6 {
				cancel()
			}
		}})
	b.followTop(ctx, Relay{Name: "relay-1", Client: nowhere, TopBids: near})
	want := []string{devnet.TopHeard, devnet.TopHeard, devnet.ListenerLeft, devnet.TopHeard, devnet.TopHeard,
		devnet.ListenerLeft}
	if !slices.Equal(told, want) || connections != 2 {
		t.Errorf("on %d connections told %v, want %v", connections, told, want)
	}
	if waited := chain.Now().Sub(begin); waited != 20*time.Second {
		t.Errorf("waited %s, want the stall of 20 s", waited)
	}
}
