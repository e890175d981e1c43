package app

import (
	"cmp"
	"context"
	"io"
	"time"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/mutant/overlay"
	"github.com/gavel-relay/gavel/conformance/report"
	"github.com/gavel-relay/gavel/conformance/scripted"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/internal/eth"
)

// Judgement is a run as a person asks for it: what is judged and how, what makes it wrong on
// purpose, and what is written about it.
type Judgement struct {
	Options Options
	Source  Source
	// Mutant stands between suite and target; empty for none. Inside are mutants inside gavel's own
	// services.
	Mutant string
	Inside []string
	// RelaysListen is where the first relay of a sidecar listens. Empty means any free port, and
	// 127.0.0.1:9200 for a sidecar that runs already, since it must know the port.
	RelaysListen string
	// BuilderPatience bounds how long a builder may take until it asks a relay for anything; 0 means
	// half a minute.
	BuilderPatience time.Duration
	// SidecarSlot is the length of a slot in the network of a sidecar. 0 means that of the world, and
	// mainnet's for a sidecar that runs already.
	SidecarSlot time.Duration
	// Out is the folder of the report; empty for none.
	Out string
	// WriteExpected is the file in which failures become expectations, with Reason and the last day
	// (Until); empty for none.
	WriteExpected, Reason, Until string
	// Said receives the table of the report.
	Said io.Writer
}

// Run starts what the run needs, runs the suite, and writes the report. An outcome other than
// conformant is a Status.
func (j Judgement) Run(ctx context.Context) error {
	if err := j.check(); err != nil {
		return err
	}
	if err := j.switchMutants(); err != nil {
		return err
	}
	options := j.Options
	options.Killers = Killers()
	j.Source.standIn(ctx)
	ByOwnClock(&j.Source, &options)
	opened, end, err := Open(ctx, j.Source)
	if err != nil {
		return err
	}
	defer end()
	options.Target = opened.Target
	var endBuilder func()
	if options.Auctions, endBuilder, err = j.openBuilder(ctx, opened, options); err != nil {
		return err
	}
	defer endBuilder()
	var endSidecar func()
	if options.Relays, endSidecar, err = OpenSidecar(ctx, options.Target, j.relaysNetwork(options.Target),
		j.relaysListen(options.Target), j.Source.Notes); err != nil {
		return err
	}
	defer endSidecar()
	var endConsensus func()
	if options.Proposals, endConsensus, err = j.openConsensus(ctx, options); err != nil {
		return err
	}
	defer endConsensus()
	stop, err := Mutate(ctx, &options, j.beforeTarget())
	if err != nil {
		return err
	}
	defer stop()
	r, err := Run(ctx, options)
	if err != nil {
		return err
	}
	return j.write(r)
}

// check returns what is wrong with the run before anything is started.
func (j Judgement) check() error {
	switch {
	case j.Options.Retries < 0 || j.Options.Deadline < 0:
		return Mistake("retries and deadline are not below 0")
	case j.Options.Again && j.Source.Local:
		return Mistake("again is for targets that go by the wall clock: --devnet runs by a clock of its own, and no " +
			"spec misses its time there")
	case j.Source.World.HasGloas() && isClientOfRelays(j.Source.Target):
		return Mistake("sidecars, builders and consensus clients have no clauses of gloas yet: give an earlier --fork")
	case j.WriteExpected != "":
		return CheckExpected(j.Reason, j.Until)
	}
	return nil
}

// isClientOfRelays says whether a target asks relays, or sends them blocks.
func isClientOfRelays(t *target.Target) bool {
	return t != nil && (t.Sidecar != nil || t.Builder != nil || t.Consensus != nil)
}

// switchMutants switches mutants on inside the services that this process starts afterwards.
func (j Judgement) switchMutants() error {
	if len(j.Inside) == 0 {
		return nil
	}
	t := j.Source.Target
	own := t != nil && (t.Sidecar != nil && t.Sidecar.Own || t.Consensus != nil && t.Consensus.Own)
	if !j.Source.Local && !own {
		return Mistake("a mutant of --inside is in our own services: give --devnet, --sidecar gavel or --consensus " +
			"gavel, or --mutant for one before a target")
	}
	for _, id := range j.Inside {
		if _, err := overlay.Find(id); err != nil {
			return Mistake("%v: see gavel-lab conformance prove --list", err)
		}
	}
	if err := overlay.Switch(j.Inside...); err != nil {
		return Mistake("%v", err)
	}
	return nil
}

// beforeTarget is the mutant that stands before the target, and not between a builder and relays.
func (j Judgement) beforeTarget() string {
	if BeforeRelays(j.Mutant) {
		return ""
	}
	return j.Mutant
}

// openBuilder opens the relays of a target that is a builder, and starts the builder if it does not
// run already. Nothing is opened if the selection has no clause of builders.
func (j Judgement) openBuilder(ctx context.Context, o Opened, options Options) (*scripted.Auctions, func(), error) {
	if o.Target.Builder == nil {
		return nil, func() {}, nil
	}
	if dumb[j.Mutant] != 0 { // it answers, and builders ask
		o.Target.Builder = nil
		return nil, func() {}, nil
	}
	wanted, err := options.wantsInterface("builder")
	if err != nil || !wanted {
		return nil, func() {}, err
	}
	s := BuilderSource{World: o.World, Clock: options.Clock, Listen: j.RelaysListen,
		Patience: j.BuilderPatience, Log: j.Source.Notes}
	if s.Listen == "" && o.Target.Builder.Running {
		s.Listen = "127.0.0.1:9200"
	}
	if BeforeRelays(j.Mutant) {
		s.Mutant = j.Mutant
	}
	return OpenBuilder(ctx, o.Target, s)
}

// openConsensus opens the relays of a target that is a consensus client. Nothing is opened if the
// selection has no clause of consensus clients.
func (j Judgement) openConsensus(ctx context.Context, options Options) (*scripted.Proposals, func(), error) {
	if options.Target.Consensus != nil && dumb[j.Mutant] != 0 { // it answers, and consensus clients ask
		options.Target.Consensus = nil
	}
	wanted, err := options.wantsInterface("consensus")
	if err != nil || !wanted {
		return nil, func() {}, err
	}
	listen := j.RelaysListen
	if listen == "" && !options.Target.Consensus.Own {
		listen = "127.0.0.1:9200"
	}
	return OpenConsensus(ctx, options.Target, cmp.Or(j.Source.World.Fork, eth.Fulu), listen, j.Source.Notes)
}

// relaysNetwork returns the network in which a sidecar is judged. Its genesis is mainnet's.
func (j Judgement) relaysNetwork(t *target.Target) scripted.Network {
	n := scripted.Mainnet(j.Source.World.Fork)
	switch {
	case j.SidecarSlot != 0:
		n.Slot = j.SidecarSlot
	case t.Sidecar == nil || t.Sidecar.URL == "":
		n.Slot = j.Source.World.Slot
	}
	return n
}

// relaysListen returns where the first of a sidecar's relays listens; empty for any free port.
func (j Judgement) relaysListen(t *target.Target) string {
	if j.RelaysListen != "" || t.Sidecar == nil || t.Sidecar.URL == "" {
		return j.RelaysListen
	}
	return "127.0.0.1:9200"
}

// write writes the report in all forms that are asked for, and prints its table.
func (j Judgement) write(r *report.Report) error {
	if j.Out != "" {
		if err := r.WriteAll(j.Out); err != nil {
			return err
		}
	}
	if j.WriteExpected != "" {
		if err := WriteExpected(j.WriteExpected, r, j.Reason, j.Until); err != nil {
			return err
		}
	}
	if err := r.Table(j.Said); err != nil {
		return err
	}
	if r.Exit != clauses.Conformant {
		return Status{r.Exit, r.Outcome()}
	}
	return nil
}
