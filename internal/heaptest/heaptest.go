// Package heaptest is for tests of what a request costs in memory: bodies that small minds and
// large ones have thought of, and the greatest heap while a handler works on them.
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

// Factor and Extra are the promise: a request holds at most Factor times its decompressed body and
// Extra bytes beside.
const (
	Factor = 4
	Extra  = 1 << 20
)

// leastHeap is the heap below which the collector does not run, at 100 percent; less in proportion.
const leastHeap = 4 << 20

// Allowed is what a request with a body of some bytes may hold.
func Allowed(body int) int64 { return Factor*int64(body) + Extra }

// tries is how often what seems to hold too much is run again.
const tries = 5

// Peak runs something and answers by how many bytes of reachable objects the heap was greater
// meanwhile than before. The collector runs whenever a quarter of what is allowed has been
// allocated, so a peak may be missed by as much. What is allocated while it runs counts as
// reachable, garbage or not, and on a busy machine that is much: what exceeds the allowance is run
// again, and the least peak counts. What is really held is held each time.
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
	runtime.GC() // what finalizers let go
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

// live is what the last cycle of the collector found reachable, in bytes.
func live() int64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// Answer counts an answer's bytes and forgets them.
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
