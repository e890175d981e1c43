package serve

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// ask asks for a path on a connection of its own.
func ask(t *testing.T, listener *servetest.Pipes, path string) int {
	t.Helper()
	conn := listener.Dial()
	defer conn.Close()
	send(t, conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

// The deployed relay stops at once when it is given a wait, and waits when it is given none. Here a
// given wait is honoured: work goes on as before while readiness is refused, and then it ends;
// without one it ends at once.
func TestAGivenWaitIsHonoured(t *testing.T) {
	for _, linger := range []time.Duration{0, time.Second, 30 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			listener, stop, ended := running(t, testMux().ServeHTTP, Options{Linger: linger})
			expect := func(when string, ready int) {
				t.Helper()
				for path, want := range map[string]int{"/read": 200, "/live": 200, "/ready": ready, "/unready": 503} {
					if got := ask(t, listener, path); got != want {
						t.Errorf("linger %v, %s: %s answers %d, want %d", linger, when, path, got, want)
					}
				}
			}
			expect("before the stop", 200)
			began := time.Now()
			stop()
			if linger > 0 {
				synctest.Wait()
				expect("after the stop", 503)
				time.Sleep(linger - time.Millisecond)
				expect("at the end of the wait", 503)
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			// idle connections are looked for now and then
			if took := time.Since(began); took < linger || took > linger+100*time.Millisecond {
				t.Errorf("linger %v: stopped after %v", linger, took)
			}
			if _, err := listener.Accept(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("the listener is open after the end: %v", err)
			}
		})
	}
}

// A server that breaks while it lingers says so at once.
func TestBreakWhileLingering(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener, stop, ended := running(t, testMux().ServeHTTP, Options{Linger: time.Hour})
		began := time.Now()
		stop()
		synctest.Wait()
		listener.Close()
		if err := <-ended; err == nil || time.Since(began) != 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

func TestStoppingOutsideAServer(t *testing.T) {
	if Stopping(t.Context()) {
		t.Error("a context without a server is stopping")
	}
}
