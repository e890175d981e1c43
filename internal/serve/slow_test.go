package serve

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// trickle sends a text a byte a second until it is told that nobody listens, and then says when
// that was.
func trickle(conn net.Conn, text string) (cut chan time.Time) {
	cut = make(chan time.Time, 1)
	go func() {
		for i := 0; ; i++ {
			if _, err := conn.Write([]byte{text[i%len(text)]}); err != nil {
				cut <- time.Now()
				return
			}
			time.Sleep(time.Second)
		}
	}()
	return cut
}

// A client that always sends something, but slowly, has no more time than one that sends nothing.
func TestTrickleIsCutOff(t *testing.T) {
	for name, row := range map[string]struct {
		begin  string
		after  time.Duration
		status int // of the answer, if it gets one
	}{
		"a header": {"GET / HTTP/1.1\r\nHost: x\r\nX: ", time.Second, 0},
		"a body":   {"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n", time.Second, http.StatusBadRequest},
		"chunks": {"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n", time.Second,
			http.StatusBadRequest},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener, stop, ended := running(t, func(w http.ResponseWriter, r *http.Request) {
					if _, err := ReadBody(w, r, 10_000); !errors.Is(err, ErrUnreadable) {
						t.Errorf("the body: %v", err)
					}
					Refuse(w, r, no(http.StatusBadRequest))
				}, Options{})
				conn := listener.Dial()
				defer conn.Close()
				began := time.Now()
				send(t, conn, row.begin)
				cut := trickle(conn, "x")
				if row.status != 0 {
					if got := status(t, conn); got != row.status {
						t.Errorf("status %d, want %d", got, row.status)
					}
				}
				_, _ = io.Copy(io.Discard, conn)
				if took := (<-cut).Sub(began); took < row.after || took > row.after+2*time.Second {
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

// Who announces a body and sends a byte of it is refused as soon as that is decided: the answer
// waits for no more of the body.
func TestRefusalsWaitForNoBody(t *testing.T) {
	const announced = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4000000\r\n"
	full := NewBodyPool(16<<20, 16<<20)
	other := full.enter("other", func() {})
	if err := other.take(t.Context(), 16<<20, 0); err != nil || !other.whole(16<<20) {
		t.Fatal(err)
	}
	read := func(w http.ResponseWriter, r *http.Request) {
		_, err := ReadBody(w, r, 10<<20)
		if !errors.Is(err, ErrBusy) {
			t.Errorf("the body: %v", err)
		}
		Refuse(w, r, no(http.StatusServiceUnavailable))
	}
	unread := func(w http.ResponseWriter, r *http.Request) { Refuse(w, r, no(http.StatusServiceUnavailable)) }
	for name, row := range map[string]struct {
		begin   string
		handler http.HandlerFunc
		after   time.Duration
	}{
		"without room":            {announced + "\r\nx", read, 250 * time.Millisecond},
		"unread":                  {announced + "\r\nx", unread, 0},
		"unread, and not invited": {announced + "Expect: 100-continue\r\n\r\n", unread, 0},
	} {
		for _, watcher := range []Watcher{nil, new(turned)} {
			t.Run(fmt.Sprintf("%s, watched %v", name, watcher != nil), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					budget := inRoom(full, 250*time.Millisecond)
					budget.LeastRate = -1
					listener, stop, ended := running(t, row.handler, Options{Bodies: budget, Watcher: watcher})
					conn := listener.Dial()
					defer conn.Close()
					began := time.Now()
					send(t, conn, row.begin)
					if got, took := status(t, conn), time.Since(began); got != http.StatusServiceUnavailable || took != row.after {
						t.Errorf("status %d after %v, want it after %v", got, took, row.after)
					}
					conn.Close()
					stop()
					if err := <-ended; err != nil {
						t.Error(err)
					}
				})
			})
		}
	}
}

// A client that takes nothing of its answer is cut off after ten seconds, be the answer written at
// once, in bits, or left in buffers.
func TestClientThatNeverReadsIsCutOff(t *testing.T) {
	for name, write := range map[string]func(w http.ResponseWriter) error{
		"at once": func(w http.ResponseWriter) error {
			_, err := w.Write(make([]byte, 1<<20))
			return err
		},
		"a stream": func(w http.ResponseWriter) error {
			if _, err := io.WriteString(w, "event"); err != nil {
				return err
			}
			return http.NewResponseController(w).Flush()
		},
		"left in buffers": func(w http.ResponseWriter) error {
			_, err := io.WriteString(w, "short")
			return errors.Join(err, os.ErrDeadlineExceeded) // the operation cannot know
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				listener, stop, ended := running(t, func(w http.ResponseWriter, _ *http.Request) {
					if err := write(w); !errors.Is(err, os.ErrDeadlineExceeded) {
						t.Errorf("%v", err)
					}
				}, Options{Drain: time.Hour})
				conn := listener.Dial()
				defer conn.Close()
				began := time.Now()
				send(t, conn, get)
				synctest.Wait() // the request is being answered
				stop()
				if err := <-ended; err != nil { // no sooner than the connection is done
					t.Error(err)
				}
				if took := time.Since(began); took < 10*time.Second || took > 12*time.Second {
					t.Errorf("cut off after %v", took)
				}
			})
		})
	}
}

// The same over a real socket, whose buffers take some of the answer: the write ends, and so does
// the request.
func TestClientThatNeverReadsIsCutOffOverTCP(t *testing.T) {
	listener, err := Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error, 1)
	go func() {
		_ = Serve(t.Context(), listener, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			for {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					failed <- err
					return
				}
			}
		}), Options{Stall: 20 * time.Millisecond})
	}()
	conn, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	send(t, conn, get)
	if err := <-failed; !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%v", err)
	}
}

// Slow is not dead: who takes 64 KiB within each ten seconds gets all of his answer, and an event
// stream may be silent for an hour.
func TestSlowReadersAreServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := bytes.Repeat([]byte("x"), 1<<20)
		listener, stop, ended := running(t, func(w http.ResponseWriter, _ *http.Request) {
			if _, err := w.Write(answer); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Hour)
			if _, err := io.WriteString(w, "event"); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Hour) // with the event still in a buffer
		}, Options{})
		conn := listener.Dial()
		defer conn.Close()
		send(t, conn, get)
		response, err := http.ReadResponse(bufio.NewReaderSize(slowReader{conn}, 16<<10), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if got, err := io.ReadAll(response.Body); err != nil || string(got) != string(answer)+"event" {
			t.Errorf("%d bytes, %v", len(got), err)
		}
		conn.Close()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// slowReader takes at most 16 KiB a second.
type slowReader struct{ from io.Reader }

func (s slowReader) Read(p []byte) (int, error) {
	time.Sleep(time.Second)
	return s.from.Read(p[:min(len(p), 16<<10)])
}

// The deadline of one answer is nothing to the next request on the connection, even if that is
// first told to continue.
func TestDeadlineEndsWithItsAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener, stop, ended := running(t, func(w http.ResponseWriter, r *http.Request) {
			if _, err := ReadBody(w, r, 100); err != nil {
				Refuse(w, r, no(http.StatusBadRequest))
			}
		}, Options{})
		conn := listener.Dial()
		defer conn.Close()
		for range 2 {
			send(t, conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
			if got := status(t, conn); got != http.StatusContinue {
				t.Fatalf("status %d", got)
			}
			send(t, conn, "body")
			if got := status(t, conn); got != http.StatusOK {
				t.Fatalf("status %d", got)
			}
			time.Sleep(30 * time.Second)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Beyond the cap a connection is not refused; when all others are busy it waits until one closes.
func TestConnectionsAreCapped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener, stop, ended := running(t, func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/busy" {
				<-r.Context().Done()
			}
		}, Options{MaxConns: 2})
		first, second := listener.Dial(), listener.Dial()
		defer second.Close()
		for _, conn := range []net.Conn{first, second} {
			send(t, conn, "GET /busy HTTP/1.1\r\nHost: x\r\n\r\n")
		}
		synctest.Wait()
		third := make(chan int, 1)
		go func() {
			conn := listener.Dial()
			defer conn.Close()
			send(t, conn, get)
			third <- status(t, conn)
		}()
		synctest.Wait()
		if len(third) > 0 {
			t.Error("a third connection is served")
		}
		first.Close()
		if got := <-third; got != http.StatusOK {
			t.Errorf("status %d", got)
		}
		second.Close()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Silence from the beginning is cut off as a slow header is.
func TestSilentConnectionIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		listener, stop, ended := running(t, func(http.ResponseWriter, *http.Request) {}, Options{})
		conn := listener.Dial()
		defer conn.Close()
		began := time.Now()
		got, _ := io.ReadAll(conn)
		if took := time.Since(began); took != time.Second || strings.Contains(string(got), "200") {
			t.Errorf("cut off after %v with %q", took, got)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
