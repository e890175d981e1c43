package main

import (
	"cmp"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/report"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/verdict"
	"github.com/gavel-relay/gavel/conformance/world"
)

// essential are clauses of all three interfaces that only servers keep which follow the world, hear
// each other, and write what they must remember.
var essential = []string{
	"REL-GEN-01", "REL-STA-01", "REL-REG-01", "REL-SUB-01", "REL-HDR-01", "REL-PAY-01", "REL-DAT-01", "RPC-ENV-18",
	"RPC-ENV-01", "RPC-BUN-01", "RPC-CAL-01",
	"STR-LIV-01", "STR-HIS-01",
}

// gavel keeps them in containers, from the image that GAVEL_IMAGE names, as it does in one process.
// On a machine without an engine or without the image it is in one process, and the test says so.
func TestImage(t *testing.T) {
	image := cmp.Or(os.Getenv("GAVEL_IMAGE"), "gavel:dev")
	where, logs := openImage(t, image)
	r, err := app.Run(t.Context(), app.Options{Target: where, Patterns: essential, Most: clauses.White, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	judged := map[string]report.Clause{}
	for _, c := range r.Clauses {
		judged[c.ID] = c
	}
	for _, id := range essential {
		if c := judged[id]; c.Verdict != verdict.Pass && c.Verdict != verdict.PassLenient {
			t.Errorf("%s is %q: %s", id, c.Verdict, c.Why)
		}
	}
	if logs == "" {
		return
	}
	for _, name := range []string{"relay", "rpc", "stream"} {
		if info, err := os.Stat(filepath.Join(logs, "logs", name+".log")); err != nil || info.Size() == 0 {
			t.Errorf("no log of the container %s: %v", name, err)
		}
	}
}

// openImage starts gavel in containers if that can be, and in this process otherwise. Logs of
// containers will be in a folder, after the test's end only.
func openImage(t *testing.T, image string) (where *target.Target, logs string) {
	t.Helper()
	engine, err := app.OpenEngine(t.Context())
	has := false
	if err == nil {
		has, err = engine.Has(t.Context(), image)
	}
	if !has {
		t.Logf("NOT in containers, but in this process: engine: %v, image %s: %t", err, image, has)
		opened, end, err := app.Open(t.Context(), app.Source{Local: true, World: world.Config{Slot: time.Second},
			Notes: t.Output()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(end)
		return opened.Target, ""
	}
	t.Logf("in containers, from %s", image)
	return startedContainers(t, engine, image)
}

// startedContainers starts gavel in containers.
func startedContainers(t *testing.T, engine *app.Docker, image string) (*target.Target, string) {
	t.Helper()
	ours, err := app.GavelInContainers(true)
	if err != nil {
		t.Fatal(err)
	}
	started, err := engine.StartInWorld(t.Context(), ours, image, world.Config{Slot: time.Second}, t.Output())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { started.Stop("") })
	logs := t.TempDir()
	if err := started.WriteLogs(t.Context(), filepath.Join(logs, "logs")); err != nil {
		t.Error(err)
	}
	return started.Target, logs
}
