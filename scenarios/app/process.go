package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"github.com/gavel-relay/gavel/devnet/fault"
	"github.com/gavel-relay/gavel/internal/serve"
)

// process is a service of the lab as its operator sees it: it can be killed, and started again at its address with what it has on disk. It is
// safe for concurrent use.
//
//	start ─▶ listen at the address, open ─▶ serve … kill ─▶ told to stop, waited for ─▶ closed ─▶ start
type process struct {
	name    string
	address string // host:port; the same in every life
	// open makes a new life of the service.
	open func(context.Context) (service, error)
	// wrap, if set, changes the listener of each life.
	wrap func(net.Listener) net.Listener

	mu    sync.Mutex // guards what follows
	stop  context.CancelFunc
	ended chan error // of the present life; nil while there is none
}

// service is one life of a process.
type service interface {
	// Serve answers until the context ends, and closes the listener; nil after an orderly stop.
	Serve(ctx context.Context, listener net.Listener) error
	Close() error
}

// newProcess has an address of its own, but does not run.
func newProcess(name string, open func(context.Context) (service, error)) (*process, error) {
	address, err := fault.Address()
	return &process{name: name, address: address, open: open}, err
}

// url is where the process is met, in every life.
func (p *process) url() string { return "http://" + p.address }

// start lets the service serve until the context ends or kill, unless it does already.
func (p *process) start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended != nil {
		return nil
	}
	listener, err := serve.Listen(p.address)
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	if p.wrap != nil {
		listener = p.wrap(listener)
	}
	life, err := p.open(ctx)
	if err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", p.name, err), listener.Close())
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	p.stop, p.ended = stop, ended
	go func() { ended <- errors.Join(life.Serve(running, listener), life.Close()) }()
	return nil
}

// kill stops the service and waits until it is gone; without one that runs it does nothing. The error is what the service ended with, if it was not
// in order.
func (p *process) kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended == nil {
		return nil
	}
	p.stop()
	err := <-p.ended
	p.ended = nil
	if err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("stop %s: %w", p.name, err)
	}
	return nil
}
