package api

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/coder/websocket"
	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/internal/serve/servetest"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/top"
)

// theatre is a relay whose leading bids tests make up.
type theatre struct {
	feed  *top.Broadcast
	board *top.Bids
}

func newTheatre() *theatre {
	feed := &top.Broadcast{Clock: clock.NewStepped(now)}
	return &theatre{feed, &top.Bids{Broadcast: feed}}
}

func (h *theatre) handler(needKey bool) http.Handler {
	mux, d := NewMux(), new(builderFakePorts)
	MountBuilder(mux, BuilderConfig{
		Spec: testSpec(), Clock: clock.NewStepped(now), Submitter: d, Headers: d, Duties: d, Identity: d,
		Hydrator: &d.cache,
		TopBids:  h.feed, TopBidsNeedKey: needKey,
	})
	return mux
}

func (h *theatre) show(slot phase0.Slot, valueWei uint64) {
	h.board.Show(relay.Key{Slot: slot}, &relay.SignedBid{ValueWei: uint256.NewInt(valueWei)})
}

// open serves the theatre in memory, in a bubble.
func (h *theatre) open(t *testing.T) (listener *servetest.Pipes, stop func()) {
	t.Helper()
	listener = servetest.NewPipes()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- serve.Serve(ctx, listener, h.handler(false), serve.Options{}) }()
	return listener, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := h.feed.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

const topBidPath = "/relay/v1/builder/top_bid"

func dial(t *testing.T, url string, options *websocket.DialOptions) *websocket.Conn {
	t.Helper()
	conn, response, err := websocket.Dial(t.Context(), url, options) //nolint:bodyclose // Dial has closed it
	if err != nil {
		t.Fatalf("%v %v", err, response)
	}
	t.Cleanup(func() { _ = conn.CloseNow() })
	return conn
}

// upgrade shakes hands by hand, for clients that then behave in ways that no library would.
func upgrade(t *testing.T, conn net.Conn) *bufio.Reader {
	t.Helper()
	_, err := io.WriteString(conn, "GET "+topBidPath+
		" HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
	if err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil) //nolint:bodyclose // the connection goes on as a WebSocket
	if err != nil || response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("%v %v", response, err)
	}
	return reader
}

// next is slot and value of the next record.
func next(t *testing.T, conn *websocket.Conn) (slot, valueWei uint64) {
	t.Helper()
	kind, record, err := conn.Read(t.Context())
	if err != nil || kind != websocket.MessageBinary || len(record) != top.UpdateBytes {
		t.Fatalf("%v of %d bytes, %v", kind, len(record), err)
	}
	return binary.LittleEndian.Uint64(record[8:]), binary.LittleEndian.Uint64(record[156:])
}

func wantNext(t *testing.T, conn *websocket.Conn, slot, valueWei uint64) {
	t.Helper()
	if gotSlot, got := next(t, conn); gotSlot != slot || got != valueWei {
		t.Errorf("slot %d, %d wei; want slot %d, %d wei", gotSlot, got, slot, valueWei)
	}
}

// A whole life over TCP, behind the whole server: what leads, what changes, a withdrawal, and the
// end.
func TestTopBidOverTCP(t *testing.T) {
	h := newTheatre()
	h.show(65, 10)
	server := httptest.NewServer(serve.Wrap(h.handler(false), slog.New(slog.DiscardHandler)))
	defer server.Close()
	conn := dial(t, server.URL+topBidPath, nil)
	nanos := dial(t, server.URL+topBidPath+"?unit=ns",
		&websocket.DialOptions{HTTPHeader: http.Header{"Origin": {"https://elsewhere.example"}}})
	wantNext(t, conn, 65, 10)
	h.show(65, 11)
	wantNext(t, conn, 65, 11)
	h.board.Show(relay.Key{Slot: 65}, nil)
	wantNext(t, conn, 65, 0)
	for _, row := range []struct {
		url  string
		want uint64
	}{
		{topBidPath, 1_700_000_000_000}, {topBidPath + "?unit=ms", 1_700_000_000_000}, {topBidPath + "?unit=ns",
			1_700_000_000_000_000_000},
	} {
		h.show(66, 1)
		late := dial(t, server.URL+row.url, nil)
		_, record, err := late.Read(t.Context())
		if err != nil || binary.LittleEndian.Uint64(record) != row.want {
			t.Errorf("%s: record %x, %v", row.url, record, err)
		}
		_ = late.CloseNow()
	}
	wantNext(t, nanos, 65, 10)
	closed := make(chan error, 1)
	go func() { closed <- h.feed.Close(t.Context()) }()
	for {
		if _, _, err := conn.Read(t.Context()); err != nil {
			if websocket.CloseStatus(err) != websocket.StatusGoingAway {
				t.Errorf("the connection ends with %v", err)
			}
			break
		}
	}
	_ = nanos.CloseNow()
	if err := <-closed; err != nil {
		t.Error(err)
	}
}

func TestTopBidRefuses(t *testing.T) {
	const key = "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="
	const good = "Connection: Upgrade\nUpgrade: websocket\nSec-WebSocket-Version: 13\n" + key
	without := func(line string) string { return strings.Replace(good, line+"\n", "", 1) }
	for name, row := range map[string]struct {
		method, query, headers string
		want                   relay.Refusal
	}{
		"plain GET":         {"GET", "", "", relay.WebSocketNeeded},
		"HEAD":              {"HEAD", "", good, relay.WebSocketNeeded},
		"POST":              {"POST", "", good, relay.MethodNotAllowed},
		"no Connection":     {"GET", "", without("Connection: Upgrade"), relay.WebSocketNeeded},
		"no Upgrade":        {"GET", "", without("Upgrade: websocket"), relay.WebSocketNeeded},
		"another upgrade":   {"GET", "", strings.Replace(good, "websocket", "h2c", 1), relay.WebSocketNeeded},
		"no version":        {"GET", "", without("Sec-WebSocket-Version: 13"), relay.WebSocketNeeded},
		"an old version":    {"GET", "", strings.Replace(good, "13", "8", 1), relay.WebSocketNeeded},
		"no key":            {"GET", "", strings.Replace(good, key, "", 1), relay.WebSocketNeeded},
		"two keys":          {"GET", "", good + "\n" + key, relay.WebSocketNeeded},
		"a short key":       {"GET", "", strings.Replace(good, "AAAA", "", 1), relay.WebSocketNeeded},
		"a key of no bytes": {"GET", "", strings.Replace(good, "AAAA", "****", 1), relay.WebSocketNeeded},
		"an unknown unit":   {"GET", "?unit=s", good, relay.InvalidArgument},
		"an unknown key":    {"GET", "", good + "\nX-Api-Key: x", relay.APIKeyUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			h := newTheatre()
			answer := askHandler(t, h.handler(false), row.method+" "+topBidPath+row.query, row.headers, nil)
			wantRefusal(t, answer, row.want)
			got, upgrades := answer.Header().Get("Upgrade"), row.want.ID == relay.WebSocketNeeded.ID
			if (got == "websocket") != upgrades {
				t.Errorf("Upgrade %q", got)
			}
			if h.feed.Listeners() != 0 {
				t.Error("somebody listens")
			}
		})
	}
}

func TestTopBidNeedsKeyWhereConfigured(t *testing.T) {
	h := newTheatre()
	server := httptest.NewServer(h.handler(true))
	defer server.Close()
	wantRefusal(t, askHandler(t, h.handler(true), "GET "+topBidPath, "", nil), relay.APIKeyNeeded)
	h.show(65, 10)
	conn := dial(t, server.URL+topBidPath, &websocket.DialOptions{HTTPHeader: http.Header{"X-Api-Key": {"alpha's"}}})
	wantNext(t, conn, 65, 10)
}

func TestTopBidHasSoManyPlaces(t *testing.T) {
	h := newTheatre()
	h.feed.MaxListeners = 1
	server := httptest.NewServer(h.handler(false))
	defer server.Close()
	dial(t, server.URL+topBidPath, nil)
	_, response, err := websocket.Dial(t.Context(), server.URL+topBidPath, nil) //nolint:bodyclose // Dial has closed it
	if err == nil || response == nil || response.StatusCode != Statuses[relay.TooManyListeners.ID] ||
		response.Header.Get("Retry-After") != "10" {
		t.Errorf("%v %v", response, err)
	}
}

func TestTopBidIsNotThereWithoutAFeed(t *testing.T) {
	wantRefusal(t, askHandler(t, new(builderFakePorts).handler(), "GET "+topBidPath, "", nil), relay.NotFound)
}

// An hour in which nothing happens: a ping every ten seconds keeps the connection, and after it a
// record still arrives.
func TestTopBidHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTheatre()
		listener, stop := h.open(t)
		transport := &http.Transport{DialContext: listener.DialContext}
		var pings atomic.Int64
		conn := dial(t, "http://relay"+topBidPath, &websocket.DialOptions{
			HTTPClient:     &http.Client{Transport: transport},
			OnPingReceived: func(context.Context, []byte) bool { pings.Add(1); return true },
		})
		records, ended := make(chan uint64, 1), make(chan error, 1)
		go func() {
			for {
				_, record, err := conn.Read(t.Context())
				if err != nil {
					ended <- err
					return
				}
				records <- binary.LittleEndian.Uint64(record[156:])
			}
		}()
		time.Sleep(time.Hour + time.Second)
		if got := pings.Load(); got != 360 || len(ended) > 0 {
			t.Errorf("%d pings in an hour", got)
		}
		h.show(65, 7)
		if got := <-records; got != 7 {
			t.Errorf("a record of %d wei", got)
		}
		stop()
		if err := <-ended; websocket.CloseStatus(err) != websocket.StatusGoingAway {
			t.Errorf("the connection ends with %v", err)
		}
		transport.CloseIdleConnections()
	})
}

// Records are no reason not to ask: a listener that keeps a connection open by what it does not
// read is found out all the same.
func TestTopBidPingsWhileRecordsCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTheatre()
		listener, stop := h.open(t)
		transport := &http.Transport{DialContext: listener.DialContext}
		var pings atomic.Int64
		conn := dial(t, "http://relay"+topBidPath, &websocket.DialOptions{
			HTTPClient:     &http.Client{Transport: transport},
			OnPingReceived: func(context.Context, []byte) bool { pings.Add(1); return true },
		})
		heard := make(chan struct{}, 100)
		go func() {
			for {
				if _, _, err := conn.Read(t.Context()); err != nil {
					return
				}
				heard <- struct{}{}
			}
		}()
		for value := range uint64(100) {
			time.Sleep(9 * time.Second)
			h.show(65, value)
			<-heard
		}
		if got := pings.Load(); got != 89 && got != 90 { // the last comes together with the last record
			t.Errorf("%d pings in a quarter of an hour", got)
		}
		_ = conn.CloseNow()
		stop()
		transport.CloseIdleConnections()
	})
}

// Who reads but never answers a ping is cut ten seconds after it.
func TestTopBidCutsWhoDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTheatre()
		listener, stop := h.open(t)
		conn := listener.Dial()
		defer conn.Close()
		reader := upgrade(t, conn)
		began := time.Now()
		if _, err := io.Copy(io.Discard, reader); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took != 2*heartbeat {
			t.Errorf("cut after %v", took)
		}
		synctest.Wait()
		if h.feed.Listeners() != 0 || h.feed.Cut() != 0 {
			t.Errorf("%d listen, %d were behind", h.feed.Listeners(), h.feed.Cut())
		}
		stop()
	})
}

// Who does not read at all is cut once its queue is full, at once and alone.
func TestTopBidCutsWhoIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTheatre()
		h.feed.Queue = 8
		listener, stop := h.open(t)
		stuck := listener.Dial()
		defer stuck.Close()
		upgrade(t, stuck)
		transport := &http.Transport{DialContext: listener.DialContext}
		fast := dial(t, "http://relay"+topBidPath, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
		synctest.Wait()
		began := time.Now()
		for value := range uint64(1000) {
			h.show(65, value)
			wantNext(t, fast, 65, value)
		}
		synctest.Wait()
		if h.feed.Cut() != 1 || h.feed.Listeners() != 1 || !time.Now().Equal(began) {
			t.Errorf("%d cut, %d listen, after %v", h.feed.Cut(), h.feed.Listeners(), time.Since(began))
		}
		if _, err := stuck.Write([]byte{0}); err == nil {
			t.Error("the connection of the one that is behind is open")
		}
		_ = fast.CloseNow()
		stop()
		transport.CloseIdleConnections()
	})
}

// Who stands still without being behind is cut when a record has waited for ten seconds.
func TestTopBidCutsWhoTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTheatre()
		listener, stop := h.open(t)
		stuck := listener.Dial()
		defer stuck.Close()
		upgrade(t, stuck)
		h.show(65, 1)
		time.Sleep(heartbeat)
		synctest.Wait()
		if h.feed.Listeners() != 0 {
			t.Error("it still listens")
		}
		stop()
	})
}

// What listeners say is not heard, and long speeches end the connection.
func TestTopBidIgnoresWhatListenersSay(t *testing.T) {
	h := newTheatre()
	server := httptest.NewServer(h.handler(false))
	defer server.Close()
	conn := dial(t, server.URL+topBidPath, nil)
	for _, kind := range []websocket.MessageType{websocket.MessageText, websocket.MessageBinary} {
		if err := conn.Write(t.Context(), kind, make([]byte, maxIncoming)); err != nil {
			t.Fatal(err)
		}
	}
	if err := conn.Ping(conn.CloseRead(t.Context())); err != nil { // so it has read them
		t.Fatal(err)
	}
	talker := dial(t, server.URL+topBidPath, nil)
	if err := talker.Write(t.Context(), websocket.MessageText, make([]byte, maxIncoming+1)); err != nil {
		t.Fatal(err)
	}
	if _, _, err := talker.Read(t.Context()); websocket.CloseStatus(err) != websocket.StatusMessageTooBig {
		t.Errorf("the connection ends with %v", err)
	}
}

func TestTopBidPlaceIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTheatre()
		listener, stop := h.open(t)
		transport := &http.Transport{DialContext: listener.DialContext}
		for _, leave := range []func(*websocket.Conn) error{
			(*websocket.Conn).CloseNow, func(c *websocket.Conn) error { return c.Close(websocket.StatusNormalClosure, "") },
		} {
			conn := dial(t, "http://relay"+topBidPath, &websocket.DialOptions{HTTPClient: &http.Client{Transport: transport}})
			synctest.Wait()
			if h.feed.Listeners() != 1 {
				t.Fatal("nobody listens")
			}
			if err := leave(conn); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if h.feed.Listeners() != 0 {
				t.Error("a listener that is gone keeps its place")
			}
		}
		stop()
		transport.CloseIdleConnections()
	})
}

// Two hundred listeners over TCP hear the same records in the same order.
func TestTopBidToManyListeners(t *testing.T) {
	h := newTheatre()
	server := httptest.NewServer(h.handler(false))
	defer server.Close()
	const listeners, changes = 200, 50
	var listening sync.WaitGroup
	for range listeners {
		conn := dial(t, server.URL+topBidPath, nil)
		listening.Go(func() {
			for want := range uint64(changes) {
				_, record, err := conn.Read(t.Context())
				if err != nil || binary.LittleEndian.Uint64(record[156:]) != want {
					t.Errorf("record %x, %v, want %d wei", record, err, want)
					return
				}
			}
			_ = conn.CloseNow()
		})
	}
	for value := range uint64(changes) {
		h.show(65, value)
	}
	listening.Wait()
	if h.feed.Cut() != 0 {
		t.Errorf("%d were cut", h.feed.Cut())
	}
}

// From the change to all listeners over loopback.
func BenchmarkTopBidPush(b *testing.B) {
	for _, listeners := range []int{1, 50} {
		b.Run(fmt.Sprint(listeners), func(b *testing.B) {
			h := newTheatre()
			server := httptest.NewServer(h.handler(false))
			defer server.Close()
			heard := make(chan struct{}, listeners)
			for range listeners {
				conn, _, err := websocket.Dial(b.Context(), server.URL+topBidPath, nil) //nolint:bodyclose // Dial has closed it
				if err != nil {
					b.Fatal(err)
				}
				defer conn.CloseNow()
				go func() {
					for {
						if _, _, err := conn.Read(b.Context()); err != nil {
							return
						}
						heard <- struct{}{}
					}
				}()
			}
			for b.Loop() {
				h.show(65, 1)
				for range listeners {
					<-heard
				}
			}
			b.ReportMetric(float64(h.feed.Cut()), "cut")
		})
	}
}
