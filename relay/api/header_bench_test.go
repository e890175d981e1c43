package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/holiman/uint256"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/relay"
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

// realRooms is the read path as a relay has it, with a bid of a usual size and eight auctions that
// are open.
func realRooms() (*proposerHandlers, *servedCount) {
	bid := *testBid
	bid.ValueWei, bid.JSON, bid.SSZ = uint256.NewInt(7), make([]byte, 2500), make([]byte, 900)
	facts := &servedCount{room: make([]relay.HeaderServed, 1024)}
	board := &top.Bids{Served: facts}
	for i := range byte(8) {
		key := testKey
		key.ParentHash[0] += i
		board.Show(key, &bid)
	}
	return &proposerHandlers{ProposerConfig{Spec: testSpec(), Clock: clock.NewStepped(now), Headers: &top.Headers{
		Bids: board, Spec: testSpec(), Head: headOf{}, CutOff: 3 * time.Second,
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
	for encoding, accept := range map[string]string{"json": "",
		"ssz": "application/octet-stream;q=1.0,application/json;q=0.9"} {
		r := headerRequest(accept)
		b.Run(encoding, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				a.header(w, r, headerValues)
			}
		})
	}
}

// headerValues are the path's values as the mux hands them on.
var headerValues = serve.Values{"65", fmt.Sprintf("%#x", testKey.ParentHash[:]),
	fmt.Sprintf("%#x", testKey.Proposer[:])}

// headerRequest is a request as the mux hands it on.
func headerRequest(accept string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, goodHeaderPath()[len("GET "):], nil)
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	return r
}

// The read path allocates nothing: neither for the key, nor for the top, nor for the fact, nor for
// the answer.
func TestHeaderAllocatesNothing(t *testing.T) {
	a, facts := realRooms()
	w, r := deaf{http.Header{}}, headerRequest("application/octet-stream")
	if n := testing.AllocsPerRun(100, func() { a.header(w, r, headerValues) }); n != 0 || facts.n == 0 {
		t.Errorf("%v allocations, %d headers served", n, facts.n)
	}
}
