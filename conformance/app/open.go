package app

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
)

// Source says where the target of a run is, or what to start as one.
type Source struct {
	// Local starts gavel's own services in this process.
	Local bool
	// Instances is how many there are of each of them that has usual settings, behind a balancer; 0 is
	// one.
	Instances int
	// Target is a target by its addresses or with its containers; nil for gavel's own services.
	Target *target.Target
	// Image is the image of gavel's own services, or what ${IMAGE} stands for in Target's containers.
	Image string
	// InProcess permits to judge gavel's own services of this build, in this process, where no engine
	// could start the image.
	InProcess bool
	// Literal starts Image's services in literal mode too.
	Literal bool
	// World is the world of services that are started here, and Budgets are those of gavel's own in
	// this process.
	World   world.Config
	Budgets target.Budgets
	// LogDir is the folder in which containers' logs are written at the end; empty for none.
	LogDir string
	// Notes receives what a person who waits wants to know.
	Notes io.Writer
}

// UnusableError means that a target cannot be judged, because it could not be started or reached.
type UnusableError struct{ error }

// Unwrap returns the cause.
func (e UnusableError) Unwrap() error { return e.error }

// Opened is a target that can be judged.
type Opened struct {
	Target *target.Target
	// World is the target's world if it is in this process; nil otherwise.
	World *world.World
}

// Open finds the target, or starts it. End stops what was started; it is never nil.
func Open(ctx context.Context, s Source) (o Opened, end func(), err error) {
	if s.Local {
		return openLocal(ctx, s)
	}
	if s.startsBuilder() {
		s.World.BlobsLater, s.World.Accounts = true, builderAccounts
		return openWorld(ctx, s)
	}
	o.Target, end, err = open(ctx, s)
	return o, end, err
}

// builderAccounts is how many accounts a world has in which nobody but a builder needs one.
const builderAccounts = 16

// startsBuilder says whether the run starts a builder, which needs a world to bid in, and has none.
func (s Source) startsBuilder() bool {
	return s.Target != nil && s.Target.Builder != nil && !s.Target.Builder.Running && s.Target.Chain.WorldURL == ""
}

// openWorld starts a world for a target that is started later, or that will follow it by itself.
// The target may be nil.
func openWorld(ctx context.Context, s Source) (o Opened, end func(), err error) {
	end = func() {}
	w, err := world.New(s.World)
	if err != nil {
		return o, end, Mistake("%v", err)
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	o.World = w
	if s.Target != nil {
		t := *s.Target
		t.Chain.WorldURL, o.Target = w.URL, &t
	}
	w.Start()
	return o, func() {
		stop()
		if err := errors.Join(<-ended, w.Close()); err != nil {
			fmt.Fprintln(s.Notes, err)
		}
	}, nil
}

// open finds a target elsewhere, or starts its containers.
func open(ctx context.Context, s Source) (t *target.Target, end func(), err error) {
	end = func() {}
	t = s.Target
	if t != nil && t.Commanded() {
		if s.Image != "" {
			return nil, end, Mistake("the relay is started by its command, so it needs no image")
		}
		return openCommand(ctx, s)
	}
	if s.Literal && (t != nil || s.Image == "") {
		return nil, end, Mistake("literal is for our own image: a target file names its literal instances itself")
	}
	if t == nil {
		if t, err = GavelInContainers(s.Literal); err != nil {
			return nil, end, Mistake("%v", err)
		}
	}
	switch {
	case len(t.Containers) == 0 && s.Image != "":
		return nil, end, Mistake("the target has no containers, so it needs no image")
	case len(t.Containers) == 0:
		return t, end, nil
	}
	engine, err := OpenEngine(ctx)
	if errors.Is(err, ErrNoEngine) && s.Target == nil {
		err = fmt.Errorf("%w; --in-process judges the services of this build instead, and not the image", err)
	}
	if err != nil {
		return nil, end, UnusableError{err}
	}
	started, err := engine.StartInWorld(ctx, t, s.Image, s.World, s.Notes)
	if err != nil {
		return nil, end, UnusableError{err}
	}
	return started.Target, func() { started.Stop(s.LogDir) }, nil
}

// standIn has gavel's services of this build judged, in this process, if that is permitted and no
// engine could start their image.
func (s *Source) standIn(ctx context.Context) {
	if !s.InProcess || s.Target != nil || s.Image == "" {
		return
	}
	if _, err := OpenEngine(ctx); errors.Is(err, ErrNoEngine) {
		fmt.Fprintf(s.Notes, "%v\ngavel's services of this build are judged, in this process, and not %s\n", err, s.Image)
		s.Local = true
	}
}

// openLocal starts gavel's own services in a world of their own. An error of their end changes no
// verdict; it is only noted.
func openLocal(ctx context.Context, s Source) (Opened, func(), error) {
	local, err := StartLocal(ctx, s.World, s.Budgets, s.Instances)
	if err != nil {
		return Opened{}, func() {}, fmt.Errorf("start the devnet: %w", err)
	}
	return Opened{local.Target, local.world}, func() {
		if err := local.Stop(); err != nil {
			fmt.Fprintln(s.Notes, err)
		}
	}, nil
}
