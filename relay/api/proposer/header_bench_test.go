package proposer

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/request"
	"github.com/gavel-relay/gavel/relay/top"
)

// headOf is a chain's head.
type headOf relay.Head

func (h headOf) Head() relay.Head { return relay.Head(h) }

// servedCount takes served headers as the relay's queue does: by value.
type servedCount struct {
	mu   sync.Mutex
	room []relay.HeaderServed
	n    int
}

func (c *servedCount) RecordHeader(served relay.HeaderServed) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.room[c.n%len(c.room)] = served
	c.n++
}

// realRooms is the read path as a relay has it, with a bid of a usual size and eight auctions that are open.
func realRooms() (*skin, *servedCount) {
	bid := *testBid
	bid.ValueWei, bid.JSON, bid.SSZ = uint256.NewInt(7), make([]byte, 2500), make([]byte, 900)
	board := new(top.Board)
	for i := range byte(8) {
		key := testKey
		key.ParentHash[0] += i
		board.Show(key, &bid)
	}
	facts := &servedCount{room: make([]relay.HeaderServed, 1024)}
	return &skin{Config{Spec: testSpec(), Clock: clock.NewHeld(now, 1), Headers: &top.Headers{
		Board: board, Spec: testSpec(), Head: headOf{}, Facts: facts, CutOff: 3 * time.Second,
	}}}, facts
}

// deaf is an answer that is thrown away.
type deaf struct{ header http.Header }

func (d deaf) Header() http.Header         { return d.header }
func (deaf) WriteHeader(int)               {}
func (deaf) Write(raw []byte) (int, error) { return len(raw), nil }

// BenchmarkHeader is getHeader from the parsed request line to the bytes of the answer.
func BenchmarkHeader(b *testing.B) {
	a, _ := realRooms()
	w := deaf{http.Header{}}
	for _, accept := range []string{"", "application/octet-stream;q=1.0,application/json;q=0.9"} {
		r := headerRequest(accept)
		b.Run("accept "+accept, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a.header(w, r)
			}
		})
	}
}

// headerRequest is a request as the mux hands it on.
func headerRequest(accept string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, goodHeaderPath()[len("GET "):], nil)
	r.SetPathValue("slot", "65")
	for name, value := range map[string][]byte{"pubkey": testKey.Proposer[:], "parent_hash": testKey.ParentHash[:]} {
		r.SetPathValue(name, fmt.Sprintf("%#x", value))
	}
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	return r
}

// The read path allocates nothing: neither for the key, nor for the top, nor for the fact, nor for the answer.
func TestHeaderAllocatesNothing(t *testing.T) {
	a, facts := realRooms()
	w, r := deaf{http.Header{}}, headerRequest("application/octet-stream")
	if n := testing.AllocsPerRun(100, func() { a.header(w, r) }); n != 0 || facts.n == 0 {
		t.Errorf("%v allocations, %d headers served", n, facts.n)
	}
}

// BenchmarkHeaderOverLoopback compares the whole stack (server, ids and access log, mux, skin, board) with a bare handler that writes the
// same bytes: clients that keep their connections ask each in turn, so that the load on the machine is the same for both.
func BenchmarkHeaderOverLoopback(b *testing.B) {
	a, facts := realRooms()
	mux := request.NewMux()
	Mount(mux, a.Config)
	raw := a.Headers.(*top.Headers).Board.Top(testKey).SSZ
	bare := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set(request.VersionHeader, "fulu")
		_, _ = w.Write(raw)
	})
	ours, theirs := serving(b, serve.Wrap(mux, slog.New(slog.DiscardHandler))), serving(b, bare)
	const rounds = 20
	var took [2]time.Duration
	per := b.N/rounds + 1
	b.ResetTimer()
	for range rounds {
		for i, address := range []string{ours, theirs} {
			took[i] += askMany(b, address, per)
		}
	}
	b.StopTimer()
	if facts.n != rounds*per {
		b.Errorf("%d headers served of %d asked", facts.n, rounds*per)
	}
	b.ReportMetric(float64(rounds*per)/took[0].Seconds(), "requests/s")
	b.ReportMetric(float64(took[1])/float64(took[0]), "of-bare")
}

// serving is the address of a server of its own.
func serving(b *testing.B, handler http.Handler) string {
	b.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Second}
	go func() { _ = server.Serve(listener) }()
	b.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String()
}

// askMany has four clients ask for a header until so many are answered. The clients are as cheap as can be, so that the servers are measured.
func askMany(b *testing.B, address string, requests int) time.Duration {
	b.Helper()
	ask := []byte(goodHeaderPath() + " HTTP/1.1\r\nHost: relay\r\nAccept: application/octet-stream\r\nUser-Agent: mev-boost/v1.9\r\n" +
		"X-Timeout-Ms: 950\r\nDate-Milliseconds: 1700000000123\r\n\r\n")
	var left atomic.Int64
	left.Store(int64(requests))
	var asking sync.WaitGroup
	began := time.Now()
	for range 4 {
		asking.Go(func() {
			conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", address)
			if err != nil {
				b.Error(err)
				return
			}
			defer conn.Close()
			answers := bufio.NewReader(conn)
			for left.Add(-1) >= 0 {
				if _, err := conn.Write(ask); err != nil {
					b.Error(err)
					return
				}
				if err := skipAnswer(answers); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	asking.Wait()
	return time.Since(began)
}

// skipAnswer reads an answer of 200 with a length and forgets it.
func skipAnswer(r *bufio.Reader) error {
	length := -1
	for first := true; ; first = false {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return err
		}
		line = bytes.TrimSpace(line)
		switch {
		case first && !bytes.HasPrefix(line, []byte("HTTP/1.1 200 ")):
			return fmt.Errorf("answer %q", line)
		case len(line) == 0:
			_, err := r.Discard(length)
			return err
		}
		if value, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return err
			}
		}
	}
}
