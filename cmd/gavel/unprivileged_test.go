package main

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// nobody is a user that owns nothing and may do nothing.
const nobody = 65534

// The relay needs no privilege: as the built program, run by an ordinary user with a data folder of
// its own, it gets ready, keeps what it writes from everybody else, and ends in good order.
func TestRelayRunsAsAnOrdinaryUser(t *testing.T) {
	home := ownHome(t)
	program, data := filepath.Join(home, "gavel"), filepath.Join(home, "data")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	beaconURL, validationURL := world(t)
	public := freePort(t)
	relay := exec.CommandContext(t.Context(), program, "relay", "--beacon", beaconURL, "--validation-node", validationURL,
		"--listen", public,
		"--admin-listen", "", "--data-dir", data, "--log-level", "error")
	relay.Dir, relay.Env = home, []string{secretKeyEnv + "=" + testKey}
	relay.SysProcAttr = &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		relay.SysProcAttr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	var said bytes.Buffer
	relay.Stderr = &said
	if err := relay.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- relay.Wait() }()

	until(t, "http://"+public+"/readyz", 200, ended)
	wantPrivate(t, data)
	if err := relay.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("%v: %s", err, said.String())
	}
}

// ownHome is a folder of the user that the program will run as. Folders of the test itself are
// closed to others than the test's user.
func ownHome(t *testing.T) string {
	t.Helper()
	home, err := os.MkdirTemp("", "gavel-home-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	if os.Getuid() == 0 {
		if err := os.Chown(home, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// wantPrivate wants a folder, with something in it, that only its owner can enter, and that does
// not belong to root.
func wantPrivate(t *testing.T, folder string) {
	t.Helper()
	about, err := os.Stat(folder)
	if err != nil {
		t.Fatal(err)
	}
	if mode := about.Mode(); mode != fs.ModeDir|0o700 {
		t.Errorf("the data folder is %s", mode)
	}
	if owner := about.Sys().(*syscall.Stat_t).Uid; owner == 0 {
		t.Error("the data folder belongs to root")
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) == 0 {
		t.Errorf("the data folder has %d files, %v", len(files), err)
	}
}
