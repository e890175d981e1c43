package serve

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A wait that was given is honoured: deployed relays have ignored valid values and taken invalid ones for none. Requests that come meanwhile are
// answered; then nobody is let in.
func TestLingerIsHonoured(t *testing.T) {
	for _, linger := range []time.Duration{0, time.Second, 7 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			listener, stop, ended := running(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }, Options{Linger: linger})
			began := time.Now()
			stop()
			if linger > 0 {
				time.Sleep(linger - time.Millisecond)
				conn := listener.dial()
				defer conn.Close()
				send(t, conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
				if got := status(t, conn); got != http.StatusOK {
					t.Errorf("linger %v: status %d before its end", linger, got)
				}
			}
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took < linger || took > linger+time.Second {
				t.Errorf("linger %v: stopped after %v", linger, took)
			}
		})
	}
}

// Connections above the bound wait until one ends.
func TestConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener, stop, ended := running(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }, Options{MaxConns: 2})
		first, second := listener.dial(), listener.dial()
		accepted := false
		go func() {
			third := listener.dial()
			accepted = true
			_ = third.Close()
		}()
		synctest.Wait()
		if accepted {
			t.Error("a third connection is accepted")
		}
		_ = first.Close()
		synctest.Wait()
		if !accepted {
			t.Error("the third connection still waits, although another has ended")
		}
		_ = second.Close()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
