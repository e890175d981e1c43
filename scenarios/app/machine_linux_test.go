package app

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/gavel-relay/gavel/scenarios"
)

// hideDevices leaves nothing in /dev, for this process's mount namespace.
func hideDevices() error { return syscall.Mount("tmpfs", "/dev", "tmpfs", 0, "") }

// A story that breaks a disk is skipped, with the reason and what to do, where there is no
// /dev/fuse: nothing ran, and it is none that ended as it must.
func TestStoryThatThisMachineCannotTell(t *testing.T) {
	p, err := scenarios.Parse("cut.yaml",
		[]byte("faults: [{fault: power cut, on: relay-1, from: slot 2, key: true}]\nexpect: [no delivered in slot 2]"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	result, err := Run(t.Context(), p,
		Options{Dir: dir, Prove: true, Program: []string{os.Args[0], asServiceWithoutDevice}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"there is no /dev/fuse", "modprobe fuse"} {
		if !strings.Contains(result.Skipped, want) {
			t.Errorf("it is skipped because %q, want %q", result.Skipped, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 || len(result.Variants) != 0 || result.OK() {
		t.Errorf("%d runs, folders %v (%v), ended as it must: %v; want nothing of that", len(result.Variants), left,
			err, result.OK())
	}
}
