package main

import (
	"context"
	"errors"
	"os"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/stream/app"
)

// serveStream opens the listeners first, so that a port in use is reported at once. Then it opens
// the service, and serves it until the context ends.
func serveStream(ctx context.Context, cfg streamConfig) error {
	log, err := run.NewLogger(os.Stderr, cfg.log)
	if err != nil {
		return run.Usage(err)
	}
	doors, err := openDoors(cfg.listen, cfg.adminListen, "")
	if err != nil {
		return err
	}
	defer doors.close()
	cfg.stream.Log = log
	var service *app.App
	err = doors.whileOpening("its stores", func(tell func(string)) (err error) {
		cfg.stream.Journal.Waiting = tell
		service, err = app.New(ctx, cfg.stream)
		return err
	})
	if err != nil {
		return err
	}
	defer logStop(ctx, log, "stream")()
	log.Info("stream serves", "address", doors.public.Addr().String(), "admin", cfg.adminListen, "network",
		cfg.stream.Network)
	return errors.Join(doors.serve(ctx, service), service.Close())
}
