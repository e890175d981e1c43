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

// BodyBudget bounds the bytes of request bodies that a process holds at once, whoever sends them
// and in whatever encoding, and the time that they may take. A body is charged for the memory that
// is taken for it as it comes: what is announced and not sent is free. What comes slower than the
// least rate ends. What an operation makes of a body is not counted. It must not change once it is
// used; it is safe for concurrent use.
type BodyBudget struct {
	// RoomOf says in which room a request's body is, and who pays for it: an address, or a builder. It
	// is needed.
	RoomOf func(*http.Request) (room *BodyRoom, payer string)
	// Wait is how long a body waits for room: 250 ms.
	Wait time.Duration
	// LeastRate is how many bytes a second have to come, as sent, after the first second: 64,000.
	// Negative for no bound.
	LeastRate int64
}

// What a budget takes that does not say.
const (
	usualWait = 250 * time.Millisecond
	leastRate = 64_000
	// rateGrace is how long a body may take whatever its rate.
	rateGrace = time.Second
)

// NewBodyBudget is a budget of one room of so many bytes, at least 16 MiB, of which each client
// address has a quarter.
func NewBodyBudget(bytes int64, wait time.Duration, trustedProxies ...netip.Prefix) *BodyBudget {
	room := NewBodyRoom(max(bytes, 16<<20), max(bytes, 16<<20)/4)
	byAddress := ByClient(trustedProxies)
	return &BodyBudget{RoomOf: func(r *http.Request) (*BodyRoom, string) { return room, byAddress(r) }, Wait: wait}
}

// Wrap makes the budget known to ReadBody, and takes back when an operation is done what its body
// has cost. A nil budget bounds nothing.
func (b *BodyBudget) Wrap(next http.Handler) http.Handler {
	return b.within(next, usualRead, func(TurnedAway) {})
}

// within is Wrap for bodies that may take a time in all, from their first read on. turnAway is told
// of those that end before.
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
// request; a nil one is free and has all the time.
type intake struct {
	budget *BodyBudget
	most   time.Duration
	ctx    context.Context
	spent  *reservation
	pace   *pace

	turnAway func(TurnedAway) // is told once of a body that has no room, is cut off, or slow
}

func intakeOf(r *http.Request) *intake {
	i, _ := r.Context().Value(intakeKey{}).(*intake)
	return i
}

// begin enters the room, and returns the body to read from.
func (i *intake) begin(w http.ResponseWriter, r *http.Request) io.ReadCloser {
	if i == nil || i.spent != nil { // or is read a second time, which costs nothing more
		return r.Body
	}
	connection := http.NewResponseController(w)
	room, payer := i.budget.RoomOf(r)
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

// take pays for bytes before they are had. What it waits is not the client's time.
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

// whole ends the reading: so many bytes are held from now on. false if the body was cut off.
func (i *intake) whole(bytes int64) bool { return i == nil || i.spent.whole(bytes) }

// ended tells why the reading of a body ended that nobody cut off, if it was for others' sake.
func (i *intake) ended(err error) {
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
