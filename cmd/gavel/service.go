package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"

	"github.com/urfave/cli/v3"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/internal/serve"
)

// serviceAction makes the action of a service's command: it reads the configuration file and the
// flags, and starts the service, or prints the settings in force. About describes in comments what
// no flag shows.
func serviceAction[C any](
	read func(*cli.Command, func(string) string) (C, error), about func(C) string, start func(context.Context, C) error,
) cli.ActionFunc {
	return func(ctx context.Context, cmd *cli.Command) error {
		if err := run.ApplyConfigFile(cmd); err != nil {
			return err
		}
		cfg, err := read(cmd, os.Getenv)
		if err != nil {
			return run.Usage(err)
		}
		if cmd.Bool("print-config") {
			_, err := fmt.Fprint(cmd.Root().Writer, effectiveConfig(cmd, about(cfg)))
			return err
		}
		return start(ctx, cfg)
	}
}

// doors are the listeners of a service: a public one, one for the operator unless there is none,
// and one for proposers if a relay has it. They are opened before everything else, so that a port
// in use is reported at once.
type doors struct{ public, admin, proposers net.Listener }

func openDoors(public, admin, proposers string) (d doors, err error) {
	for _, door := range []struct {
		listener *net.Listener
		address  string
	}{{&d.public, public}, {&d.admin, admin}, {&d.proposers, proposers}} {
		if door.address == "" {
			continue
		}
		if *door.listener, err = serve.Listen(door.address); err != nil {
			d.close()
			return d, err
		}
	}
	return d, nil
}

// all returns the listeners that are open.
func (d doors) all() (open []net.Listener) {
	for _, listener := range []net.Listener{d.public, d.admin, d.proposers} {
		if listener != nil {
			open = append(open, listener)
		}
	}
	return open
}

// close closes all listeners. It is for a service that could not be opened: a service that runs
// closes its listeners itself.
func (d doors) close() {
	for _, listener := range d.all() {
		_ = listener.Close() // its server has closed it, or it never had one
	}
}

// service answers at the listeners. Both methods return nil after an orderly stop.
type service interface {
	// Serve answers requests until the context ends, and then stops in good order.
	Serve(ctx context.Context, listener net.Listener) error
	// ServeAdmin answers the operator until the context ends.
	ServeAdmin(ctx context.Context, listener net.Listener) error
}

// serve runs a service until the context ends. If one listener fails, the other is stopped too.
func (d doors) serve(ctx context.Context, s service) error {
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return s.Serve(ctx, d.public) })
	if d.admin != nil {
		group.Go(func() error { return s.ServeAdmin(ctx, d.admin) })
	}
	return group.Wait()
}

// logStop logs when a service is asked to stop, and why. The function that it returns logs that the
// service has stopped.
func logStop(ctx context.Context, log *slog.Logger, service string) (stopped func()) {
	forget := context.AfterFunc(ctx, func() { log.Info(service+" stops", "because", context.Cause(ctx)) })
	return func() {
		forget()
		log.Info(service + " has stopped")
	}
}

// listIn reads the list in the file that a flag names. It returns nil if the flag names none.
func listIn[T any](flag, path string, parse func([]byte) ([]T, error)) ([]T, error) {
	if path == "" {
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", flag, err)
	}
	list, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", flag, path, err)
	}
	return list, nil
}
