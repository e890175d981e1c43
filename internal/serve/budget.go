package serve

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"os"
	"time"
)

// BodyBudget bounds how many bytes of request bodies a process holds at once, in any encoding, and
// how long a body may take. A body is charged for the memory that is allocated for it as it comes,
// so what is announced and not sent is free. A body that comes slower than the least rate is cut
// off. Memory that an operation allocates for its work on a body is not counted. A budget must not
// be changed after its first use; it is safe for concurrent use.
type BodyBudget struct {
	// PoolOf says which room a request's body uses, and which sender is charged for it: an address,
	// or a builder. It must be set.
	PoolOf func(*http.Request) (room *BodyPool, payer string)
	// Wait is how long a body waits for room; 0 is 250 ms.
	Wait time.Duration
	// LeastRate is how many bytes a second, as sent, must come after the first second; 0 is 64,000,
	// negative is no bound.
	LeastRate int64
}

// Defaults of a budget.
const (
	usualWait = 250 * time.Millisecond
	leastRate = 64_000
	// rateGrace is how long a body may take at any rate.
	rateGrace = time.Second
)

// NewBodyBudget is a budget of one room of so many bytes, at least 16 MiB, of which each client
// address may hold a quarter.
func NewBodyBudget(bytes int64, wait time.Duration, trustedProxies ...netip.Prefix) *BodyBudget {
	room := NewBodyPool(max(bytes, 16<<20), max(bytes, 16<<20)/4)
	byAddress := ByClient(trustedProxies)
	return &BodyBudget{PoolOf: func(r *http.Request) (*BodyPool, string) { return room, byAddress(r) }, Wait: wait}
}

// Wrap puts the budget into the context for ReadBody, and gives a body's bytes back when its
// operation is done. A nil budget bounds nothing.
func (b *BodyBudget) Wrap(next http.Handler) http.Handler {
	return b.within(next, usualRead, func(TurnedAway) {})
}

// within is Wrap with a bound on the total time of a body, from its first read on. It calls
// turnAway for bodies that are ended.
func (b *BodyBudget) within(next http.Handler, most time.Duration, turnAway func(TurnedAway)) http.Handler {
	if b == nil {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		i := &intake{budget: b, most: most, turnAway: turnAway}
		defer i.leave()
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), intakeKey{}, i)))
	})
}

type intakeKey struct{}

// intake is the reading of one request's body under a budget. It belongs to the goroutine of its
// request. A nil intake has no bounds.
type intake struct {
	budget *BodyBudget
	most   time.Duration
	ctx    context.Context
	spent  *reservation
	pace   *pace

	turnAway func(TurnedAway) // called once for a body that has no room, is cut off, or is slow
}

func intakeOf(r *http.Request) *intake {
	i, _ := r.Context().Value(intakeKey{}).(*intake)
	return i
}

// begin enters the body into its room, and returns the reader to read the body from.
func (i *intake) begin(w http.ResponseWriter, r *http.Request) io.ReadCloser {
	if i == nil || i.spent != nil { // a second reading is not charged again
		return r.Body
	}
	connection := http.NewResponseController(w)
	room, payer := i.budget.PoolOf(r)
	i.ctx = r.Context()
	i.spent = room.enter(payer, func() {
		_ = connection.SetReadDeadline(time.Unix(1, 0))
		i.turnAway(BodyCutOff)
	})
	now := time.Now()
	i.pace = &pace{
		ReadCloser: r.Body, spent: i.spent, rate: cmp.Or(i.budget.LeastRate, leastRate), begun: now, last: now.Add(i.most),
		deadline: func(at time.Time) { _ = connection.SetReadDeadline(at) },
	}
	return i.pace
}

// take charges bytes before they are allocated. Its waiting does not count as the client's time.
func (i *intake) take(bytes int64) error {
	if i == nil {
		return nil
	}
	began := time.Now()
	err := i.spent.take(i.ctx, bytes, cmp.Or(i.budget.Wait, usualWait))
	i.pace.pause(time.Since(began))
	return err
}

func (i *intake) giveBack(bytes int64) {
	if i != nil {
		i.spent.giveBack(bytes)
	}
}

// whole ends the reading; so many bytes are held from now on. It returns false if the body was cut
// off.
func (i *intake) whole(bytes int64) bool { return i == nil || i.spent.whole(bytes) }

// noteEnd calls turnAway if a body that was not cut off ended for lack of room or because it was
// slow.
func (i *intake) noteEnd(err error) {
	switch {
	case i == nil:
	case errors.Is(err, ErrBusy):
		i.turnAway(BodyWithoutRoom)
	case errors.Is(err, os.ErrDeadlineExceeded):
		i.turnAway(BodySlow)
	}
}

func (i *intake) leave() {
	if i.spent != nil {
		i.spent.leave()
	}
}
