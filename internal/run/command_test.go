package run

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v3"
)

// toy is a program with a flag of every kind that a file may set.
func toy(action cli.ActionFunc) *cli.Command {
	return &cli.Command{Name: "toy", Usage: "a toy", Commands: []*cli.Command{{
		Name:  "play",
		Usage: "play with it | or not",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "times", Value: 2, Usage: "how often"},
			&cli.DurationFlag{Name: "for", Value: time.Minute, Usage: "how long"},
			&cli.StringFlag{Name: "name", DefaultText: "no name", Usage: "what | to call it"},
			&cli.BoolFlag{Name: "loud", Usage: "with noise"},
			ConfigFlag(),
		},
		Action: func(ctx context.Context, cmd *cli.Command) error {
			if err := ApplyConfigFile(cmd); err != nil {
				return err
			}
			return action(ctx, cmd)
		},
	}}}
}

// The same scalar may be written in all the ways that YAML has; a list is its entries with commas.
func TestConfigFileValues(t *testing.T) {
	for text, want := range map[string]string{
		"name: plain":         "plain",
		"name: 'a: b'":        "a: b",
		`"name": "tab\tbed"`:  "tab\tbed",
		"name: 007":           "007",
		"name: 1e3":           "1e3",
		"name: true":          "true",
		"name: [a, 1, 'b c']": "a,1,b c",
		"name:\n- a\n- b":     "a,b",
		"name: |-\n  x":       "x",
		"name:":               "",
		"---\nname: x\n":      "x",
		"{name: x}":           "x",
	} {
		path := filepath.Join(t.TempDir(), "toy.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		var stderr bytes.Buffer
		called := false
		status := Main(toy(func(_ context.Context, cmd *cli.Command) error {
			called = true
			if got := cmd.String("name"); got != want {
				t.Errorf("%q gives %q, want %q", text, got, want)
			}
			return nil
		}), []string{"toy", "play", "--config", path}, &stderr)
		if status != 0 || !called {
			t.Errorf("%q: status %d, %q", text, status, stderr.String())
		}
	}
}

// Whatever a file holds, it is read or refused in one line.
func FuzzParseSettings(f *testing.F) {
	for _, seed := range []string{"slots: 3\n", "a: [b, c]\n", "a: {b: c}", "- x", "a: |\n x", "\t", "a: &b c\nd: *b",
		"? x\n: y", "a: !!int 3", "{", "\"", "a: b: c", "%"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if _, err := parseSettings("f.yaml", text); err != nil && !strings.HasPrefix(err.Error(), "f.yaml:") {
			t.Errorf("%q: %v does not name the file", text, err)
		}
	})
}

func TestMarkdown(t *testing.T) {
	const want = "### `toy`\n\nA toy.\n\n### `toy play`\n\nPlay with it | or not.\n\n" +
		"| flag | default | meaning |\n|---|---|---|\n" +
		"| `--times` | `2` | how often |\n" +
		"| `--for` | `1m` | how long |\n" +
		"| `--name` | no name | what \\| to call it |\n" +
		"| `--loud` | `false` | with noise |\n" +
		"| `--config` |  | YAML file with any of these flags as keys; a flag on the command line wins over the file |\n\n"
	if got := Markdown(toy(nil)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Mistakes of the caller have the status 2, or the one that a command above has for them.
func TestMistakeStatus(t *testing.T) {
	for _, args := range [][]string{{"toy", "play", "--times", "x"}, {"toy", "play", "--no-such-flag"},
		{"toy", "play", "too", "much"}, {"toy", "work"}} {
		for want, metadata := range map[int]map[string]any{2: nil, 64: {MistakeStatus: 64}} {
			program := toy(func(context.Context, *cli.Command) error { return nil })
			program.Metadata = metadata
			var stderr bytes.Buffer
			if status := Main(program, args, &stderr); status != want || stderr.Len() == 0 {
				t.Errorf("%q: status %d, want %d; %s", args, status, want, stderr.String())
			}
		}
	}
}
