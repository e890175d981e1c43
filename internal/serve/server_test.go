package serve

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// running starts a server in a bubble and returns its stop and its end.
func running(t *testing.T, handler http.HandlerFunc,
	options Options) (listener *servetest.Pipes, stop func(), ended chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	listener, ended = servetest.NewPipes(), make(chan error, 1)
	go func() { ended <- Serve(ctx, listener, handler, options) }()
	return listener, cancel, ended
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

func status(t *testing.T, conn net.Conn) int {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	return response.StatusCode
}

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

// A client that is slow to ask is cut off: the header within a second, all of the request within
// ten.
func TestSlowClientsAreCutOff(t *testing.T) {
	for name, row := range map[string]struct {
		sent  string
		after time.Duration
	}{
		"half a header":  {"GET / HTTP/1.1\r\nHo", time.Second},
		"half a body":    {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf", 10 * time.Second},
		"no new request": {get, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener, stop, ended := running(t, func(w http.ResponseWriter, r *http.Request) {
					if _, err := io.Copy(io.Discard, r.Body); err != nil {
						Refuse(w, r, no(400))
					}
				}, Options{})
				conn := listener.Dial()
				defer conn.Close()
				began := time.Now()
				send(t, conn, row.sent)
				if _, err := io.Copy(io.Discard, conn); err != nil {
					t.Error(err)
				}
				// After the answer to a request that it has not read to its end the server lingers for half a
				// second.
				if took := time.Since(began); took < row.after || took > row.after+time.Second {
					t.Errorf("cut off after %v, want %v", took, row.after)
				}
				stop()
				if err := <-ended; err != nil {
					t.Error(err)
				}
			})
		})
	}
}

func TestHeadersAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener, stop, ended := running(t, func(http.ResponseWriter, *http.Request) {}, Options{})
		conn := listener.Dial()
		defer conn.Close()
		go func() { // the server stops reading, so this may or may not end with an error
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\nX: "+strings.Repeat("x", 70_000)+"\r\n\r\n")
		}()
		if got := status(t, conn); got != http.StatusRequestHeaderFieldsTooLarge {
			t.Errorf("status %d", got)
		}
		conn.Close()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// stopWhileRunning asks for something that takes a while, stops the server meanwhile, and returns
// the status of the answer.
func stopWhileRunning(t *testing.T, takes time.Duration,
	options Options) (answer int, stopped time.Duration, err error) {
	t.Helper()
	listener, stop, ended := running(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-time.After(takes):
			w.WriteHeader(http.StatusOK)
		case <-r.Context().Done():
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}, options)
	conn := listener.Dial()
	defer conn.Close()
	send(t, conn, get)
	synctest.Wait()
	began := time.Now()
	stop()
	answer = status(t, conn)
	err = <-ended
	return answer, time.Since(began), err
}

func TestStopLeavesRunningRequestsTheGrace(t *testing.T) {
	for _, row := range []struct {
		takes, grace time.Duration
		want         int
	}{
		{2 * time.Second, 3 * time.Second, http.StatusOK},
		{4 * time.Second, 3 * time.Second, http.StatusServiceUnavailable},
		{2 * time.Second, 0, http.StatusServiceUnavailable},
	} {
		synctest.Test(t, func(t *testing.T) {
			answer, stopped, err := stopWhileRunning(t, row.takes, Options{Grace: row.grace})
			if answer != row.want || err != nil {
				t.Errorf("takes %v, grace %v: status %d, %v, want %d", row.takes, row.grace, answer, err, row.want)
			}
			if most := min(row.takes, row.grace) + time.Second; stopped > most {
				t.Errorf("takes %v, grace %v: stopped after %v", row.takes, row.grace, stopped)
			}
		})
	}
}

func TestStopDoesNotWaitForever(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		listener, stop, ended := running(t, func(http.ResponseWriter, *http.Request) {
			<-release
		}, Options{Drain: 3 * time.Second})
		conn := listener.Dial()
		defer conn.Close()
		send(t, conn, get)
		synctest.Wait()
		began := time.Now()
		stop()
		if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("stopped after %v", took)
		}
		close(release)
	})
}

// An answer that a crash cuts short must not look whole.
func TestCrashInTheMiddleEndsTheConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener, stop, ended := running(t, func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			panic("in the middle")
		}, Options{})
		conn := listener.Dial()
		defer conn.Close()
		send(t, conn, get)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if body, err := io.ReadAll(response.Body); err == nil {
			t.Errorf("the answer %q looks whole", body)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

func TestListenSaysWhatToDo(t *testing.T) {
	first, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	addr := first.Addr().String()
	_, err = Listen(addr)
	if err == nil || err.Error() != "address "+addr+" is in use: stop the other program or choose another port" {
		t.Errorf("%v", err)
	}
	if _, err := Listen("nonsense"); err == nil || !strings.Contains(err.Error(), "nonsense") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}

func TestServeTellsWhyItCannot(t *testing.T) {
	listener := servetest.NewPipes()
	listener.Close()
	if err := Serve(t.Context(), listener, http.NotFoundHandler(), Options{}); !errors.Is(err, net.ErrClosed) {
		t.Errorf("%v", err)
	}
}

// HTTP/2 without TLS is there for who asks for it, beside HTTP/1.1.
func TestServeHTTP2(t *testing.T) {
	for _, row := range []struct {
		serves, asks bool
		want         string
	}{{true, true, "HTTP/2.0"}, {true, false, "HTTP/1.1"}, {false, false, "HTTP/1.1"}, {false, true, ""}} {
		listener, err := Listen("127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			proto := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) })
			ended <- Serve(ctx, listener, proto, Options{HTTP2: row.serves})
		}()
		protocols := new(http.Protocols)
		protocols.SetHTTP1(!row.asks)
		protocols.SetUnencryptedHTTP2(row.asks)
		transport := &http.Transport{Protocols: protocols}
		got := ""
		if response, err := (&http.Client{Transport: transport}).Get("http://" + listener.Addr().String()); err == nil {
			raw, _ := io.ReadAll(response.Body)
			got = string(raw)
			response.Body.Close()
		}
		transport.CloseIdleConnections()
		if got != row.want {
			t.Errorf("serves HTTP/2 %v, asked by it %v: %q, want %q", row.serves, row.asks, got, row.want)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
