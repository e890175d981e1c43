package app

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth"
)

// What runs by a clock of its own needs no second tries: whoever asks for them is told so, before
// anything is started.
func TestAgainIsForTheWallClock(t *testing.T) {
	var usage UsageError
	j := Judgement{Source: Source{Local: true}, Options: Options{Again: true}, Said: io.Discard}
	if err := j.Run(t.Context()); !errors.As(err, &usage) {
		t.Errorf("--devnet --again: %v", err)
	}
}

// In a world of gloas only relays have clauses: whoever judges a client of relays there is told so,
// before anything is started.
func TestClientsOfRelaysHaveNoClausesOfGloas(t *testing.T) {
	for name, of := range map[string]target.Target{
		"sidecar":          {Sidecar: new(target.Sidecar)},
		"builder":          {Builder: new(target.Builder)},
		"consensus client": {Consensus: new(target.Consensus)},
	} {
		for fork, in := range map[string]world.Config{
			"gloas": {Fork: eth.Gloas}, "from gloas on": {Fork: eth.Fulu, Next: eth.Gloas, NextEpoch: 2},
		} {
			var usage UsageError
			j := Judgement{Source: Source{Target: &of, World: in}, Said: io.Discard}
			if err := j.Run(t.Context()); !errors.As(err, &usage) {
				t.Errorf("%s, %s: %v", name, fork, err)
			}
		}
	}
}

// Without an engine gavel's own services stand in for their image, if that is permitted. They run
// by a clock of their own then, and nothing is tried again.
func TestServicesStandInForTheirImage(t *testing.T) {
	t.Setenv("DOCKER_HOST", "unix:///nowhere/docker.sock")
	for name, c := range map[string]struct {
		source Source
		local  bool
	}{
		"permitted":          {Source{Image: "gavel:dev", InProcess: true}, true},
		"not permitted":      {Source{Image: "gavel:dev"}, false},
		"a target of others": {Source{Image: "other:1", InProcess: true, Target: new(target.Target)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			source, options := c.source, Options{Again: true}
			source.Notes, source.World = t.Output(), world.Config{Slot: time.Second}
			source.standIn(t.Context())
			ByOwnClock(&source, &options)
			if source.Local != c.local || options.Again == c.local || (options.Clock != nil) != c.local {
				t.Errorf("local %t, again %t, clock %v", source.Local, options.Again, options.Clock)
			}
		})
	}
}

// Only our own services have mutants inside, and only those of the list.
func TestMutantsInsideAreOurs(t *testing.T) {
	var usage UsageError
	elsewhere := Source{Target: &target.Target{Relay: &target.Relay{ProposerURL: "http://127.0.0.1:1"}}}
	for name, j := range map[string]Judgement{
		"a target elsewhere": {Source: elsewhere, Inside: []string{"relay-any-parent"}},
		"an unknown mutant":  {Source: Source{Local: true}, Inside: []string{"relay-is-blue"}},
	} {
		if err := j.switchMutants(); !errors.As(err, &usage) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
