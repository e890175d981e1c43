package fault

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"sync"
	"time"

	"github.com/gavel-relay/gavel/devnet/network"
)

// Proxy stands in front of one service. It is safe for concurrent use.
type Proxy struct {
	address string
	wire    string       // the service's host:port, if bytes are carried and not requests
	server  *http.Server // nil with a wire
	forward *httputil.ReverseProxy
	closed  chan struct{}

	mu        sync.Mutex   // guards the fields below
	listener  net.Listener // nil while connections are refused
	condition Condition
	changed   chan struct{} // Set closes and replaces it
	random    *rand.Rand
	open      map[net.Conn]bool // connections of clients and to the service
}

// Listen opens a proxy on a free port of 127.0.0.1 in front of the service at a URL. With the same
// seed the same requests are lost and spoiled, if they come in the same order.
func Listen(target string, seed uint64) (*Proxy, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, fmt.Errorf("read target: %w", err)
	}
	listener, err := network.Listen()
	if err != nil {
		return nil, err
	}
	p := &Proxy{
		address: listener.Addr().String(), closed: make(chan struct{}), changed: make(chan struct{}),
		random: rand.New(rand.NewPCG(seed, 0)), open: map[net.Conn]bool{},
	}
	p.forward = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(to)
			r.Out.Host = r.In.Host
		},
		Transport: &http.Transport{DialContext: p.dialContext, DisableCompression: true, MaxIdleConnsPerHost: idleConns},
		// Pass events on as they come, without buffering.
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		// If the service does not answer, the client sees the same: its connection ends without an
		// answer.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	p.server = &http.Server{Handler: http.HandlerFunc(p.serve), ReadHeaderTimeout: headerTimeout,
		ErrorLog: log.New(io.Discard, "", 0)}
	p.accept(listener)
	return p, nil
}

// accept starts the server on a listener; the server stops when the listener is closed.
func (p *Proxy) accept(listener net.Listener) {
	p.listener = listener
	if p.wire != "" {
		go p.carryAll(resetting{listener, p})
		return
	}
	go func() { _ = p.server.Serve(resetting{listener, p}) }()
}

const (
	idleConns     = 64
	headerTimeout = time.Minute
)

// URL returns the base URL at which the proxy listens.
func (p *Proxy) URL() string { return "http://" + p.address }

// Set puts the connection into a condition from now on. If the proxy cannot listen at its address
// again, Set returns an error and the address stays closed.
func (p *Proxy) Set(condition Condition) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.condition = condition
	close(p.changed)
	p.changed = make(chan struct{})
	err := p.listen(!condition.Refuse)
	if condition.Reset || condition.Refuse {
		for conn := range p.open {
			reset(conn)
		}
	}
	return err
}

// listen opens the proxy's address, or closes it. The caller holds mu.
func (p *Proxy) listen(wanted bool) error {
	switch {
	case wanted == (p.listener != nil):
		return nil
	case !wanted:
		err := p.listener.Close()
		p.listener = nil
		if err != nil {
			return fmt.Errorf("close %s: %w", p.address, err)
		}
		return nil
	}
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		return fmt.Errorf("listen again: %w", err)
	}
	p.accept(listener)
	return nil
}

// Condition returns the condition that was set last.
func (p *Proxy) Condition() Condition {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.condition
}

// Close ends the proxy and all connections through it.
func (p *Proxy) Close() error {
	close(p.closed)
	var err error
	if p.server != nil {
		err = p.server.Close()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.server == nil && p.listener != nil {
		err = p.listener.Close()
	}
	for conn := range p.open {
		_ = conn.Close() // many are closed already
	}
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// now returns the condition, and a channel that is closed when it changes.
func (p *Proxy) now() (Condition, <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.condition, p.changed
}

// happens draws, for one request, whether something with this probability happens.
func (p *Proxy) happens(share float64) bool {
	if share <= 0 {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.random.Float64() < share
}

// pass waits while the connection is partitioned. It returns false if done or the proxy is closed
// before the partition ends.
func (p *Proxy) pass(done <-chan struct{}) bool {
	for {
		condition, changed := p.now()
		if !condition.Partition {
			return true
		}
		select {
		case <-changed:
		case <-done:
			return false
		case <-p.closed:
			return false
		}
	}
}

// serve handles one request as the condition says.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	condition := p.Condition()
	if !p.wait(r.Context(), condition.Latency) || !p.pass(r.Context().Done()) {
		panic(http.ErrAbortHandler)
	}
	switch {
	case p.happens(condition.Drop):
		select {
		case <-r.Context().Done():
		case <-p.closed:
		}
		panic(http.ErrAbortHandler)
	case condition.Answer != 0:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(condition.Answer)
		fmt.Fprintf(w, `{"code":%d,"message":"%s"}`, condition.Answer, http.StatusText(condition.Answer))
		return
	case p.happens(condition.Corrupt):
		if r.ContentLength == 0 {
			w = &spoiledAnswer{ResponseWriter: w}
		} else {
			r.Body = &spoiledBody{ReadCloser: r.Body}
		}
	}
	p.forward.ServeHTTP(w, r)
}

// wait waits for a span of wall time. It returns false if the request or the proxy ended before.
func (p *Proxy) wait(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	case <-p.closed:
		return false
	}
}
