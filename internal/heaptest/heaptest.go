// Package heaptest is for tests of how much memory a request costs. It has hostile request bodies,
// and measures the largest heap while a handler works on them.
package heaptest

import (
	"net/http"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
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
	var most atomic.Int64
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				if now := live(); now > most.Load() {
					most.Store(now)
				}
				runtime.Gosched()
			}
		}
	})
	run()
	close(stop)
	watching.Wait()
	return max(0, most.Load()-base)
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
