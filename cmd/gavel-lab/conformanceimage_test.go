package main

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"github.com/gavel-relay/gavel/conformance/app"
	"github.com/gavel-relay/gavel/conformance/clauses"
	"github.com/gavel-relay/gavel/conformance/report"
	"github.com/gavel-relay/gavel/conformance/target"
	"github.com/gavel-relay/gavel/conformance/world"
	"github.com/gavel-relay/gavel/internal/eth/bls"
	"github.com/gavel-relay/gavel/relay/registry"
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
		if c := judged[id]; c.Verdict != clauses.Pass && c.Verdict != clauses.PassLenient {
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

// The relays in containers read the list of trusted builders, and the suite has their keys, so that
// clauses about trust are judged there too.
func TestTrustedBuildersInContainers(t *testing.T) {
	ours, err := app.GavelInContainers(true)
	if err != nil {
		t.Fatal(err)
	}
	relays := 0
	for _, c := range ours.Containers {
		if c.Command[0] != "relay" {
			continue
		}
		relays++
		path, given := strings.CutPrefix(c.Command[len(c.Command)-1], "--builders-file=")
		list, err := registry.ParseBuilders([]byte(c.Files[path]))
		if !given || err != nil || len(list) != len(ours.Relay.TrustedBuilders) || len(list) == 0 {
			t.Fatalf("%s: %d builders for %d keys: %v", c.Name, len(list), len(ours.Relay.TrustedBuilders), err)
		}
		known := map[phase0.BLSPubKey]bool{}
		for _, b := range list {
			known[b.Pubkeys[0]] = b.Optimistic && b.CollateralWei != nil
		}
		for _, text := range ours.Relay.TrustedBuilders {
			secret, err := hexutil.Decode(text)
			if err != nil {
				t.Fatal(err)
			}
			key, err := bls.NewSecretKey(secret)
			if err != nil || !known[key.PublicKey()] {
				t.Errorf("%s does not trust the owner of a key of the target: %v", c.Name, err)
			}
		}
	}
	if relays != 2 {
		t.Errorf("%d relays, want the usual one and one in literal mode", relays)
	}
}
