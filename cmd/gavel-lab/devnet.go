package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/devnet/display"
	"github.com/gavel-relay/gavel/devnet/mempool"
	"github.com/gavel-relay/gavel/internal/run"
	scenarioapp "github.com/gavel-relay/gavel/scenarios/app"
)

// runDevnet runs a network until its last slot is over or the context ends.
type runDevnet func(ctx context.Context, cfg devnet.Config, flow *mempool.Flow,
	out display.Output) (display.Summary, error)

func root(start runDevnet) *cli.Command {
	return &cli.Command{
		Name:  "gavel-lab",
		Usage: "test networks around gavel, and tests of other implementations",
		Commands: []*cli.Command{devnetCommand(start), scenarioCommand(scenarioapp.Run), conformanceCommand(),
			benchCommand(), replayCommand()},
	}
}

func devnetCommand(start runDevnet) *cli.Command {
	return &cli.Command{
		Name: "devnet",
		Usage: "run a chain, builders, proposers, users and searchers around a relay, a bundle RPC and an event stream, " +
			"and show each slot",
		Flags: devnetFlags(devnet.Default()),
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := run.ApplyConfigFile(cmd); err != nil {
				return err
			}
			cfg, err := devnetConfig(cmd)
			if err != nil {
				return run.Usage(err)
			}
			flow, err := readMempool(cfg, os.Stderr)
			if err != nil {
				return err
			}
			out, err := devnetOutput(cfg)
			if err != nil {
				return err
			}
			summary, err := start(ctx, cfg, flow, out)
			if err != nil {
				return err
			}
			if !summary.OK() {
				return errors.New(summary.Verdict())
			}
			return nil
		},
	}
}

func devnetFlags(d devnet.Config) []cli.Flag {
	return []cli.Flag{
		&cli.IntFlag{Name: "slots", Value: d.Slots, Usage: "slots to run; 0 runs until Ctrl-C"},
		&cli.DurationFlag{Name: "slot", Value: d.SlotDuration, Usage: "chain time of a slot, in whole seconds"},
		&cli.FloatFlag{Name: "speed", Value: d.Speed,
			Usage: "how many times faster than the wall the chain clock runs at most; it stands while there is work"},
		&cli.IntFlag{Name: "validators", Value: d.Validators, Usage: "validators that propose"},
		&cli.IntFlag{Name: "builders", Value: d.Builders, Usage: "builders that bid"},
		&cli.BoolFlag{Name: "staked-builder",
			Usage: "add a builder with stake of its own, which signs its bids itself from gloas on"},
		&cli.IntFlag{Name: "txs", Value: d.TxsPerSlot, Usage: "transactions that users send in each slot"},
		&cli.StringFlag{Name: "replay-mempool", DefaultText: "none", TakesFile: true,
			Usage: "file of mempool-dumpster whose transactions users send again, in the place of --txs and --blob-every"},
		&cli.IntFlag{Name: "orders", Value: d.OrdersPerSlot,
			Usage: "private transactions that users send to the bundle RPC in each slot; 0 sends none"},
		&cli.IntFlag{Name: "searchers", Value: d.Searchers, Usage: "searchers that follow what the event stream tells"},
		&cli.IntFlag{Name: "value-share", Usage: "percent of each bid that relays pay from their stake, from gloas on"},
		&cli.IntFlag{Name: "blob-every", Value: d.BlobEvery,
			Usage: "send a blob transaction in every n-th slot; 0 sends none"},
		&cli.IntFlag{
			Name: "circuit-breaker", Value: d.CircuitBreaker,
			Usage: "slots in a row without a block after which proposers ask no relay any more; 0 is never",
		},
		&cli.IntFlag{Name: "slots-per-epoch", Value: d.SlotsPerEpoch, Usage: "slots of an epoch"},
		&cli.StringFlag{Name: "fork", DefaultText: "fulu", Usage: "fork at genesis: " + devnet.ForkNames()},
		&cli.StringFlag{Name: "forks", Usage: "fork schedule as fork@epoch, such as electra@0,fulu@2"},
		&cli.IntFlag{Name: "relay-port", Value: d.RelayPort, Usage: "port of the relay on 127.0.0.1; 0 takes any free one"},
		&cli.IntFlag{Name: "beacon-port", Value: d.BeaconPort, Usage: "port of the beacon node; 0 takes any free one"},
		&cli.IntFlag{Name: "rpc-port", Value: d.RPCPort, Usage: "port of the execution JSON-RPC; 0 takes any free one"},
		&cli.IntFlag{Name: "bundle-port", Value: d.BundlePort, Usage: "port of the bundle JSON-RPC; 0 takes any free one"},
		&cli.IntFlag{Name: "stream-port", Value: d.StreamPort, Usage: "port of the event stream; 0 takes any free one"},
		&cli.IntFlag{Name: "validation-port", Value: d.ValidationPort,
			Usage: "port of the node that validates builders' blocks; 0 takes any free one"},
		&cli.BoolFlag{Name: "web",
			Usage: "show the run as a page for browsers, on 127.0.0.1; it stays when the slots are over, until Ctrl-C"},
		&cli.IntFlag{Name: "web-port", Value: d.WebPort, Usage: "port of that page; 0 takes any free one"},
		&cli.StringSliceFlag{Name: "relays",
			Usage: "further relays, as http://0xpubkey@host:port: builders bid to them and proposers ask them; needs speed 1"},
		&cli.StringFlag{Name: "data-dir", DefaultText: "in memory", TakesFile: true,
			Usage: "directory that keeps chain, journal and archive"},
		&cli.StringFlag{Name: "mev-boost", DefaultText: "the lab's own", TakesFile: true,
			Usage: "path of a mev-boost to run between proposers and the relay"},
		&cli.Uint64Flag{Name: "seed", Value: d.Seed, Usage: "the same seed gives the same keys and choices"},
		&cli.BoolFlag{Name: "plain", Usage: "print lines even on a terminal"},
		&cli.BoolFlag{Name: "verbose", Usage: "print the log of all parts to stderr; implies --plain"},
		run.ConfigFlag(),
	}
}

// devnetConfig reads the flags. It calls Check and not Validate, because a zero that the user wrote
// is an error like any other wrong value and not a wish for the default.
func devnetConfig(cmd *cli.Command) (devnet.Config, error) {
	cfg := devnet.Config{
		Slots: cmd.Int("slots"), SlotDuration: cmd.Duration("slot"), Speed: cmd.Float("speed"),
		Validators: cmd.Int("validators"), Builders: cmd.Int("builders"), TxsPerSlot: cmd.Int("txs"),
		ReplayMempool: cmd.String("replay-mempool"),
		BlobEvery:     cmd.Int("blob-every"), ValueShare: cmd.Int("value-share"),
		StakedBuilder: cmd.Bool("staked-builder"),
		OrdersPerSlot: cmd.Int("orders"), Searchers: cmd.Int("searchers"), CircuitBreaker: cmd.Int("circuit-breaker"),
		SlotsPerEpoch: cmd.Int("slots-per-epoch"),
		RelayPort:     cmd.Int("relay-port"), BeaconPort: cmd.Int("beacon-port"), RPCPort: cmd.Int("rpc-port"),
		BundlePort: cmd.Int("bundle-port"), StreamPort: cmd.Int("stream-port"), ValidationPort: cmd.Int("validation-port"),
		Web: cmd.Bool("web"), WebPort: cmd.Int("web-port"),
		DataDir: cmd.String("data-dir"), MevBoost: cmd.String("mev-boost"), Seed: cmd.Uint64("seed"),
		Plain: cmd.Bool("plain"), Verbose: cmd.Bool("verbose"),
	}
	if cmd.IsSet("relays") {
		cfg.Relays = cmd.StringSlice("relays")
	}
	var err error
	if cmd.IsSet("fork") {
		if cfg.Fork, err = devnet.ParseFork(cmd.String("fork")); err != nil {
			return cfg, err
		}
	}
	if cfg.Forks, err = devnet.ParseForks(cmd.String("forks")); err != nil {
		return cfg, err
	}
	return cfg, cfg.Check()
}

// devnetOutput chooses how the run is shown and where the log goes. With --verbose all of it goes
// to stderr. Otherwise its warnings appear among the display's notes, because a log would write
// across the picture.
func devnetOutput(cfg devnet.Config) (display.Output, error) {
	out := display.New(os.Stdout, display.OptionsFor(os.Stdout, cfg.Plain || cfg.Verbose, os.Getenv))
	log, err := run.NewLogger(display.NoteWriter(out), run.LogOptions{Level: "warn"})
	if cfg.Verbose {
		log, err = run.NewLogger(os.Stderr, run.LogOptions{Level: "debug"})
	}
	if err != nil {
		return nil, err
	}
	slog.SetDefault(log)
	return out, nil
}
