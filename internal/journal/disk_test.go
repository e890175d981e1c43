package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/scenarios/fault"
)

// apart, in the environment, says that the test runs in a namespace of its own.
const apart = "GAVEL_JOURNAL_APART"

// smallDisk is a file system of its own with some bytes. Who is not root has the right to mount it
// in a namespace: the test runs there then, and here it is only heard how that ended (ok is false).
// Where not even that is allowed, the test is skipped.
func smallDisk(t *testing.T, megabytes int) (dir string, ok bool) {
	t.Helper()
	dir = t.TempDir()
	err := syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm", megabytes))
	if errors.Is(err, syscall.EPERM) && os.Getenv(apart) == "" {
		again := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run", "^"+t.Name()+"$")
		again.Env, again.SysProcAttr = append(os.Environ(), apart+"=yes"), fault.Apart()
		said, err := again.CombinedOutput()
		switch {
		case errors.Is(err, syscall.EPERM) || bytes.Contains(said, []byte("--- SKIP: "+t.Name())):
			t.Skipf("a full disk needs the right to mount a file system (run as root): %v %s", err, said)
		case err != nil || !bytes.Contains(said, []byte("--- PASS: "+t.Name())):
			t.Fatalf("%v: %s", err, said)
		}
		return "", false
	}
	if err != nil {
		t.Skipf("a full disk needs the right to mount a file system (run as root): %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir, true
}

// fill takes all room of a disk.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close() // what was written is all that counts
	for _, bytes := range []int{1 << 20, 1} {
		for err = nil; err == nil; {
			_, err = f.Write(make([]byte, bytes))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

// eventually ends with the test's own deadline.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	limit := time.NewTimer(3 * time.Minute) // a server elects within seconds, unless the machine is busy
	defer limit.Stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-limit.C:
			t.Fatal(what)
		}
	}
}

// appended says whether a fact is kept.
func appended(t *testing.T, j *Journal, text string) bool {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := j.Append(ctx, "a", []byte(text))
	return err == nil
}

// On a full disk claims go on, and facts are refused instead of lost in silence. When there is room
// again, everything works again by itself, and nothing that was acked is missing.
//
//gavel:fault disk-full
func TestFullDisk(t *testing.T) {
	mount, ok := smallDisk(t, 256)
	if !ok {
		return
	}
	j, err := Open(t.Context(), Config{Dir: filepath.Join(mount, "journal"), EscrowBytes: 16 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = j.Close(ended) // says that facts were lost, as they were
	})
	if _, err := j.Append(t.Context(), "a", []byte("before")); err != nil {
		t.Fatal(err)
	}
	if err := j.PutState(t.Context(), "relay.kill_switch", []byte("on")); err != nil {
		t.Fatal(err)
	}
	seen := make(chan string, 100)
	go func() {
		_ = j.Read(t.Context(), 1, func(_ uint64, _ time.Time, _ string, data []byte) error {
			seen <- string(data)
			return nil
		})
	}()
	filler := filepath.Join(mount, "filler")
	fill(t, filler)
	for range 3 { // the engine meets the end of the disk: this is what used to stop it for good
		if _, err := j.js.PublishAsync("fact.a", make([]byte, 1<<20)); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "facts are refused", func() bool { return errors.Is(j.AppendAsync("a", nil), ErrDiskLow) })
	if err := j.Health(); !errors.Is(err, ErrDiskLow) {
		t.Errorf("health %v", err)
	}
	for slot := range 20 {
		if _, won, err := j.Claim(t.Context(), fmt.Sprint("slot-", slot), []byte("root")); err != nil || !won {
			t.Errorf("slot %d on a full disk: %v, %v", slot, won, err)
		}
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the journal works again", func() bool { return j.Health() == nil && appended(t, j, "after") })
	if data, err := j.State(t.Context(), "relay.kill_switch"); err != nil || string(data) != "on" {
		t.Errorf("%q, %v", data, err)
	}
	eventually(t, "a reader goes on", func() bool {
		select {
		case got := <-seen:
			return got == "after"
		default:
			return false
		}
	})
	if current, won, err := j.Claim(t.Context(), "slot-3", []byte("other")); err != nil || won ||
		string(current) != "root" {
		t.Errorf("%q, %v, %v: want the claim from the full disk", current, won, err)
	}
}

// A disk that is too small for a journal is told so in our words, with what to do, and nothing but
// the lock of its folder is written.
func TestDiskThatIsTooSmall(t *testing.T) {
	mount, ok := smallDisk(t, 64)
	if !ok {
		return
	}
	dir := filepath.Join(mount, "journal")
	_, err := Open(t.Context(), Config{Dir: dir})
	want := "the journal's disk has room for 64 MiB, a journal needs 128 MiB at least: give it another folder " +
		"(--data-dir) or a larger disk"
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("it is opened with %v, want %q", err, want)
	}
	if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) != 1 ||
		filepath.Base(left[0]) != "lock" {
		t.Errorf("%v, %v were written, want the lock", err, left)
	}
}
