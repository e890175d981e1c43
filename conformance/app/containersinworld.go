package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
)

// InWorld is a target in containers with its network and the world that it follows.
type InWorld struct {
	*RunningContainers

	network *Network
	world   *world.World
	ended   chan error
	stops   context.CancelFunc
	log     io.Writer
}

// StartInWorld starts a world at an address that containers reach, and then the target's
// containers. Image is what ${IMAGE} stands for; it may be empty. The log receives what a person
// who waits wants to know. The caller must call Stop.
func (d *Docker) StartInWorld(ctx context.Context, t *target.Target, image string, of world.Config,
	log io.Writer) (_ *InWorld, err error) {
	began := time.Now()
	network, err := d.Connect(ctx)
	if err != nil {
		return nil, err
	}
	c := &InWorld{network: network, ended: make(chan error, 1), stops: func() {},
		RunningContainers: new(RunningContainers), log: log}
	defer func() {
		if err != nil {
			c.Stop("")
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
	words, err := WorldWords(c.world.Facts, network.Reach)
	if err != nil {
		return nil, err
	}
	if image != "" {
		words["IMAGE"] = image
	}
	running, err := StartContainers(ctx, network, t, words)
	if err != nil {
		return nil, err
	}
	c.RunningContainers = running
	c.Target.Chain.WorldURL = c.world.URL
	fmt.Fprintf(log, "%d containers started in %s\n", len(t.Containers), time.Since(began).Round(100*time.Millisecond))
	return c, nil
}

// Stop ends the containers and then their world, even if the run was cancelled. It writes the
// containers' logs into the folder logs below out, unless out is empty. An error changes no
// verdict; it is only logged.
func (c *InWorld) Stop(out string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var failures []error
	if out != "" {
		failures = append(failures, c.WriteLogs(ctx, filepath.Join(out, "logs")))
	}
	failures = append(failures, c.RunningContainers.Stop(ctx))
	if c.stops(); c.world != nil {
		failures = append(failures, <-c.ended, c.world.Close())
	}
	failures = append(failures, c.network.Remove(ctx))
	if err := errors.Join(failures...); err != nil {
		fmt.Fprintf(c.log, "end the containers: %v\n", err)
	}
}
