package replay

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// fullAt tells a process of its own that files may have no more bytes than so many.
const fullAt = "GAVEL_TEST_FULL"

// onFullDisk runs a test in a process whose files become no longer than some bytes, as if the disk
// were full then, and returns what it said.
func onFullDisk(t *testing.T, test, into string, bytes int, files ...string) string {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	child.Env = append(os.Environ(), fmt.Sprintf("%s=%d", fullAt, bytes), "GAVEL_TEST_INTO="+into,
		"GAVEL_TEST_FILES="+strings.Join(files, "\n"), "TMPDIR="+t.TempDir())
	out, err := child.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// limited says whether this process is one with a full disk, and makes it so.
func limited(t *testing.T) bool {
	t.Helper()
	var most uint64
	if n, _ := fmt.Sscan(os.Getenv(fullAt), &most); n == 0 {
		return false
	}
	signal.Ignore(syscall.SIGXFSZ)
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
		t.Fatal(err)
	}
	return true
}

// An import on a full disk says so, and goes on when there is room again: no byte is another.
func TestImportOnFullDisk(t *testing.T) {
	if limited(t) {
		o := options(os.Getenv("GAVEL_TEST_INTO"))
		o.BatchRows = 8
		_, err := Import(context.Background(), []string{os.Getenv("GAVEL_TEST_FILES")}, o)
		fmt.Printf("import: %v\n", err)
		return
	}
	csv := write(t, "hours.csv", fourHours())
	whole := options(t.TempDir())
	whole.BatchRows = 8
	imported(t, whole, csv)
	for _, room := range []int{1, 300, 2000, 3500} {
		o := options(filepath.Join(t.TempDir(), "set"))
		o.BatchRows = 8
		if said := onFullDisk(t, "TestImportOnFullDisk", o.Into, room, csv); !strings.Contains(said, "file too large") {
			t.Errorf("with room for %d bytes a file: %s", room, said)
		}
		imported(t, o, csv)
		if got, want := tree(t, o.Into), tree(t, whole.Into); !maps.Equal(got, want) {
			t.Errorf("with room for %d bytes a file at first: %q, want %q", room, names(got), names(want))
		}
	}
}

// A generator on a full disk says so, and there is no data set; the next one makes it.
func TestGenerateOnFullDisk(t *testing.T) {
	o := GenerateOptions{Into: os.Getenv("GAVEL_TEST_INTO"), Seed: 9, Slots: 2, Progress: io.Discard}
	if limited(t) {
		_, err := Generate(context.Background(), o)
		fmt.Printf("generate: %v\n", err)
		return
	}
	into := filepath.Join(t.TempDir(), "set")
	for _, room := range []int{1, 4000} {
		if said := onFullDisk(t, "TestGenerateOnFullDisk", into, room); !strings.Contains(said, "file too large") {
			t.Errorf("with room for %d bytes a file: %s", room, said)
		}
		if _, err := os.Stat(into); err == nil {
			t.Errorf("with room for %d bytes a file there is a data set", room)
		}
	}
	generateInto(t, into, o.Seed, o.Slots)
}

// Two generators at one folder: the second one is told, and harms nothing.
func TestSecondGenerator(t *testing.T) {
	o := GenerateOptions{Into: filepath.Join(t.TempDir(), "set"), Seed: 9, Slots: 2, Progress: io.Discard}
	second := o
	tried := false
	o.step = func() {
		if !tried {
			tried = true
			if _, err := Generate(context.Background(), second); !errors.Is(err, errAtWork) {
				t.Errorf("the second one: %v", err)
			}
		}
	}
	if _, err := Generate(context.Background(), o); err != nil || !tried {
		t.Errorf("the first one: %v, %t", err, tried)
	}
	alone := filepath.Join(t.TempDir(), "set")
	generateInto(t, alone, o.Seed, o.Slots)
	wantSameFiles(t, tree(t, o.Into), tree(t, alone))
}
