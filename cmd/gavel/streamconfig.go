package main

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strconv"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/stream"
	"github.com/gavel-relay/gavel/stream/app"
	"github.com/gavel-relay/gavel/stream/history"
)

// streamConfig holds all settings of the command. The field stream has no log yet: serveStream
// opens it.
type streamConfig struct {
	stream              app.Config
	listen, adminListen string
	log                 run.LogOptions
}

// streamConfigOf reads the flags. The stream has no secret of its own, so it does not read the
// environment. Errors are the caller's mistakes.
func streamConfigOf(cmd *cli.Command, _ func(string) string) (streamConfig, error) {
	hints := stream.DefaultHints()
	hints.MevGasPrice, hints.GasUsed, hints.GasLimit = !cmd.Bool("hide-mev-gas-price"), cmd.Bool("share-gas-used"),
		cmd.Bool("gas-limit")
	if cmd.Bool("literal") {
		hints = stream.LiteralHints()
	}
	cfg := streamConfig{
		listen: cmd.String("listen"), adminListen: cmd.String("admin-listen"),
		log: run.LogOptions{Level: cmd.String("log-level"), Format: cmd.String("log-format")},
		stream: app.Config{
			DataDir: cmd.String("data-dir"), Database: cmd.String("db"), MaxLimit: cmd.Int("max-limit"),
			Origin:  cmd.String("cors-origin"),
			Network: cmd.String("network"), Ping: cmd.Duration("ping"), TraceEndpoint: cmd.String("trace-endpoint"),
			Region:    cmd.String("region"),
			Hints:     &hints,
			Retention: history.Retention{Blocks: int64(cmd.Int("keep-blocks")), For: cmd.Duration("keep-for")},
			Limits: app.Limits{
				Listeners: cmd.Int("max-listeners"), QueueBytes: cmd.Int("queue-kilobytes") << 10,
				EventBytes:            cmd.Int("max-event-bytes"),
				ListenersPerAddress:   cmd.Int("max-listeners-per-address"),
				ConnectionsPerAddress: cmd.Int("max-connections-per-address"),
				PerSecond:             unbounded(cmd.Int("requests-per-second")), Burst: cmd.Int("burst"),
				Linger: cmd.Duration("linger"),
			},
		},
	}
	cfg.stream.Journal.URL, cfg.stream.Journal.Listen = cmd.String("journal"), cmd.String("journal-listen")
	cfg.stream.Journal.StartTimeout = cmd.Duration("start-timeout")
	if err := readAccess(cmd, &cfg.stream.Journal); err != nil {
		return cfg, err
	}
	if err := readMoved(cmd, &cfg.stream.Journal); err != nil {
		return cfg, err
	}
	for _, read := range []func(*cli.Command) error{checkStreamBounds, cfg.readSwaps, cfg.readConnections,
		cfg.readProxies} {
		if err := read(cmd); err != nil {
			return cfg, err
		}
	}
	return cfg, cfg.check()
}

// checkStreamBounds returns an error for the first number that is out of bounds.
func checkStreamBounds(cmd *cli.Command) error {
	for _, bound := range []struct {
		flag        string
		least, most int
	}{
		{"keep-blocks", 0, math.MaxInt}, {"max-limit", 1, 10_000}, {"max-listeners", 1, math.MaxInt},
		{"queue-kilobytes", 64, 1 << 20},
		{"max-event-bytes", 0, math.MaxInt}, {"max-listeners-per-address", 1, math.MaxInt}, {"max-connections-per-address", 1,
			math.MaxInt},
		{"requests-per-second", 0, math.MaxInt}, {"burst", 1, math.MaxInt},
	} {
		if value := cmd.Int(bound.flag); value < bound.least || value > bound.most {
			return fmt.Errorf("%s is %d: give %d or more, up to %d", bound.flag, value, bound.least, bound.most)
		}
	}
	for _, bound := range []struct {
		flag  string
		least time.Duration
	}{{"keep-for", 0}, {"start-timeout", 0}, {"ping", time.Second}, {"linger", 0}} {
		if value := cmd.Duration(bound.flag); value < bound.least {
			return fmt.Errorf("%s is %s: give %s or more", bound.flag, value, bound.least)
		}
	}
	return nil
}

func (c *streamConfig) readSwaps(cmd *cli.Command) error {
	more, err := stream.ParseSwaps(cmd.String("swaps"))
	if err != nil {
		return fmt.Errorf("swaps: %w", err)
	}
	maps.Copy(c.stream.Hints.Swaps, more)
	return nil
}

func (c *streamConfig) readConnections(cmd *cli.Command) error {
	text := cmd.String("max-connections")
	if text == "" {
		return nil
	}
	count, err := strconv.Atoi(text)
	if err != nil || count < 1 {
		return fmt.Errorf("max-connections is %q: give a number above 0", text)
	}
	c.stream.Limits.Connections = count
	return nil
}

func (c *streamConfig) readProxies(cmd *cli.Command) (err error) {
	c.stream.Limits.TrustedProxies, err = prefixes(cmd.String("trusted-proxies"))
	return err
}

// check returns an error for a setting that is missing or contradicts another. The error names the
// flag.
func (c *streamConfig) check() error {
	switch {
	case c.listen == "":
		return errors.New("listen is empty: give host:port")
	case c.stream.Journal.URL != "" && c.stream.Journal.Listen != "":
		return errors.New("journal-listen is for a journal in this process: leave out journal, or journal-listen")
	case c.stream.Origin == "":
		return errors.New("cors-origin is empty: give * or an origin such as https://example.org")
	}
	_, err := run.NewLogger(nil, c.log)
	return err
}
