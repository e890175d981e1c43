package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/internal/serve"
)

// whileOpening answers at the listeners while a service opens, which may wait for other services:
// 200 at /livez, and elsewhere 503 with what the service waits for. That is waitsFor, or what open
// has told last; telling nothing stands for waitsFor. It answers because a client must not hang: a
// beacon node that asks the relay before it answers the relay's own request would wait for itself.
// It returns the error of open, after the listeners are free for the service.
func (d doors) whileOpening(waitsFor string, open func(tell func(what string)) error) error {
	now := &atomic.Value{}
	now.Store(opening(waitsFor))
	var servers []*waitingServer
	for _, listener := range d.all() {
		if tcp, ok := listener.(*net.TCPListener); ok {
			servers = append(servers, serveWaiting(tcp, now))
		}
	}
	err := open(func(what string) { now.Store(opening(cmp.Or(what, waitsFor))) })
	for _, s := range servers {
		err = errors.Join(err, s.stop())
	}
	return err
}

// opening is the refusal of a service that is not open yet. Its text is what the service waits for.
type opening string

// Error implements serve.Refusal.
func (o opening) Error() string { return "not ready: the service starts and waits for " + string(o) }

// HTTPStatus implements serve.Refusal.
func (opening) HTTPStatus() int { return http.StatusServiceUnavailable }

// RefusalID implements serve.Refusal. Every catalogue has this id, for a service that is not ready.
func (opening) RefusalID() string { return "not-ready" }

// waitingServer refuses requests at a listener, and does not close it.
type waitingServer struct {
	listener *net.TCPListener
	server   *http.Server
	ended    chan error
}

func serveWaiting(listener *net.TCPListener, now *atomic.Value) *waitingServer {
	handler := serve.Wrap(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/livez" {
			serve.Livez(w, r)
			return
		}
		serve.Refuse(w, r, now.Load().(opening))
	}), slog.New(slog.DiscardHandler))
	s := &waitingServer{listener: listener, ended: make(chan error, 1), server: &http.Server{
		Handler: handler, ReadTimeout: time.Second, WriteTimeout: time.Second, MaxHeaderBytes: 60_000,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}}
	s.server.SetKeepAlivesEnabled(false) // the client's next request must reach the service
	go func() { s.ended <- s.server.Serve(leftOpen{listener}) }()
	return s
}

// stop lets running answers end and gives the listener back.
func (s *waitingServer) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.server.Shutdown(ctx); err != nil {
		_ = s.server.Close() // a client did not read its 503 in time
	}
	if err := <-s.ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", s.listener.Addr(), err)
	}
	if err := s.listener.SetDeadline(time.Time{}); err != nil {
		return fmt.Errorf("serve %s: %w", s.listener.Addr(), err)
	}
	return nil
}

// leftOpen is a listener that stays open when its server closes it: Accept fails until its deadline
// is removed.
type leftOpen struct{ *net.TCPListener }

// Close implements net.Listener.
func (l leftOpen) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

// How often a start tries what it waits for, and how often the log says so (wall time).
const (
	retryEvery = 250 * time.Millisecond
	tellEvery  = 5 * time.Second
)

// waitFor tries again until it succeeds, the context ends, or the timeout is over. It returns the
// last error.
func waitFor(ctx context.Context, log *slog.Logger, timeout time.Duration, what string, try func() error) error {
	begun := time.Now()
	var told time.Time
	for {
		err := try()
		if err == nil || time.Since(begun) >= timeout {
			return err
		}
		if time.Since(told) >= tellEvery {
			told = time.Now()
			log.Warn("the start waits for "+what, "waited", time.Since(begun).Round(time.Second), "start_timeout", timeout,
				"error", err)
		}
		if pause := run.Pause(ctx, retryEvery); pause != nil {
			return errors.Join(err, pause)
		}
	}
}
