package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/local"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/target/container"
	"github.com/gavel-relay/gavel/conformance/verdict"
	"github.com/gavel-relay/gavel/conformance/world"
)

// openTarget finds the target, or starts it. End stops what was started; it is never nil.
func openTarget(ctx context.Context, cmd *cli.Command) (t *target.Target, end func(), err error) {
	end = func() {}
	of, err := worldOf(cmd)
	if err != nil {
		return nil, end, err
	}
	of.BlobsLater = len(cmd.StringSlice("inside")) > 0
	if cmd.Bool("devnet") {
		return inProcess(ctx, of)
	}
	image := cmd.String("image")
	ours := image != "" && cmd.String("target")+cmd.String("relay")+cmd.String("stream")+cmd.String("rpc") == ""
	if ours {
		t, err = container.Gavel()
	} else {
		t, err = targetOf(cmd)
	}
	switch {
	case err != nil:
		return nil, end, app.Mistake("%v", err)
	case len(t.Containers) == 0 && image != "":
		return nil, end, app.Mistake("the target has no containers, so it needs no image")
	case len(t.Containers) == 0:
		return t, end, nil
	}
	engine, err := container.Open(ctx)
	if errors.Is(err, container.ErrNoEngine) && ours {
		fmt.Fprintf(os.Stderr, "%v\ngavel's services of this build are judged, in this process, and not %s\n", err, image)
		return inProcess(ctx, of)
	}
	if err != nil {
		return nil, end, status{verdict.Unusable, err.Error()}
	}
	started, err := startContainers(ctx, engine, t, image, of, os.Stderr)
	if err != nil {
		return nil, end, status{verdict.Unusable, err.Error()}
	}
	return started.Target, func() { started.stop(cmd.String("out"), os.Stderr) }, nil
}

// inProcess starts gavel's own services in a world of their own.
func inProcess(ctx context.Context, of world.Config) (*target.Target, func(), error) {
	lab, err := local.Start(ctx, of)
	if err != nil {
		return nil, func() {}, fmt.Errorf("start the devnet: %w", err)
	}
	return lab.Target, func() { stopLab(lab) }, nil
}

// contained is a target in containers with its network and the world that it follows.
type contained struct {
	*container.Running

	network *container.Network
	world   *world.World
	ended   chan error
	stops   context.CancelFunc
}

// startContainers starts a world at an address that containers reach, and then the target's
// containers.
func startContainers(ctx context.Context, engine *container.Docker, t *target.Target, image string, of world.Config,
	log io.Writer) (_ *contained, err error) {
	began := time.Now()
	network, err := engine.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &contained{network: network, ended: make(chan error, 1), stops: func() {}, Running: new(container.Running)}
	defer func() {
		if err != nil {
			c.stop("", log)
		}
	}()
	// Only the suite may control the world, so that interface listens where containers do not reach
	// it.
	of.Host, of.Listen = network.Listen, "127.0.0.1:0"
	if c.world, err = world.New(of); err != nil {
		return nil, fmt.Errorf("open the world: %w", err)
	}
	worldCtx, stop := context.WithCancel(context.WithoutCancel(ctx)) // it ends after the containers
	c.stops = stop
	go func() { c.ended <- c.world.Run(worldCtx) }()
	words, err := container.Words(c.world.Facts, network.Reach)
	if err != nil {
		return nil, err
	}
	if image != "" {
		words["IMAGE"] = image
	}
	running, err := container.Start(ctx, network, t, words)
	if err != nil {
		return nil, err
	}
	c.Running = running
	c.Target.Chain.WorldURL = c.world.URL
	fmt.Fprintf(log, "%d containers started in %s\n", len(t.Containers), time.Since(began).Round(100*time.Millisecond))
	return c, nil
}

// stop ends the containers and then their world, even if the run was cancelled. It writes the
// containers' logs into the folder of the report, if there is one. An error changes no verdict; it
// is only printed.
func (c *contained) stop(out string, log io.Writer) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var failures []error
	if out != "" {
		failures = append(failures, c.WriteLogs(ctx, filepath.Join(out, "logs")))
	}
	failures = append(failures, c.Stop(ctx))
	if c.stops(); c.world != nil {
		failures = append(failures, <-c.ended, c.world.Close())
	}
	failures = append(failures, c.network.Remove(ctx))
	if err := errors.Join(failures...); err != nil {
		fmt.Fprintf(log, "end the containers: %v\n", err)
	}
}
