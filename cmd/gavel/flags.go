package main

import (
	"strings"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/run"
)

// flags makes the flags of one command. Its value is the prefix of the environment variables that
// stand for them: with GAVEL_RELAY_ the variable of --data-dir is GAVEL_RELAY_DATA_DIR.
type flags string

func (f flags) env(flag string) cli.ValueSourceChain {
	return cli.EnvVars(string(f) + strings.ToUpper(strings.ReplaceAll(flag, "-", "_")))
}

func (f flags) text(name, value, usage string) cli.Flag {
	return &cli.StringFlag{Name: name, Value: value, Sources: f.env(name), Usage: usage}
}

// described makes a text flag whose default the help describes in words.
func (f flags) described(name, whenEmpty, usage string) cli.Flag {
	return &cli.StringFlag{Name: name, DefaultText: whenEmpty, Sources: f.env(name), Usage: usage}
}

// processFlags make the flags by which every service stops, is observed, logs and is configured.
func (f flags) processFlags() []cli.Flag {
	return []cli.Flag{
		f.span("linger", 0, "how long requests are still taken after the stop, with /readyz at 503, so that balancers leave"),
		f.described("region", "none",
			"the operator's name of the place where this runs, such as eu-west, for the metrics"),
		f.described("trace-endpoint", "none", "URL of an OpenTelemetry collector (OTLP over HTTP) that traces are sent to"),
		f.text("log-level", "info", "debug, info, warn or error"),
		f.text("log-format", "text", "text or json"),
		f.toggle("print-config", "print the effective configuration, without secrets, and end"),
		run.ConfigFlag(),
	}
}

func (f flags) span(name string, value time.Duration, usage string) cli.Flag {
	return &cli.DurationFlag{Name: name, Value: value, Sources: f.env(name), Usage: usage}
}

func (f flags) number(name string, value int, usage string) cli.Flag {
	return &cli.IntFlag{Name: name, Value: value, Sources: f.env(name), Usage: usage}
}

func (f flags) toggle(name, usage string) cli.Flag {
	return &cli.BoolFlag{Name: name, Sources: f.env(name), Usage: usage}
}
