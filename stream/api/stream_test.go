package api

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/stream/broadcast"
)

// varies are headers of an answer that are never the same.
var varies = regexp.MustCompile(`(?m)^(Date|X-Request-Id): [^\r]*`)

// A connection byte by byte, in HTTP/1.1 with its chunks: two events, silence, an event, silence,
// two that come together.
func TestBytes(t *testing.T) {
	for name, request := range map[string]string{
		"plain": "GET / HTTP/1.1", "ids": "GET /?ids=1 HTTP/1.1", "http10": "GET / HTTP/1.0",
		"head": "HEAD / HTTP/1.1", "options": "OPTIONS / HTTP/1.1", "badid": "GET /?ids=1&lastEventId=0x1 HTTP/1.1",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, listener := newLiveServer(nil), servetest.NewPipes()
				h.serve(t, listener)
				conn := dialled(t, listener, request)
				var got bytes.Buffer
				done := make(chan struct{})
				go func() {
					defer close(done)
					_, _ = io.Copy(&got, conn) // ends when the test closes its end
				}()
				synctest.Wait()
				h.publish(hint(1))
				synctest.Wait()
				h.publish(hint(2))
				time.Sleep(20 * time.Second)
				h.publish(hint(3))
				time.Sleep(31 * time.Second)
				h.publish(hint(4), hint(5))
				time.Sleep(time.Second)
				synctest.Wait()
				_ = conn.Close()
				<-done
				golden.File(t, "testdata/"+name+".txt", varies.ReplaceAllString(got.String(), "$1: …"))
			})
		})
	}
}

// There is a ping 15 seconds after the last write, on each connection for itself, for as long as
// somebody listens: here an hour.
func TestPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, listener := newLiveServer(nil), servetest.NewPipes()
		h.serve(t, listener)
		began := time.Now()
		type write struct {
			at   time.Duration
			line string
		}
		var got []write
		conn := dialled(t, listener, "GET / HTTP/1.0") // without chunks
		lines := bufio.NewReader(conn)
		if _, err := http.ReadResponse(lines, nil); err != nil { //nolint:bodyclose // it goes on as lines
			t.Fatal(err)
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			for {
				line, err := lines.ReadString('\n')
				if err != nil {
					return
				}
				if line != "\n" {
					got = append(got, write{time.Since(began), line})
				}
			}
		}()
		time.Sleep(40 * time.Second) // pings at 15 and 30
		h.publish("{}")
		time.Sleep(time.Hour)
		synctest.Wait()
		_ = conn.Close()
		<-done
		if len(got) != 2+1+240 {
			t.Fatalf("%d writes, the last %v", len(got), got[max(len(got)-3, 0):])
		}
		for i, w := range got {
			want := write{15 * time.Second * time.Duration(i+1), ":ping\n"}
			if i == 2 {
				want = write{40 * time.Second, "data: {}\n"}
			} else if i > 2 {
				want.at = 40*time.Second + 15*time.Second*time.Duration(i-2)
			}
			if w != want {
				t.Fatalf("write %d is %v, want %v", i, w, want)
			}
		}
	})
}

// Who does not read is cut: at once when it is behind by more than the queue, else when a write has
// waited for 10 seconds. The others hear every event in the moment in which it is published.
func TestSlowListeners(t *testing.T) {
	for _, row := range []struct {
		name       string
		queueBytes int
		gone       time.Duration // after the first event that it does not read
		behind     uint64
	}{
		{"behind", 1000, 6 * time.Second, 1}, // one is being written, four may wait
		{"dead", 1 << 20, 10 * time.Second, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h, listener := newLiveServer(func(c *broadcast.Config) {
					c.QueueBytes, c.PerListener = row.queueBytes, 1
				}), servetest.NewPipes()
				h.serve(t, listener)
				slow, fast := dialled(t, listener, "GET / HTTP/1.0"), dialled(t, listener, "GET / HTTP/1.0")
				defer slow.Close()
				_, err := http.ReadResponse(bufio.NewReaderSize(slow, 16), nil) //nolint:bodyclose // only its header
				if err != nil {
					t.Fatal(err)
				}
				heard := make(chan time.Time, 100)
				done := make(chan struct{})
				go func() {
					defer close(done)
					for lines := bufio.NewScanner(fast); lines.Scan(); {
						if strings.HasPrefix(lines.Text(), "data: ") {
							heard <- time.Now()
						}
					}
				}()
				synctest.Wait()
				cutAfter := time.Duration(0)
				for second := range 20 {
					h.publish(hint(second)) // 150 bytes
					published := time.Now()
					if at := <-heard; at != published {
						t.Errorf("event %d was heard %v later", second, at.Sub(published))
					}
					synctest.Wait()
					if cutAfter == 0 && h.Stats().Listeners == 1 {
						cutAfter = time.Duration(second) * time.Second
						_ = slow.SetReadDeadline(time.Unix(1, 0)) // what is sent still would be read otherwise
						if _, err := slow.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
							t.Errorf("its connection is not closed: %v", err)
						}
					}
					time.Sleep(time.Second)
				}
				if got := h.Stats(); cutAfter != row.gone || got.Cut != row.behind {
					t.Errorf("cut after %v, want %v: %+v", cutAfter, row.gone, got)
				}
				_ = fast.Close()
				<-done
			})
		})
	}
}

// When the service stops its listeners hear what was published, and then the end.
func TestStop(t *testing.T) {
	h := newLiveServer(func(c *broadcast.Config) { c.PerListener = time.Hour })
	url := h.open(t)
	one := listen(t, url, nil)
	two := listen(t, url, nil)
	h.publish(hint(1))
	h.publish(hint(2)) // gathers
	if err := h.Close(t.Context()); err != nil {
		t.Error(err)
	}
	one.want("data: "+hint(1), "data: "+hint(2), "end")
	two.want("data: "+hint(1), "data: "+hint(2), "end")
}

// A listener that comes back hears what it missed. The header is newer than the query: a browser
// sends both when it comes back by itself.
func TestResume(t *testing.T) {
	h := newLiveServer(nil)
	url := h.open(t)
	h.publish(hint(1), hint(2), hint(3))
	last := func(id string) http.Header { return http.Header{"Last-Event-Id": {id}} }
	for _, row := range []struct {
		query  string
		header http.Header
		want   []string
	}{
		{"?ids=1", last("1"), []string{"id: 2", "data: " + hint(2), "id: 3", "data: " + hint(3)}},
		{"?ids=1&lastEventId=2", nil, []string{"id: 3", "data: " + hint(3)}},
		{"?ids=1&lastEventId=0", last("2"), []string{"id: 3", "data: " + hint(3)}},
		{"?ids=1", nil, nil},
		{"", last("1"), nil},
		{"?lastEventId=1", last("x"), nil},
	} {
		e := listen(t, url+"/"+row.query, row.header)
		e.want(row.want...)
		h.publish(hint(int(h.published) + 1))
		if strings.Contains(row.query, "ids") {
			if got := e.next(); !strings.HasPrefix(got, "id: ") {
				t.Errorf("%s: heard %q", row.query, got)
			}
		}
		e.want("data: " + hint(int(h.published)))
		_ = e.body.Close()
		h.past.mu.Lock()
		h.past.events = h.past.events[:3]
		h.past.mu.Unlock()
	}
}

func TestRefusals(t *testing.T) {
	for _, row := range []struct {
		name, query, header string
		change              func(*liveServer)
		status              int
		retry, message      string
	}{
		{"no place", "", "", func(h *liveServer) {
			_, _ = h.Listen(context.Background(), broadcast.Subscription{})
		}, 503, "5", "too many listeners"},
		{"stopping", "", "", func(h *liveServer) { _ = h.Close(context.Background()) }, 503, "5", "not ready"},
		{"history does not answer", "?ids=1", "3", func(h *liveServer) {
			h.past.fails = errors.New("disk is gone")
		}, 503, "5", "not ready"},
		{"id that was never sent", "?ids=1", "abc", nil, 400, "", `invalid last event id: "abc"`},
		{"negative id", "?ids=1&lastEventId=-1", "", nil, 400, "", `invalid last event id: "-1"`},
	} {
		h := newLiveServer(func(c *broadcast.Config) { c.MaxListeners = 1 })
		if row.change != nil {
			row.change(h)
		}
		r := httptest.NewRequest("GET", "/"+row.query, nil)
		if row.header != "" {
			r.Header.Set("Last-Event-ID", row.header)
		}
		var log bytes.Buffer
		answer := httptest.NewRecorder()
		serve.Wrap(h.handler(), slog.New(slog.NewTextHandler(&log, nil))).ServeHTTP(answer, r)
		if answer.Code != row.status || answer.Header().Get("Retry-After") != row.retry ||
			answer.Header().Get("Access-Control-Allow-Origin") != "*" ||
			!strings.Contains(answer.Body.String(), strings.ReplaceAll(row.message, `"`, `\"`)) {
			t.Errorf("%s: %d %v %s", row.name, answer.Code, answer.Header(), answer.Body)
		}
		// A cause of our own is in the log and not in the answer.
		if broken := h.past.fails; (broken != nil) != strings.Contains(log.String(), "disk is gone") ||
			strings.Contains(answer.Body.String(), "disk") {
			t.Errorf("%s: the log has %s, the answer %s", row.name, log.String(), answer.Body)
		}
	}
}

// Go's client says that it takes gzip without being asked, and so did many before it: only who asks
// in the query too gets it.
func TestGzip(t *testing.T) {
	h := newLiveServer(nil)
	url := h.open(t)
	for _, row := range []struct {
		query, accept string
		want          bool
	}{
		{"", "gzip", false},
		{"?gzip=1", "identity", false},
		{"?gzip=1", "gzip;q=0", false},
		{"?gzip=1", "gzip; q=0.0, br", false},
		{"?gzip=0", "gzip", false},
		{"?gzip=1", "br, GZIP;q=0.5", true},
		{"?gzip=1&ids=1", "gzip", true},
	} {
		e := listen(t, url+"/"+row.query, http.Header{"Accept-Encoding": {row.accept}})
		if got := e.header.Get("Content-Encoding") == "gzip"; got != row.want {
			t.Errorf("%s, %s: gzip %v", row.query, row.accept, got)
		}
		h.publish(hint(7))
		if row.want { // every event comes out at once
			plain, err := gzip.NewReader(e.lines)
			if err != nil {
				t.Fatal(err)
			}
			e.lines = bufio.NewReaderSize(plain, 16)
		}
		if strings.Contains(row.query, "ids") {
			e.next()
		}
		e.want("data: " + hint(7))
		h.publish(hint(8))
		if strings.Contains(row.query, "ids") {
			e.next()
		}
		e.want("data: " + hint(8))
		_ = e.body.Close()
	}
}

// On HTTP/2 many streams share a connection.
func TestHTTP2(t *testing.T) {
	h := newLiveServer(nil)
	url := h.open(t)
	protocols := new(http.Protocols)
	protocols.SetUnencryptedHTTP2(true)
	transport := &http.Transport{Protocols: protocols}
	defer transport.CloseIdleConnections()
	var ears []*ear
	for range 20 {
		response, err := (&http.Client{Transport: transport}).Get(url)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if response.ProtoMajor != 2 || response.Header.Get("Connection") != "" ||
			response.Header.Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%s %v", response.Proto, response.Header)
		}
		ears = append(ears, &ear{t, response.Header, response.Body, bufio.NewReader(response.Body)})
	}
	h.publish(hint(1), hint(2))
	for _, e := range ears {
		e.want("data: "+hint(1), "data: "+hint(2))
	}
}

// Methods and paths that are not there.
func TestMethods(t *testing.T) {
	h := newLiveServer(nil)
	for _, row := range []struct {
		method, path string
		want         int
		allow        string
	}{
		{"POST", "/", 405, "GET, HEAD, OPTIONS"}, {"DELETE", "/", 405, "GET, HEAD, OPTIONS"}, {"GET", "/x", 404, ""},
		{"GET", "//", 404, ""},
		{"HEAD", "/", 200, ""}, {"OPTIONS", "/", 204, "GET, HEAD, OPTIONS"},
	} {
		answer := httptest.NewRecorder()
		h.handler().ServeHTTP(answer, httptest.NewRequest(row.method, row.path, nil))
		if answer.Code != row.want || answer.Header().Get("Allow") != row.allow {
			t.Errorf("%s %s: %d, Allow %q", row.method, row.path, answer.Code, answer.Header().Get("Allow"))
		}
	}
}
