package client

import (
	"context"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/attestantio/go-eth2-client/spec/bellatrix"
	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/coder/websocket"
	"github.com/holiman/uint256"
)

// rawTopBid is a record as a relay sends it, and testTopBid what it says.
const rawTopBid = "7b68e5cf8b010000" + "4100000000000000" + "0700000000000000" +
	"4000000000000000000000000000000000000000000000000000000000000041" +
	"2000000000000000000000000000000000000000000000000000000000000021" +
	"600000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000061" +
	"a0000000000000000000000000000000000000a1" +
	"efcdab9078563412000000000000000000000000000000000000000000000080"

var testTopBid = TopBid{
	At: time.UnixMilli(1_700_000_000_123), Slot: 65, BlockNumber: 7,
	BlockHash: phase0.Hash32{0: 0x40, 31: 0x41}, ParentHash: phase0.Hash32{0: 0x20, 31: 0x21},
	Builder: phase0.BLSPubKey{0: 0x60, 47: 0x61}, FeeRecipient: bellatrix.ExecutionAddress{0: 0xa0, 19: 0xa1},
	ValueWei: uint256.MustFromHex("0x8000000000000000000000000000000000000000000000001234567890abcdef"),
}

// pusher is a relay whose stream does as a test says.
func pusher(t *testing.T, stream func(r *http.Request, conn *websocket.Conn)) *Client {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		stream(r, conn)
		_ = conn.CloseNow()
	}))
	t.Cleanup(server.Close)
	c, err := New(server.URL, Options{HTTP: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func pushed(t *testing.T, conn *websocket.Conn, raw string) {
	t.Helper()
	record, err := hex.DecodeString(raw)
	if err == nil {
		err = conn.Write(t.Context(), websocket.MessageBinary, record)
	}
	if err != nil {
		t.Error(err)
	}
}

func sameTopBid(a, b TopBid) bool {
	sameValue := a.ValueWei.Eq(b.ValueWei) && a.At.Equal(b.At)
	a.ValueWei, a.At, b.ValueWei, b.At = nil, time.Time{}, nil, time.Time{}
	return sameValue && a == b
}

func TestTopBids(t *testing.T) {
	var uri, key string
	c := pusher(t, func(r *http.Request, conn *websocket.Conn) {
		uri, key = r.URL.RequestURI(), r.Header.Get("X-Api-Key")
		pushed(t, conn, rawTopBid)
		pushed(t, conn, strings.Repeat("00", 188))
		if err := conn.Close(websocket.StatusGoingAway, "relay stops"); err != nil {
			t.Error(err)
		}
	})
	var got []TopBid
	var ended error
	for bid, err := range c.TopBids(t.Context(), TopBidOptions{APIKey: "alpha's"}) {
		if ended = err; err == nil {
			got = append(got, bid)
		}
	}
	if len(got) != 2 || !sameTopBid(got[0], testTopBid) ||
		!sameTopBid(got[1], TopBid{At: time.Unix(0, 0), ValueWei: new(uint256.Int)}) {
		t.Errorf("bids %+v", got)
	}
	if websocket.CloseStatus(ended) != websocket.StatusGoingAway {
		t.Errorf("the stream ends with %v", ended)
	}
	if uri != "/relay/v1/builder/top_bid" || key != "alpha's" {
		t.Errorf("asked %s with the key %q", uri, key)
	}
}

// Who breaks off takes leave in order, so that the relay has its place back at once.
func TestTopBidsBreak(t *testing.T) {
	farewell := make(chan error, 1)
	c := pusher(t, func(r *http.Request, conn *websocket.Conn) {
		if r.URL.RawQuery != "unit=ns" {
			t.Errorf("asked %s", r.URL)
		}
		pushed(t, conn, "15cd853dfe9c9717"+rawTopBid[16:])
		_, _, err := conn.Read(t.Context())
		farewell <- err
	})
	for bid, err := range c.TopBids(t.Context(), TopBidOptions{Nanoseconds: true}) {
		if err != nil || !bid.At.Equal(time.Unix(1_700_000_000, 123_456_789)) {
			t.Errorf("bid %+v, %v", bid, err)
		}
		break
	}
	if err := <-farewell; websocket.CloseStatus(err) != websocket.StatusNormalClosure {
		t.Errorf("the relay saw %v", err)
	}
}

func TestTopBidsTellsWhyThereIsNoStream(t *testing.T) {
	r := &relay{status: 503, body: []byte(`{"code":503,"message":"too many listeners"}`)}
	seen := 0
	for _, err := range r.client(t, Options{}).TopBids(t.Context(), TopBidOptions{}) {
		seen++
		if refused := (*Error)(nil); !errors.As(err, &refused) || refused.Status != 503 ||
			refused.Message != "too many listeners" {
			t.Errorf("%v", err)
		}
	}
	nowhere, err := New("http://127.0.0.1:1", Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range nowhere.TopBids(t.Context(), TopBidOptions{}) {
		if seen++; err == nil {
			t.Error("no error")
		}
	}
	if seen != 2 {
		t.Errorf("%d elements", seen)
	}
}

func TestTopBidsWantsRecords(t *testing.T) {
	for name, row := range map[string]struct {
		kind websocket.MessageType
		size int
	}{
		"text": {websocket.MessageText, 188}, "a byte less": {websocket.MessageBinary, 187},
		"a byte more": {websocket.MessageBinary, 189},
	} {
		t.Run(name, func(t *testing.T) {
			c := pusher(t, func(_ *http.Request, conn *websocket.Conn) {
				if err := conn.Write(t.Context(), row.kind, make([]byte, row.size)); err != nil {
					t.Error(err)
				}
				_, _, _ = conn.Read(t.Context()) // the farewell
			})
			for bid, err := range c.TopBids(t.Context(), TopBidOptions{}) {
				if err == nil {
					t.Errorf("bid %+v", bid)
				}
			}
		})
	}
}

func TestTopBidsEndsWithTheContext(t *testing.T) {
	c := pusher(t, func(_ *http.Request, conn *websocket.Conn) {
		pushed(t, conn, rawTopBid)
		_, _, _ = conn.Read(t.Context()) // ends with the connection
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var ended error
	for _, err := range c.TopBids(ctx, TopBidOptions{}) {
		cancel()
		ended = err
	}
	if !errors.Is(ended, context.Canceled) {
		t.Errorf("the stream ends with %v", ended)
	}
}

// oneConn is a listener with a single connection, in memory.
type oneConn struct{ conns chan net.Conn }

func (l oneConn) Accept() (net.Conn, error) {
	if conn, open := <-l.conns; open {
		return conn, nil
	}
	return nil, net.ErrClosed
}

func (oneConn) Close() error   { return nil }
func (oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "pipe"} }

// A ping is a sign of life; without any for half a minute the relay is given up.
func TestTopBidsGivesUpASilentRelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		listener := oneConn{make(chan net.Conn, 1)}
		listener.conns <- far
		gone := make(chan struct{})
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer close(gone)
			conn, err := websocket.Accept(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			reading := conn.CloseRead(t.Context())
			for range 3 {
				time.Sleep(20 * time.Second)
				if err := conn.Ping(reading); err != nil {
					t.Error(err)
				}
			}
			<-reading.Done()
		})}
		go func() { _ = server.Serve(listener) }()
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			return near, nil
		}}
		c, err := New("http://relay", Options{HTTP: &http.Client{Transport: transport}})
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for bid, err := range c.TopBids(t.Context(), TopBidOptions{}) {
			if err == nil || !strings.Contains(err.Error(), "says nothing for 30s") {
				t.Errorf("bid %+v, %v", bid, err)
			}
		}
		if took := time.Since(began); took != 90*time.Second {
			t.Errorf("given up after %v", took)
		}
		<-gone
		close(listener.conns)
		_ = server.Close()
	})
}
