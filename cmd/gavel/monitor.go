package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/urfave/cli/v3"
	"golang.org/x/sync/errgroup"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/internal/serve"
	monitorapp "github.com/gavel-relay/gavel/monitor/app"
)

// monitorEnv is the prefix of the environment variables that stand for flags: --listen is
// GAVEL_MONITOR_LISTEN.
const monitorEnv = "GAVEL_MONITOR_"

// monitorConfig holds all settings of the command.
type monitorConfig struct {
	monitor monitorapp.Config
	listen  string
	log     run.LogOptions
}

// runMonitor watches relays until the context ends.
type runMonitor func(ctx context.Context, cfg monitorConfig) error

func monitorCommand(start runMonitor) *cli.Command {
	f := flags(monitorEnv)
	return &cli.Command{
		Name:  "monitor",
		Usage: "watch relays from public data, and report the faults of each",
		Flags: []cli.Flag{
			f.described("relays", "needed",
				"URLs of the relays, with commas; a key in the user part (https://0xkey@host) is held against their signatures"),
			f.described("beacon-nodes", "needed", "URLs of beacon nodes to learn the chain from, with commas"),
			f.text("listen", "127.0.0.1:9076", "host:port of the reports (JSON) and metrics"),
			f.described("ask-at", "-500ms",
				"times against the slot's start at which headers are asked for, with commas, such as -2s,0s"),
			f.span("patience", 950*time.Millisecond, "how long proposers wait for a header; slower answers are reported"),
			f.span("timeout", 3*time.Second, "bound of a request"),
			f.text("log-level", "info", "debug, info, warn or error"),
			f.text("log-format", "json", "json or text"),
			f.toggle("print-config", "print the effective configuration, without secrets, and end"),
			run.ConfigFlag(),
		},
		Action: serviceAction(monitorConfigOf, aboutMonitor, start),
	}
}

// monitorConfigOf reads the flags. Errors are the caller's mistakes.
func monitorConfigOf(cmd *cli.Command, _ func(string) string) (monitorConfig, error) {
	cfg := monitorConfig{
		listen: cmd.String("listen"), log: run.LogOptions{Level: cmd.String("log-level"), Format: cmd.String("log-format")},
		monitor: monitorapp.Config{
			Relays: listOf(cmd.String("relays")), BeaconURLs: listOf(cmd.String("beacon-nodes")),
			Patience: cmd.Duration("patience"), Timeout: cmd.Duration("timeout"),
		},
	}
	for _, text := range listOf(cmd.String("ask-at")) {
		at, err := time.ParseDuration(text)
		if err != nil {
			return cfg, fmt.Errorf("ask-at has %q: give durations with their unit, such as -500ms,0s", text)
		}
		cfg.monitor.AskAt = append(cfg.monitor.AskAt, at)
	}
	return cfg, cfg.monitor.Validate()
}

func serveMonitor(ctx context.Context, cfg monitorConfig) error {
	log, err := run.NewLogger(os.Stderr, cfg.log)
	if err != nil {
		return run.Usage(err)
	}
	listener, err := serve.Listen(cfg.listen)
	if err != nil {
		return err
	}
	cfg.monitor.Log = log
	watching, err := monitorapp.New(cfg.monitor)
	if err != nil {
		return run.Usage(err)
	}
	log.Info("monitor watches", "relays", cfg.monitor.Names, "reports", listener.Addr().String())
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return watching.Run(ctx) })
	group.Go(func() error { return serve.Serve(ctx, listener, watching.Handler(), serve.Options{Log: log}) })
	return group.Wait()
}
