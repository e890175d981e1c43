package serve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const budgetBytes = 64 << 20

// reading is an operation that reads a body and keeps it until it is released.
func reading(limit int64, release <-chan struct{}, whole *atomic.Int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := ReadBody(w, r, limit, "gzip", "zstd")
		switch {
		case errors.Is(err, ErrBusy):
			Refuse(w, r, no(http.StatusServiceUnavailable))
		case errors.Is(err, ErrTooLarge):
			Refuse(w, r, no(http.StatusRequestEntityTooLarge))
		case err != nil:
			Refuse(w, r, no(http.StatusBadRequest))
		default:
			whole.Add(1)
			<-release
			runtime.KeepAlive(body)
		}
	}
}

// inRoom is a budget of one room, whose payers are addresses.
func inRoom(room *BodyPool, wait time.Duration) *BodyBudget {
	byAddress := ByClient(nil)
	return &BodyBudget{PoolOf: func(r *http.Request) (*BodyPool, string) { return room, byAddress(r) }, Wait: wait}
}

// from has a request come from an address of its own.
func from(client int, r *http.Request) *http.Request {
	r.RemoteAddr = fmt.Sprintf("10.%d.%d.%d:1000", client>>16, client>>8&255, client&255)
	return r
}

// void is endless and leaves what it finds: such bodies cost memory, but no time.
type void struct{}

func (void) Read(p []byte) (int, error) { return len(p), nil }

func heapBytes() int64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// A thousand bodies at once, or thirty bombs, hold no more memory than the budget; who finds no
// room is told to come again, and afterwards all is given back.
func TestThousandBodiesStayWithinTheBudget(t *testing.T) {
	const limit = 16 << 20
	zeros := make([]byte, 1<<20)
	for _, row := range []struct {
		name, encoding string
		member         []byte
		bytes          int64 // as sent; -1 never ends
		clients        int
		answer         int // of those that are read in spite of the crowd; 0: they come through
	}{
		{"16 MiB, announced", "", nil, limit, 1000, 0},
		{"2 MiB, announced", "", nil, 2 << 20, 1000, 0},
		{"a gzip bomb", "gzip", gzipped(t, zeros), -1, 30, http.StatusRequestEntityTooLarge},
		{"a zstd bomb", "zstd", zstandard(t, zeros), -1, 30, http.StatusRequestEntityTooLarge},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				room := NewBodyPool(budgetBytes, budgetBytes/4)
				budget := inRoom(room, 250*time.Millisecond)
				release := make(chan struct{})
				var whole atomic.Int64
				handler := budget.Wrap(reading(limit, release, &whole))
				before := heapBytes()
				var done sync.WaitGroup
				statuses := make([]int, row.clients)
				for i := range row.clients {
					done.Go(func() {
						body := io.Reader(&endless{member: row.member})
						if row.bytes >= 0 {
							body = io.LimitReader(void{}, row.bytes)
						}
						r := from(i, httptest.NewRequest("POST", "/", body))
						r.ContentLength = row.bytes
						r.Header.Set("Content-Encoding", row.encoding)
						answer := httptest.NewRecorder()
						handler.ServeHTTP(answer, r)
						statuses[i] = answer.Code
						if busy := answer.Code == http.StatusServiceUnavailable; busy != (answer.Header().Get("Retry-After") == "1") {
							t.Errorf("%d, retry after %q", answer.Code, answer.Header().Get("Retry-After"))
						}
					})
				}
				time.Sleep(time.Second) // all are refused by now, or hold their bodies
				synctest.Wait()
				if held := room.Held(); held > budgetBytes {
					t.Errorf("%d bytes are held", held)
				}
				if grown := heapBytes() - before; grown > budgetBytes+budgetBytes/4 {
					t.Errorf("%d bytes of memory for a budget of %d", grown, budgetBytes)
				}
				close(release)
				done.Wait()
				if held := room.Held(); held != 0 {
					t.Errorf("%d bytes are never given back", held)
				}
				read := whole.Load()
				for _, status := range statuses {
					if row.answer != 0 && status == row.answer {
						read++
					}
				}
				if read == 0 {
					t.Error("nobody's body is read")
				}
			})
		})
	}
}

// A body waits its turn, and gets it when another is done.
func TestBodyWaitsItsTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const size = 1 << 20
		room := NewBodyPool(8*size, 8*size)
		release := make(chan struct{})
		var whole atomic.Int64
		handler := inRoom(room, time.Second).Wrap(reading(size, release, &whole))
		var done sync.WaitGroup
		ask := func(want int) {
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequest("POST", "/", bytes.NewReader(make([]byte, size))))
			if answer.Code != want {
				t.Errorf("status %d, want %d", answer.Code, want)
			}
		}
		for range 7 { // an eighth has no room, because of the spare bytes of each
			done.Go(func() { ask(http.StatusOK) })
			synctest.Wait()
		}
		began := time.Now()
		ask(http.StatusServiceUnavailable)
		if waited := time.Since(began); waited != time.Second {
			t.Errorf("it waited %v", waited)
		}
		done.Go(func() { ask(http.StatusOK) })
		synctest.Wait()
		if whole.Load() != 7 {
			t.Fatalf("%d bodies are held", whole.Load())
		}
		close(release)
		done.Wait()
		if whole.Load() != 8 || room.Held() != 0 {
			t.Errorf("%d bodies were read, %d bytes are held", whole.Load(), room.Held())
		}
	})
}

// A request without a body costs nothing, however much memory is taken; neither does a nil budget.
func TestNoBodyNoCost(t *testing.T) {
	room := NewBodyPool(16<<20, 16<<20)
	if err := room.enter("x", func() {}).take(t.Context(), 16<<20, 0); err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	inRoom(room, time.Second).Wrap(testMux()).ServeHTTP(answer, httptest.NewRequest("GET", "/read", nil))
	if answer.Code != http.StatusOK {
		t.Errorf("status %d", answer.Code)
	}
	mux := testMux()
	if (*BodyBudget)(nil).Wrap(mux) != http.Handler(mux) {
		t.Error("something stands before the mux")
	}
}
