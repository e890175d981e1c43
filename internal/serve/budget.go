package serve

import (
	"errors"
	"net/http"

	"golang.org/x/sync/semaphore"
)

// ErrBusy says that the bodies that are being read already take all the memory that is meant for them.
var ErrBusy = errors.New("too many bodies are being read")

// Budget bounds the memory that bodies take while they are read and worked on, over all requests. The zero value has none to give.
type Budget struct{ free *semaphore.Weighted }

// NewBudget is a budget in bytes.
func NewBudget(bytes int64) *Budget { return &Budget{semaphore.NewWeighted(bytes)} }

// Take reserves what a request's body may need: its announced length, or the limit when it announces none or is compressed. It answers ErrBusy
// rather than make anybody wait: who waits holds a connection. Give back what was taken by the returned function.
func (b *Budget) Take(r *http.Request, limit int64) (giveBack func(), err error) {
	if b == nil {
		return func() {}, nil
	}
	need := limit
	if encoding := r.Header.Get("Content-Encoding"); r.ContentLength >= 0 && (encoding == "" || encoding == "identity") {
		need = min(limit, r.ContentLength)
	}
	if !b.free.TryAcquire(need) {
		return nil, ErrBusy
	}
	return func() { b.free.Release(need) }, nil
}

// Spend keeps a request's share of a budget for as long as it is worked on. limitOf is the greatest body of a request in bytes, 0 for one that
// has none.
func Spend(next http.Handler, budget *Budget, limitOf func(*http.Request) int64, refusal Refusal) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		giveBack, err := budget.Take(r, limitOf(r))
		if err != nil {
			w.Header().Set("Retry-After", "1")
			Refuse(w, r, refusal)
			return
		}
		defer giveBack()
		next.ServeHTTP(w, r)
	})
}
