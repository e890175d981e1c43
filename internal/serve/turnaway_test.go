package serve

import (
	"context"
	"maps"
	"net/http"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// turned counts who is turned away.
type turned struct {
	watching
	mu     sync.Mutex
	counts map[TurnedAway]int
}

func (c *turned) Begin(r *http.Request) (context.Context, func(Exchange)) {
	return r.Context(), func(Exchange) {}
}

func (c *turned) TurnAway(why TurnedAway) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.counts == nil {
		c.counts = map[TurnedAway]int{}
	}
	c.counts[why]++
}

func (c *turned) want(t *testing.T, want map[TurnedAway]int) {
	t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !maps.Equal(c.counts, want) {
		t.Errorf("turned away: %v, want %v", c.counts, want)
	}
}

// A connection that is closed for another, and one that is not let in, are counted; those that stay
// are not.
func TestConnectionsThatGoAreCounted(t *testing.T) {
	counted := new(turned)
	crowded(t, Options{MaxConns: 3, ConnsPerAddress: 2, Watcher: counted}, func(t *testing.T, a *addressed) {
		a.from(t, "203.0.113.1", "/busy")
		a.from(t, "203.0.113.1", "")
		counted.want(t, nil)
		a.from(t, "203.0.113.1", "/busy") // its own idle one goes
		counted.want(t, map[TurnedAway]int{ConnectionReplaced: 1})
		a.from(t, "203.0.113.1", "/busy")
		a.from(t, "203.0.113.1", "")
		counted.want(t, map[TurnedAway]int{ConnectionReplaced: 1, ConnectionRefused: 2})
		a.from(t, "198.51.100.1", "")
		a.from(t, "198.51.100.2", "/busy") // the other's idle one goes
		counted.want(t, map[TurnedAway]int{ConnectionReplaced: 2, ConnectionRefused: 2})
	})
}

// Bodies that find no room, lose theirs to another sender, or come too slowly are counted, each
// once; whole ones are not.
func TestBodiesThatEndAreCounted(t *testing.T) {
	const announced = 3 * firstBytes
	for name, row := range map[string]struct {
		room  int64
		other int64 // what another sender takes of the room once the body has begun
		whole bool  // the rest of it comes
		want  TurnedAway
	}{
		"whole":        {room: 8 * announced, whole: true},
		"slow":         {room: 8 * announced, want: BodySlow},
		"cut off":      {room: firstBytes + 100, other: firstBytes - 1, want: BodyCutOff},
		"without room": {room: 2 * firstBytes, other: 1, whole: true, want: BodyWithoutRoom},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				counted, room := new(turned), NewBodyPool(row.room, row.room)
				read := make(chan error, 1)
				listener, stop, ended := running(t, func(w http.ResponseWriter, r *http.Request) {
					_, err := ReadBody(w, r, 10<<20)
					read <- err
				}, Options{Bodies: inRoom(room, 100*time.Millisecond), Watcher: counted})
				conn := listener.Dial()
				send(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 196608\r\n\r\nx")
				synctest.Wait()
				if row.other > 0 {
					if err := room.enter("other", func() {}).take(t.Context(), row.other, time.Millisecond); err != nil {
						t.Error(err)
					}
				}
				if row.whole {
					go func() { _, _ = conn.Write(make([]byte, announced-1)) }() // fails if nobody reads it
				}
				if err := <-read; (err == nil) != (row.want == "") {
					t.Errorf("read: %v", err)
				}
				want := map[TurnedAway]int{}
				if row.want != "" {
					want[row.want] = 1
				}
				counted.want(t, want)
				_ = conn.Close()
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}
