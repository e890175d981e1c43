package run

import (
	"context"

	"golang.org/x/sync/errgroup"
)

// Together runs parts until the context ends or one of them fails. A failure ends the other parts,
// and is Together's error. An error that a part returns after its context has ended does not count.
func Together(ctx context.Context, parts ...func(context.Context) error) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, part := range parts {
		group.Go(func() error {
			err := part(ctx)
			if ctx.Err() != nil {
				return nil
			}
			return err
		})
	}
	return group.Wait()
}

// Behind runs a server until the context ends, and the parts that its requests need until the
// server has finished its requests. A part that fails ends the server. The error is the first
// failure; nil after an orderly stop.
//
//	context ends ─▶ serve lets running requests finish, and returns ─▶ the parts' context ends ─▶ they return
func Behind(ctx context.Context, serve func(context.Context) error, parts ...func(context.Context) error) error {
	behind, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	group, behind := errgroup.WithContext(behind)
	group.Go(func() error {
		defer stop()
		serving, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(behind, cancel)()
		return serve(serving)
	})
	group.Go(func() error { return Together(behind, parts...) })
	return group.Wait()
}
