package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"syscall"
	"time"

	"golang.org/x/net/netutil"
)

// Options bound what one client can cost. Zero values take the defaults that are named.
type Options struct {
	Log *slog.Logger
	// ReadHeader bounds the reading of a request's header: 1 s. Read bounds all of the request: 10 s.
	ReadHeader, Read time.Duration
	// Idle bounds the wait for the next request on a connection: 60 s.
	Idle time.Duration
	// Write bounds the answer; 0 means never, which event streams need.
	Write time.Duration
	// MaxHeader bounds a request's header: 60,000 bytes.
	MaxHeader int
	// MaxConns bounds the open connections; further ones wait to be accepted. 0 is no bound.
	MaxConns int
	// Linger is how long requests are still taken after the stop, so that balancers, whom /readyz tells to leave, have left: 0 s.
	Linger time.Duration
	// Grace is how long running requests are left alone after the stop; then their contexts end, which stops streams and waits: 0 s.
	Grace time.Duration
	// Drain is how long running requests may take in all after the stop: 5 s, and never less than Grace.
	Drain time.Duration
}

// Listen opens a TCP port. Its error is one line that says what to do.
func Listen(addr string) (net.Listener, error) {
	listener, err := net.Listen("tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("address %s is in use: stop the other program or choose another port", addr)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("address %s is not allowed for this user: choose a port above 1023", addr)
	case err != nil:
		return nil, fmt.Errorf("cannot listen on %s: %w", addr, err)
	}
	return listener, nil
}

// Serve answers requests until the context ends, then lets running ones finish, and returns nil after that. It closes the listener.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler, options Options) error {
	// Requests outlive the context by the grace.
	requests, endRequests := context.WithCancel(context.WithoutCancel(ctx))
	defer endRequests()
	server := newServer(handler, options)
	server.BaseContext = func(net.Listener) context.Context { return requests }
	server.RegisterOnShutdown(func() { time.AfterFunc(options.Grace, endRequests) })

	if options.MaxConns > 0 {
		listener = netutil.LimitListener(listener, options.MaxConns)
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve %s: %w", listener.Addr(), err)
	case <-ctx.Done():
	}
	if options.Linger > 0 {
		select {
		case err := <-failed:
			return fmt.Errorf("serve %s: %w", listener.Addr(), err)
		case <-time.After(options.Linger):
		}
	}
	drain, stop := context.WithTimeout(context.WithoutCancel(ctx), max(orElse(options.Drain, 5*time.Second), options.Grace))
	defer stop()
	if err := server.Shutdown(drain); err != nil {
		return errors.Join(fmt.Errorf("some requests did not finish: %w", err), server.Close())
	}
	return nil
}

func newServer(handler http.Handler, options Options) *http.Server {
	log := options.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &http.Server{
		Handler:           Wrap(handler, log),
		ReadHeaderTimeout: orElse(options.ReadHeader, time.Second),
		ReadTimeout:       orElse(options.Read, 10*time.Second),
		WriteTimeout:      options.Write,
		IdleTimeout:       orElse(options.Idle, time.Minute),
		MaxHeaderBytes:    orElse(options.MaxHeader, 60_000),
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

func orElse[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}
