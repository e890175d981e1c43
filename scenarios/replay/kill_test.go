package replay

import (
	"bytes"
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
	killedEverywhere(t, 20, csv, all[0], mempoolSample)
}

// The same of rows that wait for more of their hour when the batch before is committed.
func TestKilledBetweenHours(t *testing.T) {
	killedEverywhere(t, 5, write(t, "hours.csv", fourHours()))
}

// fourHours is an archive whose hour changes within batches of 8 rows.
func fourHours() []byte {
	var out bytes.Buffer
	out.WriteString("source_type,received_at_ms,timestamp_ms,slot,slot_t_ms,value,block_hash,parent_hash,builder_pubkey," +
		"block_number,block_fee_recipient,relay,proposer_pubkey,proposer_fee_recipient,optimistic_submission\n")
	for i := range 40 {
		slot := 9_000_000 + i/10*300 // ten rows an hour: four of them are in a batch with the hour before
		start := (1606824023 + int64(slot)*12) * 1000
		fmt.Fprintf(&out, "1,%d,%d,%d,0,%d,0x%064x,0x%064x,0x%096x,%d,0x%040x,r,0x%096x,0x%040x,true\n", start+700, start,
			slot, i+1, i, slot, 1, slot, 2, slot, slot)
	}
	return out.Bytes()
}

// killedEverywhere imports files once whole, and once for each change of the disk with a kill
// there.
func killedEverywhere(t *testing.T, least int, files ...string) {
	t.Helper()
	whole := options(t.TempDir())
	whole.BatchRows = 8
	steps := 0
	whole.step = func() { steps++ }
	imported(t, whole, files...)
	if steps < least {
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
