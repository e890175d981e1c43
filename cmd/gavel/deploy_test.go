package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/run"
)

// deployed is how a file of deploy starts this program (deploy/testdata/commands.json).
type deployed struct {
	From      string
	Arguments []string
	Env       map[string]string
	Files     map[string]string
}

// start gives the program a command with the files that it names, and has it print its settings.
func (d deployed) start(t *testing.T) (status int, stdout, stderr string) {
	t.Helper()
	var own []string // paths in the container, and the test's
	for path, content := range d.Files {
		switch {
		case strings.Contains(content, "\n"):
		case strings.HasSuffix(content, "-key"), strings.HasSuffix(content, "-token"):
			own = append(own, path, written(t, content, testKey))
		default:
			own = append(own, path, filepath.Join("../../deploy", content))
		}
	}
	for path, content := range d.Files {
		if strings.Contains(content, "\n") {
			own = append(own, path, written(t, filepath.Base(path), strings.NewReplacer(own...).Replace(content)))
		}
	}
	there := strings.NewReplacer(own...)
	for name, value := range d.Env {
		t.Setenv(name, there.Replace(value))
	}
	arguments := []string{"gavel"}
	for _, argument := range d.Arguments {
		arguments = append(arguments, there.Replace(argument))
	}
	var out, errs bytes.Buffer
	program := root()
	program.Writer = &out
	status = run.Main(program, append(arguments, "--print-config"), &errs)
	return status, out.String(), errs.String()
}

// Every command by which a file of deploy starts this program is taken as it stands, and every
// variable that it sets is a flag's.
func TestDeployedCommandsAreTaken(t *testing.T) {
	text, err := os.ReadFile("../../deploy/testdata/commands.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []deployed
	if err := json.Unmarshal(text, &all); err != nil || len(all) < 18 {
		t.Fatal(len(all), err)
	}
	for _, d := range all {
		t.Run(d.From, func(t *testing.T) {
			status, stdout, stderr := d.start(t)
			if status != 0 {
				t.Fatalf("status %d: %s", status, stderr)
			}
			for name := range d.Env {
				if !strings.HasPrefix(name, "GAVEL_") || strings.HasSuffix(name, "_SECRET_KEY") { // which no flag shows
					continue
				}
				flag := strings.ToLower(strings.ReplaceAll(strings.SplitN(name, "_", 3)[2], "_", "-"))
				if !strings.Contains(stdout, "\n"+flag+": ") || strings.Contains(stdout, "\n"+flag+`: ""`) {
					t.Errorf("%s does nothing:\n%s", name, stdout)
				}
			}
			if strings.Contains(stdout, ":1a2b@") {
				t.Errorf("a password is printed:\n%s", stdout)
			}
		})
	}
}

// A flag that is misspelled, a file that is not there and a setting that is left out are noticed.
func TestWrongDeployedCommandsAreNoticed(t *testing.T) {
	right := []string{
		"relay", "--beacon=http://b", "--validation-node=http://v", "--secret-key-file=/run/secrets/relay-key",
	}
	files := map[string]string{"/run/secrets/relay-key": "relay-key"}
	if status, _, stderr := (deployed{Arguments: right, Files: files}).start(t); status != 0 {
		t.Fatal(stderr)
	}
	for what, d := range map[string]deployed{
		"misspelled": {Arguments: append(slices.Clone(right), "--admin-lisen=:9063"), Files: files},
		"no file":    {Arguments: right},
		"left out":   {Arguments: slices.Delete(slices.Clone(right), 1, 2), Files: files},
	} {
		if status, _, _ := d.start(t); status == 0 {
			t.Errorf("%s: it is taken", what)
		}
	}
}

// The keys that docs/operations.md makes are keys for the program.
func TestKeysOfOperations(t *testing.T) {
	if _, err := exec.LookPath("openssl"); err != nil {
		t.Skip("openssl is not here to make keys")
	}
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	lines := regexp.MustCompile(`(?m)^openssl .* >(?:relay\.key|rpc\.key|admin\.token)$`).FindAllString(string(page), -1)
	if len(lines) != 3 {
		t.Fatalf("%q", lines)
	}
	for _, line := range lines {
		shell := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", line)
		shell.Dir = dir
		if said, err := shell.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, said)
		}
	}
	relay, status, _, stderr := callRelay(t, append(slices.Clone(needed),
		"--secret-key-file", filepath.Join(dir, "relay.key"), "--admin-token-file", filepath.Join(dir, "admin.token"))...)
	if status != 0 || relay.relay.Key == nil || relay.relay.AdminToken == "" {
		t.Fatal(stderr)
	}
	bundles, status, _, stderr := call(t, rpcCommand, "--execution-rpc", "http://e",
		"--secret-key-file", filepath.Join(dir, "rpc.key"))
	if status != 0 || bundles.rpc.Key == nil {
		t.Fatal(stderr)
	}
}

// A journal opens on a NATS server with the configuration of deploy, by a password as env.example
// says it, and not by another one.
func TestJournalOnADeployedServer(t *testing.T) {
	const password = "p1e9k4e5" // its digits and letters must not be read as a number with a unit
	t.Setenv("NATS_PASSWORD", password)
	options, err := server.ProcessConfigFile("../../deploy/nats/one.conf")
	if err != nil {
		t.Fatal(err)
	}
	options.Host, options.Port, options.StoreDir = "127.0.0.1", server.RANDOM_PORT, t.TempDir()
	options.NoLog, options.NoSigs, options.JetStreamMaxStore = true, true, 1<<40 // whatever the disk has
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() {
		s.Shutdown()
		s.WaitForShutdown()
	})
	cfg := journal.Config{URL: "nats://gavel:" + password + "@" + s.Addr().String(), StartTimeout: time.Minute,
		EscrowBytes: 64 << 20, FactsBytes: 64 << 20, EvidenceBytes: 8 << 20}
	j, err := journal.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Append(t.Context(), "relay.x", []byte(`{}`)); err != nil {
		t.Error(err)
	}
	if err := j.Close(context.WithoutCancel(t.Context())); err != nil {
		t.Error(err)
	}
	cfg.URL = strings.Replace(cfg.URL, password, "another", 1)
	if _, err := journal.Open(t.Context(), cfg); err == nil {
		t.Error("a stranger opens the journal")
	}
}
