package servetest

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"
)

// Factor and Extra are what handlers promise: a request holds at most Factor times the bytes of its
// decompressed body, plus Extra bytes.
const (
	Factor = 4
	Extra  = 1 << 20
)

// leastHeap is the heap in bytes below which the collector does not run at GOGC=100. For other
// values it is in proportion.
const leastHeap = 4 << 20

// Allowed is how many bytes a request with a body of so many bytes may hold.
func Allowed(body int) int64 { return Factor*int64(body) + Extra }

// tries is how often at most a run is measured that seems to hold too much.
const tries = 5

// Peak calls run and returns by how many bytes of reachable objects the heap grew meanwhile. The
// collector runs whenever a quarter of allowed has been allocated, so Peak may miss as much.
// Objects that are allocated while the collector runs count as reachable, also garbage, and on a
// busy machine these are many. So a run that exceeds allowed is repeated, and the lowest peak
// counts: memory that is really held is held in each run.
func Peak(t testing.TB, allowed int64, run func()) int64 {
	t.Helper()
	least := peak(allowed, run)
	for i := 1; i < tries && least > allowed; i++ {
		least = min(least, peak(allowed, run))
	}
	return least
}

func peak(allowed int64, run func()) int64 {
	runtime.GC()
	runtime.GC() // frees what finalizers have released
	base := live()
	percent := int(max(1, 100*(allowed/Factor)/max(base, leastHeap)))
	defer debug.SetGCPercent(debug.SetGCPercent(percent))
	cycles := watchCycles()
	run()
	return max(0, cycles.end()-base)
}

// cycles reads what the collector found reachable, after each of its cycles. The number changes
// only then, so nobody polls it: polling would take a processor from the run.
type cycles struct {
	mu    sync.Mutex // guards both
	most  int64
	ended bool
}

// watched is garbage whenever the collector looks.
type watched struct{ by *cycles }

func watchCycles() *cycles {
	c := new(cycles)
	runtime.SetFinalizer(&watched{c}, (*watched).noteCollected)
	return c
}

// noteCollected is called after a cycle, and has itself called after the next one.
func (w *watched) noteCollected() {
	w.by.mu.Lock()
	defer w.by.mu.Unlock()
	w.by.most = max(w.by.most, live())
	if !w.by.ended {
		runtime.SetFinalizer(w, (*watched).noteCollected)
	}
}

// end returns the most bytes that a cycle has found.
func (c *cycles) end() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.most = max(c.most, live())
	return c.most
}

// live is how many bytes the last cycle of the collector found reachable.
func live() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// Answer is a http.ResponseWriter that counts an answer's bytes and drops them.
type Answer struct {
	Status, Bytes int
	header        http.Header
}

// Header implements http.ResponseWriter.
func (a *Answer) Header() http.Header {
	if a.header == nil {
		a.header = http.Header{}
	}
	return a.header
}

// WriteHeader implements http.ResponseWriter.
func (a *Answer) WriteHeader(status int) { a.Status = status }

// Write implements io.Writer.
func (a *Answer) Write(p []byte) (int, error) {
	if a.Status == 0 {
		a.Status = http.StatusOK
	}
	a.Bytes += len(p)
	return len(p), nil
}
