package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/golden"
	"github.com/gavel-relay/gavel/internal/run"
)

func TestVersionCommand(t *testing.T) {
	var stdout, stderr bytes.Buffer
	program := root()
	program.Writer = &stdout
	if status := run.Main(program, []string{"gavel", "version"}, &stderr); status != 0 ||
		!strings.HasPrefix(stdout.String(), "gavel ") {
		t.Errorf("status %d, %q, %q", status, stdout.String(), stderr.String())
	}
}

func TestUnknownCommand(t *testing.T) {
	var stderr bytes.Buffer
	if status := run.Main(root(), []string{"gavel", "relais"}, &stderr); status != 2 ||
		!strings.Contains(stderr.String(), `"relais" is no command`) {
		t.Errorf("status %d, %q", status, stderr.String())
	}
}

func TestDocs(t *testing.T) {
	golden.Section(t, "../../docs/relay.md", "relay flags", run.Markdown(relayCommand(nil)))
	golden.Section(t, "../../docs/rpc.md", "flags", run.Markdown(rpcCommand(nil)))
	golden.Section(t, "../../docs/stream.md", "flags", run.Markdown(streamCommand(nil)))
	program := root()
	program.Commands = program.Commands[3:] // the services have pages of their own
	golden.Section(t, "../../docs/flags.md", "gavel", run.Markdown(program))
}
