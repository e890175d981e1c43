package disk

import (
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/gofrs/flock"
	_ "github.com/mattn/go-sqlite3" // what the services keep on disks
)

// mountDir, in the environment, makes this test binary one that uses a mounted disk in that folder.
const mountDir = "GAVEL_TEST_MOUNT_DIR"

func TestMain(m *testing.M) {
	if dir := os.Getenv(mountDir); dir != "" {
		use := useMounted
		if os.Getenv(journalDir) != "" {
			use = useJournal
		}
		if service := os.Getenv(serviceDir); service != "" {
			use = changeState
		}
		if err := use(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// A mounted disk is one for whoever uses it: files, folders, locks, a database with its shared memory; it is full when it is full, and a power cut leaves
// what was synced.
func TestMount(t *testing.T) {
	dir := t.TempDir()
	onDisk(t, dir)
	left, want := contents(t, dir), map[string]string{"folder/kept": "kept"}
	// What a database syncs is its own decision.
	maps.DeleteFunc(left, func(name, _ string) bool { return !strings.HasPrefix(name, "folder/") && name != "temporary" })
	if !maps.Equal(left, want) {
		t.Errorf("the power cut left %q, want %q", left, want)
	}
}

// onDisk runs this test binary as one that mounts a disk in a folder.
func onDisk(t *testing.T, dir string, env ...string) {
	t.Helper()
	user := exec.CommandContext(t.Context(), os.Args[0])
	user.Env, user.SysProcAttr = append(append(os.Environ(), mountDir+"="+dir), env...), Apart()
	if said, err := user.CombinedOutput(); err != nil {
		if text := err.Error() + string(said); strings.Contains(text, "operation not permitted") || strings.Contains(text, "/dev/fuse") {
			t.Skipf("SKIPPED: this machine cannot mount a disk for a user: %s", text)
		}
		t.Fatalf("%v: %s", err, said)
	}
}

func useMounted(dir string) error {
	d := New()
	unmount, err := d.Mount(dir)
	if err != nil {
		return err
	}
	err = errors.Join(useFiles(d, dir), useDatabase(dir), unmount())
	d.Cut()
	return errors.Join(err, d.Save(dir))
}

func useFiles(d *Disk, dir string) error {
	folder, big := filepath.Join(dir, "folder"), strings.Repeat("x", 1<<20)
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	kept, err := os.Create(filepath.Join(folder, "kept"))
	if err != nil {
		return err
	}
	_, err = kept.WriteString("kept")
	if err := errors.Join(err, kept.Sync(), kept.Close()); err != nil {
		return err
	}
	path := filepath.Join(dir, "temporary")
	if err := errors.Join(os.WriteFile(path, []byte(big), 0o600), os.Rename(path, filepath.Join(folder, "big"))); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(folder, "big"))
	entries, listErr := os.ReadDir(folder)
	if err := errors.Join(err, listErr); err != nil || string(text) != big || len(entries) != 2 {
		return fmt.Errorf("%d bytes were read, %d files listed: %w", len(text), len(entries), err)
	}
	one, two := flock.New(filepath.Join(dir, "lock")), flock.New(filepath.Join(dir, "lock"))
	held, err := one.TryLock()
	if again, otherErr := two.TryLock(); !held || again || errors.Join(err, otherErr) != nil {
		return fmt.Errorf("locked: %v, and once more: %v: %w", held, again, errors.Join(err, otherErr))
	}
	d.Full(true)
	err = os.WriteFile(filepath.Join(dir, "too much"), []byte(big), 0o600)
	d.Full(false)
	if !errors.Is(err, syscall.ENOSPC) {
		return fmt.Errorf("a full disk says %w", err)
	}
	return one.Unlock()
}

func useDatabase(dir string) error {
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(dir, "db")+"?_journal_mode=WAL&_synchronous=OFF")
	if err != nil {
		return err
	}
	var sum int
	_, err = db.Exec("CREATE TABLE t (n INTEGER)")
	for n := range 100 {
		_, insertErr := db.Exec("INSERT INTO t VALUES (?)", n)
		err = errors.Join(err, insertErr)
	}
	err = errors.Join(err, db.QueryRow("SELECT sum(n) FROM t").Scan(&sum), db.Close())
	if err == nil && sum != 4950 {
		err = fmt.Errorf("the sum is %d", sum)
	}
	return err
}
