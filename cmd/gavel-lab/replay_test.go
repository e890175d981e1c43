package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gavel-relay/gavel/internal/run"
)

func TestReplayImport(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args   string
		status int
		stdout string
		stderr string
	}{
		{"--relay flashbots ../../scenarios/dataset/testdata/flashbots-7567001.json", 0, "12   12      0    0  imported", ""},
		{"../../scenarios/dataset/testdata/flashbots-7567001.json", 0, "was imported before", ""},
		{"../../scenarios/dataset/testdata/README.md", 1, "FAILED: not recognised", "1 of 1 inputs failed"},
		{"", 2, "", "no files: give the archives to import"},
		{"--network ropsten x", 2, "", `network "ropsten" is not known: choose one of mainnet, sepolia, holesky, hoodi`},
		{"--network hoodi x", 2, "", "of mainnet, and the import of hoodi"},
		{"--batch 0 x", 2, "", "batch is 0"},
	} {
		var out, errs bytes.Buffer
		program := root(nil)
		program.Writer = &out
		args := append([]string{"gavel-lab", "replay", "import", "--into", dir}, strings.Fields(c.args)...)
		status := run.Main(program, args, &errs)
		if status != c.status || !strings.Contains(out.String(), c.stdout) || !strings.Contains(errs.String(), c.stderr) {
			t.Errorf("%s: status %d\n%s%s", c.args, status, out.String(), errs.String())
		}
	}
}
