package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"sync"

	devnetapp "github.com/gavel-relay/gavel/devnet/app"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/serve"
)

// ErrLabGone means that a service has ended because its lab is gone.
var ErrLabGone = errors.New("the lab is gone")

// Serve runs a service of a scenario in this process. It reads the service's configuration and then
// the lab's orders from in, and writes reports to out. It ends when the lab orders it or the
// context ends. If the lab is gone, it ends at once with ErrLabGone.
func Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	lines := json.NewDecoder(in)
	var cfg serviceConfig
	if err := lines.Decode(&cfg); err != nil {
		return fmt.Errorf("read what to serve: %w", err)
	}
	level := slog.LevelInfo
	if cfg.Debug {
		level = slog.LevelDebug
	}
	c := &child{
		cfg: &cfg, right: clock.NewFast(cfg.Clock.Origin, cfg.Clock.Speed), out: json.NewEncoder(out),
		log: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})),
	}
	c.clock = &skewed{right: c.right, off: cfg.Clock.Skew}
	c.obey(order{StartedNs: cfg.Clock.StartedNs})
	running, stop := context.WithCancel(ctx)
	defer stop()
	gone, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		if c.listen(lines) {
			stop()
		} else {
			close(gone)
		}
	}()
	go func() { ended <- c.serve(running) }()
	select {
	case err := <-ended:
		if err != nil {
			c.report(report{Ended: err.Error()})
		}
		return err
	case <-gone: // the lab is dead, so nothing waits for an orderly end
		return ErrLabGone
	}
}

// child is this process, which runs a service of a lab.
type child struct {
	cfg   *serviceConfig
	right *clock.Fast
	clock *skewed
	log   *slog.Logger

	mu  sync.Mutex // guards out: reports must not mix
	out *json.Encoder
}

// listen obeys the lab's orders. It returns true after the order to stop, and false if the lab is
// gone.
func (c *child) listen(lines *json.Decoder) bool {
	for {
		var said order
		if err := lines.Decode(&said); err != nil {
			return false
		}
		if said.Stop {
			return true
		}
		c.obey(said)
	}
}

func (c *child) obey(said order) {
	if said.StartedNs != 0 {
		c.right.StartAt(past(said.StartedNs))
	}
	switch {
	case said.Skew == nil:
	case said.Jump:
		c.clock.jump(*said.Skew)
	default:
		c.clock.set(*said.Skew)
	}
}

// report sends a report to the lab. It ignores errors: if the lab is gone, listen notices it.
func (c *child) report(what report) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.out.Encode(what)
}

// tell reports a fact to the lab.
func (c *child) tell(subject string, fact any) {
	raw, err := json.Marshal(fact)
	if err != nil {
		c.log.Error("a fact cannot be told", "subject", subject, "error", err)
		return
	}
	c.report(report{Subject: subject, Fact: raw})
}

// serve listens before it opens the service, so that an address in use is reported at once.
func (c *child) serve(ctx context.Context) error {
	listener, err := c.door()
	if err != nil {
		return err
	}
	service, err := c.open(ctx)
	if err != nil {
		if listener != nil {
			err = errors.Join(err, listener.Close())
		}
		return err
	}
	c.report(report{Ready: true})
	return errors.Join(service.Serve(ctx, listener), service.Close())
}

// door returns the listener of the service. It is nil for a journal's server, which listens by
// itself.
func (c *child) door() (net.Listener, error) {
	if c.cfg.Journal != nil {
		return nil, nil // see the function's comment
	}
	listener, err := serve.Listen(c.cfg.Address)
	if err == nil && c.cfg.Narrow {
		listener = newNarrow(listener)
	}
	return listener, err
}

// open opens the kind of service for which there is a configuration. The services know the network
// by URLs only.
func (c *child) open(ctx context.Context) (devnetapp.Service, error) {
	switch cfg := c.cfg; {
	case cfg.Relay != nil:
		return devnetapp.OpenRelay(ctx, *cfg.Relay, c.env())
	case cfg.RPC != nil:
		return devnetapp.OpenRPC(ctx, *cfg.RPC, c.env())
	case cfg.Stream != nil:
		return devnetapp.OpenStream(ctx, *cfg.Stream, c.env())
	case cfg.Journal != nil:
		return c.openJournal()
	default:
		return nil, errors.New("the lab has not said what to serve")
	}
}
