package defect_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/gavel-relay/gavel/internal/defect"
)

// leak is what only defects call: it is named as the linker names it.
const leak = "internal/exec/node/state.(*States).leak"

// The program that operators run has no trace of any defect: no name, no words, not even what only defects call. Built with defects it has each name,
// so the defect has a place in a service.
func TestOnlyProgramsThatAreBuiltForItHaveDefects(t *testing.T) {
	production, mutants := build(t), build(t, "-tags", "mutants")
	for _, d := range defect.All {
		for _, text := range []string{string(d.ID), d.What} {
			if bytes.Contains(production, []byte(text)) {
				t.Errorf("the production build has %q", text)
			}
		}
		if !bytes.Contains(mutants, []byte(d.ID)) {
			t.Errorf("no service asks for %s", d.ID)
		}
	}
	if bytes.Contains(production, []byte(leak)) || !bytes.Contains(mutants, []byte(leak)) {
		t.Errorf("want %s in the build with defects, and only there", leak)
	}
}

// build is the program gavel, built with flags.
func build(t *testing.T, flags ...string) []byte {
	t.Helper()
	program := filepath.Join(t.TempDir(), "gavel")
	args := append(append([]string{"build", "-o", program}, flags...), "../../cmd/gavel")
	if out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	code, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

func TestList(t *testing.T) {
	name := regexp.MustCompile(`^(relay|rpc|stream)-[a-z]+(-[a-z]+)*$`)
	seen := map[defect.ID]bool{}
	for _, d := range defect.All {
		if !name.MatchString(string(d.ID)) || seen[d.ID] {
			t.Errorf("%s: want a name of its own, with its service in front", d.ID)
		}
		seen[d.ID] = true
		if found, err := defect.Find(d.ID); err != nil || found.What != d.What {
			t.Errorf("%s: found %v, %v", d.ID, found, err)
		}
	}
	if len(defect.All) < 12 {
		t.Errorf("%d defects, want at least 12", len(defect.All))
	}
	if _, err := defect.Find("relay-perfect"); err == nil {
		t.Error("found what is not there")
	}
}
