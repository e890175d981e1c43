package replay

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/gavel-relay/gavel/internal/clock"
)

// killAt is the environment variable that makes this test's process an import that kills itself at
// its n-th change of the disk.
const killAt = "GAVEL_TEST_KILL_AT"

// Killed at any change of the disk, an import goes on where it was: in the end no byte of the data
// set, counts included, is other than without the kill.
func TestKilled(t *testing.T) {
	if at := os.Getenv(killAt); at != "" {
		importUntilKilled(t, at, os.Getenv("GAVEL_TEST_INTO"), strings.Split(os.Getenv("GAVEL_TEST_FILES"), "\n"))
		return
	}
	csv := write(t, "day.csv", append(sample(t, "relayscan_all.csv"), "1,2,3\n"...))
	files := []string{csv, all[0], mempoolSample}
	whole := options(t.TempDir())
	whole.BatchRows = 8
	steps := 0
	whole.step = func() { steps++ }
	imported(t, whole, files...)
	if steps < 20 {
		t.Fatalf("only %d changes of the disk", steps)
	}
	want := tree(t, whole.Into)
	for at := 1; at <= steps; at++ {
		o := options(t.TempDir())
		o.BatchRows = 8
		killed(t, at, o.Into, files...)
		opened, err := openCatalogue(o.Into, o.Network, func() {})
		if err != nil {
			t.Fatal(err)
		}
		if err := opened.close(); err != nil {
			t.Fatal(err)
		}
		for name := range tree(t, o.Into) {
			if strings.Contains(name, newMark) {
				t.Errorf("killed at change %d of %d, %s stays", at, steps, name)
			}
		}
		imported(t, o, files...)
		if got := tree(t, o.Into); !maps.Equal(got, want) {
			t.Errorf("killed at change %d of %d, the data set is another: %q in place of %q\n%s", at, steps,
				names(got), names(want),
				got["dataset.json"])
		}
	}
}

// killed imports in a process that kills itself at a change of the disk.
func killed(t *testing.T, at int, into string, files ...string) {
	t.Helper()
	killedIn(t, "TestKilled", at, into, files...)
}

// killedIn runs a test in a process that kills itself at a change of the disk.
func killedIn(t *testing.T, test string, at int, into string, files ...string) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^"+test+"$")
	child.Env = append(os.Environ(), fmt.Sprintf("%s=%d", killAt, at), "GAVEL_TEST_INTO="+into,
		"GAVEL_TEST_FILES="+strings.Join(files, "\n"), "TMPDIR="+t.TempDir()) // what it cannot tidy is tidied here
	out, err := child.CombinedOutput()
	if status, ok := child.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("it was not killed at %d: %v\n%s", at, err, out)
	}
}

// killedRelay are the options of an import from a relay that a process of its own begins.
func killedRelay(into string) Options {
	o := options(into)
	o.FromRelay = FromRelay{From: firstSlot, To: firstSlot + 149, Clock: clock.Real{}}
	return o
}

// Killed at any change of the disk, an import from a relay goes on at its last commit.
func TestKilledFromRelay(t *testing.T) {
	address, _, _ := ourRelay(t, nil)
	whole := killedRelay(t.TempDir())
	steps := 0
	whole.step = func() { steps++ }
	imported(t, whole, address)
	if steps < 10 {
		t.Fatalf("only %d changes of the disk", steps)
	}
	want := tree(t, whole.Into)
	for at := 1; at <= steps; at++ {
		o := killedRelay(t.TempDir())
		killed(t, at, o.Into, address)
		imported(t, o, address)
		if got := tree(t, o.Into); !maps.Equal(got, want) {
			t.Errorf("killed at change %d of %d, the data set is another: %q in place of %q\n%s", at, steps, names(got),
				names(want), got["dataset.json"])
		}
	}
}

func importUntilKilled(t *testing.T, at, into string, files []string) {
	t.Helper()
	o := options(into)
	o.BatchRows = 8
	if IsRelay(files[0]) {
		o = killedRelay(into)
	}
	o.step = killingStep(t, at)
	if _, err := Import(context.Background(), files, o); err != nil {
		t.Fatal(err)
	}
}

// killingStep kills this process when it is called the n-th time.
func killingStep(t *testing.T, at string) func() {
	t.Helper()
	left, err := strconv.Atoi(at)
	if err != nil {
		t.Fatal(err)
	}
	return func() {
		if left--; left == 0 {
			if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
				t.Error(err)
			}
			select {} // the signal comes
		}
	}
}
