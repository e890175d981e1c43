package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// Options bound what one client can cost. Zero values stand for the defaults named here.
type Options struct {
	Log *slog.Logger
	// ReadHeader bounds the reading of a request's header; 0 is 1 s. Read bounds the reading of the
	// whole request; 0 is 10 s.
	ReadHeader, Read time.Duration
	// Idle bounds the wait for the next request on a connection; 0 is 60 s.
	Idle time.Duration
	// Write bounds the time from the request's header to the end of the answer; 0 is no bound,
	// which event streams need.
	Write time.Duration
	// Stall bounds the time in which a client reads each 64 KiB of an answer, also of a stream; 0
	// is 10 s. It has no effect if Write is set.
	Stall time.Duration
	// MaxHeader bounds a request's header in bytes; 0 is 60,000.
	MaxHeader int
	// MaxConns bounds the open connections; 0 is 8192. For a further connection the longest idle
	// one is closed. If none is idle, the new one waits until a place is free, and others wait in
	// the system's queue.
	MaxConns int
	// ConnsPerAddress bounds the connections of one address, or of an IPv6 network of 64 bits; 0 is
	// an eighth of MaxConns, negative is no bound. TrustedProxies have no bound.
	ConnsPerAddress int
	// HTTP2 allows HTTP/2 without TLS for clients that begin with it (RFC 9113, 3.3), such as
	// proxies, which send many streams on one connection.
	HTTP2 bool
	// Bodies bounds the bytes of bodies in memory and the time that they take. Servers of one
	// process may share it. By default a server has its own of 256 MiB, of which each address may
	// hold a quarter.
	Bodies *BodyBudget
	// TrustedProxies may name the client's address (X-Forwarded-For).
	TrustedProxies []netip.Prefix
	// Watcher sees every request; nil for none.
	Watcher Watcher
	// Linger is how long the server goes on as before after the context has ended, except that
	// Readyz refuses. Load balancers see that and send their clients elsewhere. After that the
	// server accepts no more connections.
	Linger time.Duration
	// Grace is how long running requests go on after Linger. Then their contexts end, which stops
	// streams and waits.
	Grace time.Duration
	// Drain is how long running requests may take in all after Linger; 0 is 5 s. It is never less
	// than Grace.
	Drain time.Duration
}

const inUse = "is in use: stop the other program or choose another port"

// IsInUse says whether Listen has failed because of another program at the address, here or in
// another process that told so in words.
func IsInUse(err error) bool { return err != nil && strings.Contains(err.Error(), inUse) }

// Listen opens a TCP port. Its error is one line that says what to do.
func Listen(addr string) (net.Listener, error) {
	listener, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("address %s "+inUse, addr)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("address %s is not allowed for this user: choose a port above 1023", addr)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w", addr, err)
	}
	return listener, nil
}

// Serve answers requests until the context ends, lingers, lets running requests finish, and then
// returns nil. It closes the listener.
//
//	context ends ─▶ Linger: all as before, Readyz 503 ─▶ no more connections ─▶ Grace ─▶ contexts of requests end ─▶ Drain: closed
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, options Options) error {
	// Requests may run longer than the context.
	requests, endRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer endRequests()
	server := newServer(handler, options)
	base := context.WithValue(requests, stopKey{}, ctx.Done())
	if options.Watcher != nil {
		base = options.Watcher.Context(base)
	}
	server.BaseContext = func(net.Listener) context.Context { return base }
	server.RegisterOnShutdown(func() { time.AfterFunc(options.Grace, endRequests) })

	most := cmp.Or(options.MaxConns, 8192)
	limited := newLimitListener(listener, most, max(cmp.Or(options.ConnsPerAddress, max(most/8, 1)), 0),
		options.TrustedProxies)
	limited.turnAway = options.turnAway
	server.ConnState = limited.state

	failed := make(chan error, 1)
	go func() { failed <- server.Serve(limited) }()
	if err := untilStop(ctx, failed, options.Linger); err != nil {
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	}
	drain, stop := context.WithTimeout(context.WithoutCancel(ctx), max(cmp.Or(options.Drain, 5*time.Second),
		options.Grace))
	defer stop()
	err := server.Shutdown(drain)
	if err != nil {
		err = errors.Join(fmt.Errorf("some requests did not finish: %w", err), server.Close())
	}
	// Wait for server.Serve, which closes the listener, also if the stop came before it began.
	if failure := <-failed; !errors.Is(failure, http.ErrServerClosed) {
		err = errors.Join(err, failure)
	}
	return err
}

// untilStop waits until the context has ended and linger is over, or the server fails.
func untilStop(ctx context.Context, failed <-chan error, linger time.Duration) error {
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-failed:
		return err
	case <-time.After(linger):
		return nil
	}
}

type stopKey struct{}

// Stopping says whether the server of a request is about to stop, although it still answers.
func Stopping(request context.Context) bool {
	stopped, _ := request.Value(stopKey{}).(<-chan struct{})
	select {
	case <-stopped: // a nil channel is never ready
		return true
	default:
		return false
	}
}

// usualRead bounds the reading of a request by default.
const usualRead = 10 * time.Second

func newServer(handler http.Handler, options Options) *http.Server {
	options.Log = cmp.Or(options.Log, slog.New(slog.DiscardHandler))
	if options.Bodies == nil {
		options.Bodies = NewBodyBudget(256<<20, usualWait, options.TrustedProxies...)
	}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(options.HTTP2)
	return &http.Server{
		Protocols:         protocols,
		Handler:           options.Wrap(options.Bodies.within(handler, cmp.Or(options.Read, usualRead), options.turnAway)),
		ReadHeaderTimeout: cmp.Or(options.ReadHeader, time.Second),
		ReadTimeout:       cmp.Or(options.Read, usualRead),
		WriteTimeout:      options.Write,
		IdleTimeout:       cmp.Or(options.Idle, time.Minute),
		MaxHeaderBytes:    cmp.Or(options.MaxHeader, 60_000),
		ErrorLog:          slog.NewLogLogger(options.Log.Handler(), slog.LevelDebug),
	}
}
