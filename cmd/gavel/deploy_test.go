package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
	arguments := append([]string{"gavel"}, d.Arguments...)
	for path, content := range d.Files {
		own := filepath.Join("../../deploy", content)
		if strings.Contains(content, "\n") {
			own = written(t, filepath.Base(path), content)
		} else if strings.HasSuffix(content, "-key") || strings.HasSuffix(content, "-token") {
			own = written(t, content, testKey)
		}
		for i, argument := range arguments {
			arguments[i] = strings.Replace(argument, path, own, 1)
		}
	}
	for name, value := range d.Env {
		t.Setenv(name, value)
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
	if err := json.Unmarshal(text, &all); err != nil || len(all) < 14 {
		t.Fatal(len(all), err)
	}
	for _, d := range all {
		t.Run(d.From, func(t *testing.T) {
			status, stdout, stderr := d.start(t)
			if status != 0 {
				t.Fatalf("status %d: %s", status, stderr)
			}
			for name := range d.Env {
				if !strings.HasPrefix(name, "GAVEL_") {
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
