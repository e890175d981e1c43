package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/mutant"
	"github.com/gavel-relay/gavel/conformance/mutant/overlay"
	"github.com/gavel-relay/gavel/conformance/verdict"
)

func proveCommand() *cli.Command {
	return &cli.Command{
		Name: "prove", Usage: "run the suite against wrong targets, and show that it notices each",
		Flags: append(worldFlags(time.Second),
			&cli.StringSliceFlag{Name: "mutant", Usage: "ids of mutants; all without"},
			&cli.StringSliceFlag{Name: "iface", Usage: "relay, stream, rpc, sidecar"},
			&cli.IntFlag{Name: "parallel", Value: 5, Usage: "how many run at a time"},
			&cli.StringFlag{
				Name: "mutants-program", TakesFile: true,
				Usage: "this program built with the mutants inside our services (make prove does)",
			},
			&cli.BoolFlag{Name: "list", Usage: "list the mutants and end"},
		),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if cmd.Bool("list") {
				for _, m := range slices.Concat(mutant.All(), mutant.InServices()) {
					what := m.What
					if m.Blanket() {
						what += " (blanket: proves no clause)"
					}
					fmt.Printf("%-4s %-6s %s: %s\n", m.ID, m.Iface, what, strings.Join(m.MustKill, " "))
				}
				return nil
			}
			return judged(prove(ctx, cmd))
		},
	}
}

// mutantsProgram returns the path of the program with the mutants inside our services. If there is
// none, it prints that they are left out.
func mutantsProgram(cmd *cli.Command) (string, error) {
	program := cmd.String("mutants-program")
	for _, id := range cmd.StringSlice("mutant") {
		if _, err := overlay.Find(id); err == nil && program == "" {
			return "", app.Mistake("%s is inside our services: give --mutants-program", id)
		}
	}
	if program == "" {
		fmt.Printf("%d mutants inside our services are left out. make prove runs them too, by a program that is built for "+
			"it:\n"+
			"  go build -overlay $(bin/gavel-lab conformance overlay) -o bin/gavel-lab-mutants ./cmd/gavel-lab\n  "+
			"bin/gavel-lab conformance prove --mutants-program bin/gavel-lab-mutants\n", len(overlay.All))
	}
	return program, nil
}

// prove starts a world with gavel's services, judges them as a baseline, and then runs the suite
// against mutants of them.
func prove(ctx context.Context, cmd *cli.Command) error {
	wrong, err := mutantsProgram(cmd)
	if err != nil {
		return err
	}
	for _, id := range cmd.StringSlice("mutant") {
		_, notInside := overlay.Find(id)
		if _, found := mutant.Find(id); !found && notInside != nil {
			return app.Mistake("there is no mutant %s: see gavel-lab conformance prove --list", id)
		}
	}
	of, err := worldOf(cmd)
	if err != nil {
		return err
	}
	right, end, err := app.Open(ctx, app.Source{Local: true, World: of, Notes: os.Stderr})
	if err != nil {
		return err
	}
	defer end()
	program, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	p := app.Proof{
		Program: program, Mutants: wrong, Target: right, Slot: cmd.Duration("slot"),
		Only: cmd.StringSlice("mutant"), Interfaces: cmd.StringSlice("iface"), Parallel: cmd.Int("parallel"), Out: os.Stdout,
	}
	began := time.Now()
	result, err := p.Prove(ctx)
	if err != nil {
		return err
	}
	if len(result.Wrong) > 0 {
		return status{verdict.SuiteFault, "the right target does not pass, so nothing can be proven: " +
			strings.Join(result.Wrong, "; ")}
	}
	sayUnproven(result)
	fmt.Printf("\n%d mutants killed, %d survived, in %s, of which %s for those inside our services\n", len(result.Killed),
		len(result.Survived),
		time.Since(began).Round(time.Second), result.InsideTook.Round(time.Second))
	if missed := slices.Concat(result.Survived, result.TooEasy); len(missed) > 0 {
		return status{verdict.Nonconformant, "the suite did not notice: " + strings.Join(missed, "; ")}
	}
	return nil
}

// sayUnproven prints the clauses that did not notice a mutant.
func sayUnproven(result *app.Proven) {
	for _, id := range slices.Sorted(maps.Keys(result.Unnoticed)) {
		fmt.Printf("%s does not notice %s\n", id, strings.Join(result.Unnoticed[id], ", "))
	}
}
