package servetest

import (
	"context"
	"net"
	"sync"
)

// Pipes is a listener whose connections are in memory, so that they follow the clock of a
// testing/synctest bubble.
type Pipes struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

// NewPipes opens a listener.
func NewPipes() *Pipes { return &Pipes{conns: make(chan net.Conn), closed: make(chan struct{})} }

// Accept implements net.Listener.
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (p *Pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

// Addr implements net.Listener.
func (p *Pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

// Dial returns the client's end of a connection after the server has accepted the other end.
func (p *Pipes) Dial() net.Conn {
	mine, theirs := net.Pipe()
	p.conns <- theirs
	return mine
}

// DialContext is Dial for an http.Transport.
func (p *Pipes) DialContext(context.Context, string, string) (net.Conn, error) { return p.Dial(), nil }
