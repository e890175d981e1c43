package send

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/rpc"
)

// BenchmarkParallel shows how many times faster a builder that needs 5 ms for each order gets them
// when it has several at once.
func BenchmarkParallel(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(5 * time.Millisecond)
		if _, err := io.WriteString(w, taken); err != nil {
			b.Error(err)
		}
	}))
	defer server.Close()
	var alone time.Duration
	for _, parallel := range []int{1, 4, 16} {
		b.Run(fmt.Sprint(parallel), func(b *testing.B) {
			s := New(Config{Builders: Registry{{Name: "default", URL: server.URL}}, Queue: b.N, Parallel: parallel})
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			go func() {
				if err := s.Run(ctx); err != nil {
					b.Error(err)
				}
			}()
			var all sync.WaitGroup
			all.Add(b.N)
			o := order(1, 0)
			b.ResetTimer()
			for range b.N {
				s.Send(o, 7, func(d rpc.Delivery) {
					if d.Error != "" {
						b.Error(d.Error)
					}
					all.Done()
				})
			}
			all.Wait()
			each := b.Elapsed() / time.Duration(b.N)
			if parallel == 1 {
				alone = each
			}
			b.ReportMetric(float64(alone)/float64(each), "x_alone")
		})
	}
}

// BenchmarkSend is what a caller waits for with 20 builders that all get the order, and whose lines
// are all full: the worst case.
func BenchmarkSend(b *testing.B) {
	var registry Registry
	for i := range 20 {
		registry = append(registry, Builder{Name: fmt.Sprint(i), URL: "http://builder", Own: true})
	}
	s, o := New(Config{Builders: registry}), order(1, 0)
	for b.Loop() {
		s.Send(o, 7, func(rpc.Delivery) {})
	}
}
