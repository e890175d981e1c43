package main

import (
	"strings"
	"time"

	"github.com/urfave/cli/v3"
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

// region makes the flag that names where the service runs.
func (f flags) region() cli.Flag {
	return f.described("region", "none",
		"the operator's name of the place where this runs, such as eu-west, for the metrics")
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
