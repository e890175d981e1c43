package serve

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// paced serves an operation that reads a body under a budget, and tells how it ended.
func paced(t *testing.T, rate int64, talk func(write func(n int) bool), want error) (took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		var began time.Time
		handler := func(w http.ResponseWriter, r *http.Request) {
			_, err := ReadBody(w, r, 10<<20)
			took = time.Since(began)
			ended <- err
		}
		budget := inRoom(NewBodyPool(64<<20, 64<<20), time.Second)
		budget.LeastRate = rate
		listener, stop, served := running(t, handler, Options{Bodies: budget})
		conn := listener.Dial()
		began = time.Now()
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		send(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
		talked := make(chan struct{})
		go func() {
			defer close(talked)
			talk(func(n int) bool {
				_, err := io.WriteString(conn, strings.Repeat("x", n))
				return err == nil
			})
		}()
		if err := <-ended; !errors.Is(err, want) {
			t.Errorf("the body: %v, want %v", err, want)
		}
		conn.Close()
		<-talked
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return took
}

// A body that comes slower than the least rate ends when that shows, and one that keeps to it is
// read to its end, whatever its pieces.
func TestLeastRate(t *testing.T) {
	for _, row := range []struct {
		name   string
		rate   int64
		pieces int
		every  time.Duration
		want   error
		after  time.Duration
	}{
		{"nothing comes", 0, 0, time.Second, ErrUnreadable, time.Second},
		{"all at once, late", 0, 1_000_000, 900 * time.Millisecond, nil, 900 * time.Millisecond},
		{"twice the rate", 0, 12_800, 100 * time.Millisecond, nil, 7900 * time.Millisecond},
		{"half the rate", 0, 3200, 100 * time.Millisecond, ErrUnreadable, 1900 * time.Millisecond},
		{"half the rate, which nobody minds", -1, 3200, 100 * time.Millisecond, ErrUnreadable, 10 * time.Second},
		{"a rate of its own", 10_000, 3200, 100 * time.Millisecond, ErrUnreadable, 10 * time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			took := paced(t, row.rate, func(write func(int) bool) {
				for left := 1_000_000; left > 0 && row.pieces > 0; left -= row.pieces {
					time.Sleep(row.every)
					if !write(min(row.pieces, left)) {
						return
					}
				}
			}, row.want)
			if took < row.after || took > row.after+200*time.Millisecond {
				t.Errorf("it ended after %v, want %v", took, row.after)
			}
		})
	}
}

// What a body waits for room is not held against it: its bytes could not be read meanwhile.
func TestWaitingIsNotSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := NewBodyPool(64<<20, 64<<20)
		full := room.enter("other", func() {})
		if err := full.take(t.Context(), 64<<20, 0); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(5*time.Second, full.leave)
		ended := make(chan error, 1)
		listener, stop, served := running(t, func(w http.ResponseWriter, r *http.Request) {
			_, err := ReadBody(w, r, 10<<20)
			ended <- err
		}, Options{Bodies: inRoom(room, time.Minute)})
		conn := listener.Dial()
		defer conn.Close()
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		send(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n")
		time.Sleep(5500 * time.Millisecond)
		send(t, conn, "some text")
		if err := <-ended; err != nil {
			t.Error(err)
		}
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// A body of a connection that is cut off for another ends at once, although its client sends
// nothing.
func TestCuttingOffEndsARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		room := NewBodyPool(3*firstBytes, 3*firstBytes)
		listener, stop, served := running(t, func(w http.ResponseWriter, r *http.Request) {
			if _, err := ReadBody(w, r, 10<<20); errors.Is(err, ErrBusy) {
				Refuse(w, r, no(http.StatusServiceUnavailable))
			}
		}, Options{Bodies: inRoom(room, 100*time.Millisecond)})
		slow := listener.Dial()
		defer slow.Close()
		send(t, slow, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\nx")
		synctest.Wait()
		if room.Held() != firstBytes {
			t.Fatalf("%d held by what announced much and sent a byte", room.Held())
		}
		for name := range 2 {
			if err := room.enter(string(rune('a'+name)), func() {}).take(t.Context(), firstBytes/2, 0); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		body := room.enter("honest", func() {})
		if err := body.take(t.Context(), firstBytes+1, 100*time.Millisecond); !errors.Is(err, ErrBusy) {
			t.Errorf("who would hold more than all others gets %v", err)
		}
		other := room.enter("other", func() {})
		if err := other.take(t.Context(), firstBytes, 100*time.Millisecond); err != nil || !other.whole(firstBytes) {
			t.Error(err)
		}
		if err := body.take(t.Context(), firstBytes/4, 100*time.Millisecond); err != nil {
			t.Error(err)
		}
		if got := status(t, slow); got != http.StatusServiceUnavailable || time.Since(began) > 400*time.Millisecond {
			t.Errorf("the slow one is answered %d after %v", got, time.Since(began))
		}
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}
