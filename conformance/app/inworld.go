package app

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/mutant"
	"github.com/gavel-relay/gavel/conformance/mutant/overlay"
	"github.com/gavel-relay/gavel/conformance/world"
)

// ListMutants prints all mutants, each with the clauses that must notice it.
func ListMutants(out io.Writer) error {
	for _, m := range slices.Concat(mutant.All(), mutant.InServices()) {
		what := m.What
		if m.Blanket() {
			what += " (blanket: proves no clause)"
		}
		if _, err := fmt.Fprintf(out, "%-60s %-9s %s: %s\n", m.ID, m.Iface, what, strings.Join(m.MustKill, " ")); err != nil {
			return err
		}
	}
	return nil
}

// InWorld starts a world with gavel's services, proves the suite on them, and prints what it has
// found. A mutant that is not noticed, and a right target that does not pass, are a Status.
func (p Proof) InWorld(ctx context.Context, of world.Config, notes io.Writer) error {
	if of.HasGloas() {
		return Mistake("clauses of gloas get worlds of the fork by themselves: give an earlier --fork for the others")
	}
	if err := p.check(); err != nil {
		return err
	}
	p.sayLeftOut()
	right, end, err := Open(ctx, Source{Local: true, World: of, Notes: notes})
	if err != nil {
		return err
	}
	defer end()
	p.Target = right.Target
	began := time.Now()
	result, err := p.Prove(ctx)
	if err != nil {
		return err
	}
	if len(result.Wrong) > 0 {
		return Status{clauses.SuiteFault, "the right target does not pass, so nothing can be proven: " +
			strings.Join(result.Wrong, "; ")}
	}
	for _, id := range slices.Sorted(maps.Keys(result.Unnoticed)) {
		fmt.Fprintf(p.Out, "%s does not notice %s\n", id, strings.Join(result.Unnoticed[id], ", "))
	}
	fmt.Fprintf(p.Out, "\n%d mutants%s killed, %d survived, in %s, of which %s for those inside our services\n",
		len(result.Killed), p.Shard.ofAll(), len(result.Survived), time.Since(began).Round(time.Second),
		result.InsideTook.Round(time.Second))
	if missed := slices.Concat(result.Survived, result.TooEasy); len(missed) > 0 {
		return Status{clauses.Nonconformant, "the suite did not notice: " + strings.Join(missed, "; ")}
	}
	return nil
}

// check returns what is wrong with the ids of mutants.
func (p Proof) check() error {
	for _, id := range p.Only {
		_, notInside := overlay.Find(id)
		_, found := mutant.Find(id)
		switch {
		case notInside == nil && p.Mutants == "":
			return Mistake("%s is inside our services: give --mutants-program", id)
		case notInside != nil && !found:
			return Mistake("there is no mutant %s: see gavel-lab conformance prove --list", id)
		}
	}
	return nil
}

// sayLeftOut prints that the mutants inside the services are left out, if no program has them.
func (p Proof) sayLeftOut() {
	if p.Mutants == "" {
		fmt.Fprintf(p.Out, "%d mutants inside our services are left out. make prove runs them too, by a program that is "+
			"built for it:\n"+
			"  go build -overlay $(bin/gavel-lab conformance overlay) -o bin/gavel-lab-mutants ./cmd/gavel-lab\n  "+
			"bin/gavel-lab conformance prove --mutants-program bin/gavel-lab-mutants\n", len(overlay.All))
	}
}
