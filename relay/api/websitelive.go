package api

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/internal/sse"
	"github.com/gavel-relay/gavel/relay"
)

// LiveAuction is the auction that runs, encoded once for all viewers.
type LiveAuction interface {
	// Next waits until there is another state than the one of a number, and returns it with its own
	// number; 0 stands for none. The bytes must not be changed. The error is the context's, or another
	// one when the relay stops.
	Next(ctx context.Context, after uint64) (state []byte, number uint64, err error)
}

// Bounds of viewers who follow the auction, in all and of one address.
const (
	maxViewers           = 2000
	maxViewersPerAddress = 20
)

// viewerPing is how long a viewer's connection is silent at most, and viewerPatience how long a
// write to it may take.
const (
	viewerPing     = 15 * time.Second
	viewerPatience = 10 * time.Second
)

// viewers counts who follows the auction. The zero value has none; it is safe for concurrent use.
type viewers struct {
	mu        sync.Mutex
	all       int
	byAddress map[string]int
}

// enter takes a place; false if there is none.
func (v *viewers) enter(address string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.all >= maxViewers || v.byAddress[address] >= maxViewersPerAddress {
		return false
	}
	if v.byAddress == nil {
		v.byAddress = map[string]int{}
	}
	v.all++
	v.byAddress[address]++
	return true
}

func (v *viewers) leave(address string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.all--
	if v.byAddress[address]--; v.byAddress[address] == 0 {
		delete(v.byAddress, address)
	}
}

// follow answers with server-sent events, each the whole state of the auction that runs. A viewer
// that reads slowly misses states in between.
func (s *website) follow(w http.ResponseWriter, r *http.Request) {
	address := s.Address(r)
	if !s.viewers.enter(address) {
		w.Header().Set("Retry-After", "10")
		Refuse(w, r, relay.TooManyListeners.Plain())
		return
	}
	defer s.viewers.leave(address)
	header := w.Header()
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Accel-Buffering", "no") // so that nginx does not buffer small writes
	connection := http.NewResponseController(w)
	write := func(raw []byte) error {
		if err := connection.SetWriteDeadline(time.Now().Add(viewerPatience)); err != nil &&
			!errors.Is(err, http.ErrNotSupported) {
			return err
		}
		if _, err := w.Write(raw); err != nil {
			return err
		}
		return connection.Flush()
	}
	var number uint64
	for err := write([]byte(":\n\n")); err == nil; {
		var state []byte
		waiting, stop := context.WithTimeout(r.Context(), viewerPing)
		state, number, err = s.Live.Next(waiting, number)
		stop()
		switch {
		case err == nil:
			err = write(sse.Append(nil, sse.Event{Data: state}))
		case errors.Is(err, context.DeadlineExceeded) && r.Context().Err() == nil:
			err = write([]byte(":ping\n\n"))
		}
	}
}
