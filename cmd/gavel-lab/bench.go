package main

import (
	"cmp"
	"context"
	"net"
	"os"
	"os/signal"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/bench"
	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/load"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/internal/run"
)

// benchValidators is how many validators the world of a load test has.
const benchValidators = 256

func benchCommand() *cli.Command {
	flags := append(benchTargetFlags(), benchLoadFlags()...)
	for _, flag := range worldFlags(4 * time.Second) {
		if validators, is := flag.(*cli.IntFlag); is && validators.Name == "validators" {
			validators.Value = benchValidators
		}
		if flag.Names()[0] != "fork-at" {
			flags = append(flags, flag)
		}
	}
	return &cli.Command{
		Name:     "bench",
		Usage:    "load any relay or bundle RPC in a world, check what it answers meanwhile, and say how fast it is",
		Metadata: map[string]any{run.MistakeStatus: clauses.WrongUsage},
		Flags:    flags,
		Action: func(ctx context.Context, cmd *cli.Command) error {
			ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
			defer stop()
			if names := cmd.StringSlice("compare"); len(names) > 0 {
				return app.WithStatus(app.CompareBench(os.Stdout, names, cmd.String("html")))
			}
			return app.WithStatus(runBench(ctx, cmd))
		},
	}
}

func benchTargetFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "relay", Usage: "URL of a relay that follows the world of this command, or of --world"},
		&cli.StringFlag{Name: "rpc", Usage: "URL of a bundle RPC that follows the world, in place of a relay"},
		&cli.StringFlag{Name: "stream",
			Usage: "URL of the stream that tells of the orders of --rpc: followed by --listeners, of whom each must get each " +
				"order's event once"},
		&cli.StringFlag{Name: "iface", Value: "relay",
			Usage: "with --devnet and --null: which to load, relay, rpc or stream"},
		&cli.StringFlag{Name: "world", Usage: "URL of the world that the target follows (gavel-lab conformance world)"},
		&cli.StringFlag{Name: "command",
			Usage: "command that starts a relay in a world for it, with words such as {listen} and {beaconUrl}; see " +
				"docs/conformance.md"},
		&cli.BoolFlag{Name: "devnet", Usage: "start gavel's own services in this process, and load one"},
		&cli.BoolFlag{Name: "null",
			Usage: "load a target that does nothing as well, or alone: it shows how much load this program can make"},
		&cli.DurationFlag{Name: "wait", Value: 5 * time.Minute,
			Usage: "how long the relay may take until it lists the world's proposers"},
		&cli.BoolFlag{Name: "mine", Usage: "the relay is not on this machine, and it is yours"},
		&cli.StringFlag{Name: "host", Value: "127.0.0.1",
			Usage: "without --world: address of this machine at which the world of a --relay or --rpc listens, at the " +
				"ports of conformance world"},
		&cli.StringFlag{Name: "json", TakesFile: true, Usage: "file for the report"},
		&cli.StringFlag{Name: "html", TakesFile: true, Usage: "file for a page with curves"},
		&cli.StringSliceFlag{Name: "compare", TakesFile: true,
			Usage: "reports of --json to set side by side; nothing is loaded"},
	}
}

func benchLoadFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "mix",
			DefaultText: bench.UsualMix.String() + ", " + bench.UsualRPCMix.String() + " or " +
				bench.UsualStreamMix.String(),
			Usage: "kinds of requests and how many of each there are"},
		&cli.FloatFlag{Name: "rate", Value: 50, Usage: "requests per second of the phase steady"},
		&cli.DurationFlag{Name: "steady", Value: 25 * time.Second,
			Usage: "duration of the phase that has a rate; 0 for none"},
		&cli.DurationFlag{Name: "flat-out", Value: 20 * time.Second,
			Usage: "duration of the phase in which each connection sends on when it has its answer; 0 for none"},
		&cli.IntFlag{Name: "connections", Value: 16,
			Usage: "connections of the phase flat-out; steady has four times as many"},
		&cli.IntFlag{Name: "listeners", Value: 50, Usage: "connections that follow a stream"},
		&cli.IntFlag{Name: "builders", Value: 20, Usage: "builders who submit, in turn"},
		&cli.IntFlag{Name: "cancelling", Value: 2, Usage: "of them, those who replace bids by lower ones"},
		&cli.IntFlag{Name: "same-block", Value: 4,
			Usage: "builders who submit the same block, so that the world builds fewer"},
		&cli.IntSliceFlag{Name: "block-kb", Value: []int{2, 100, 400},
			Usage: "sizes of blocks in kB of transactions without blobs, in turn"},
		&cli.IntFlag{Name: "blobs", Value: 1, Usage: "blobs of each block, at most 3; each is 131 kB"},
		&cli.StringSliceFlag{Name: "formats", Value: []string{"ssz", "ssz+gzip", "ssz", "json"},
			Usage: "how submissions go over the wire"},
		&cli.IntFlag{Name: "registrations", Value: 100, Usage: "validators of a request that registers some"},
	}
}

// runBench loads a relay as the flags say.
func runBench(ctx context.Context, cmd *cli.Command) (err error) {
	b := app.Bench{
		Source: app.Source{Local: cmd.Bool("devnet"), Notes: os.Stderr}, Null: cmd.Bool("null"), Mine: cmd.Bool("mine"),
		Wait:      cmd.Duration("wait"),
		Listeners: cmd.Int("listeners"),
		JSON:      cmd.String("json"), HTML: cmd.String("html"), Out: os.Stdout,
		Setting: load.Setting{
			Builders: cmd.Int("builders"), Cancelling: cmd.Int("cancelling"), SameBlock: cmd.Int("same-block"),
			BlockKB: cmd.IntSlice("block-kb"),
			Blobs:   cmd.Int("blobs"), Batch: cmd.Int("registrations"),
		},
	}
	if err := benchMix(cmd, &b); err != nil {
		return err
	}
	for _, format := range cmd.StringSlice("formats") {
		b.Setting.Formats = append(b.Setting.Formats, load.Format(format))
	}
	if b.Phases, err = benchPhases(cmd); err != nil {
		return err
	}
	if err := benchSource(cmd, &b.Source); err != nil {
		return err
	}
	return b.Run(ctx)
}

// benchMix reads the flags that say which interface is loaded, and with what.
func benchMix(cmd *cli.Command, b *app.Bench) (err error) {
	b.Interface = cmd.String("iface")
	if cmd.String("rpc") != "" {
		b.Interface = "rpc"
	}
	if cmd.String("stream") != "" {
		if b.Interface != "rpc" {
			return app.Mistake("stream needs --rpc: its events are of orders that are sent there")
		}
		b.Interface = "stream"
	}
	mix, kinds := bench.UsualMix, load.RelayKinds
	switch b.Interface {
	case "relay":
	case "rpc":
		mix, kinds = bench.UsualRPCMix, load.RPCKinds
	case "stream":
		mix, kinds = bench.UsualStreamMix, load.StreamKinds
	default:
		return app.Mistake("iface is %q: give relay, rpc or stream", b.Interface)
	}
	if b.Setting.Mix, err = bench.ParseMix(cmp.Or(cmd.String("mix"), mix.String()), kinds); err != nil {
		return app.Mistake("mix: %v", err)
	}
	return nil
}

// Bounds of a run, whatever its flags say.
const (
	mostConnections = 1024
	mostPerSecond   = 100_000
	longestPhase    = 15 * time.Minute
)

// benchPhases reads the flags that say how long and how hard is loaded.
func benchPhases(cmd *cli.Command) (phases []bench.Phase, err error) {
	connections, rate := cmd.Int("connections"), cmd.Float("rate")
	switch {
	case connections < 1 || connections > mostConnections:
		return nil, app.Mistake("connections is %d: give 1 to %d", connections, mostConnections)
	case rate <= 0 || rate > mostPerSecond:
		return nil, app.Mistake("rate is %g: give a number above 0, at most %d", rate, mostPerSecond)
	}
	for _, p := range []bench.Phase{
		{Name: "steady", For: cmd.Duration("steady"), PerSecond: rate, Connections: min(4*connections, mostConnections)},
		{Name: "flat-out", For: cmd.Duration("flat-out"), Connections: connections},
	} {
		if p.For < 0 || p.For > longestPhase {
			return nil, app.Mistake("%s is %v: give 0 to %v", p.Name, p.For, longestPhase)
		}
		if p.For > 0 {
			phases = append(phases, p)
		}
	}
	if len(phases) == 0 {
		return nil, app.Mistake("both phases are left out: give --steady or --flat-out a duration")
	}
	return phases, nil
}

// benchSource reads the flags that say where the relay is, or what starts it.
func benchSource(cmd *cli.Command, from *app.Source) (err error) {
	if from.World, err = worldOf(cmd); err != nil {
		return err
	}
	address, command, rpc := cmd.String("relay"), cmd.String("command"), cmd.String("rpc")
	given := 0
	for _, is := range []bool{address != "", command != "", rpc != "", from.Local} {
		if is {
			given++
		}
	}
	if given > 1 {
		return app.Mistake("give one of --relay, --rpc, --command and --devnet")
	}
	if given == 0 || from.Local {
		return nil
	}
	from.Target = &target.Target{Chain: target.Chain{WorldURL: cmd.String("world")}}
	if rpc != "" {
		from.Target.RPC = &target.RPC{URL: rpc}
		if stream := cmd.String("stream"); stream != "" {
			from.Target.Stream = &target.Stream{URL: stream}
		}
	} else {
		from.Target.Relay = &target.Relay{ProposerURL: address, Command: command}
	}
	if err := from.Target.Complete(); err != nil {
		return app.Mistake("%v", err)
	}
	if command == "" && from.Target.Chain.WorldURL == "" {
		from.World.Host = cmd.String("host")
		at := func(port string) string { return net.JoinHostPort(from.World.Host, port) }
		from.World.Listen, from.World.BeaconListen, from.World.ValidationListen = "127.0.0.1:9190", at("9191"), at("9192")
		from.World.BuilderListen, from.World.ExecutionListen = at("9193"), at("9194")
	}
	return nil
}
