package fault

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
	"golang.org/x/sys/unix"
)

// What makes this test binary another program than the tests: useDir one that uses a mounted disk
// in that folder, databaseDir one that has a database in it, asNobody one that becomes an ordinary
// user and starts such a one, withoutDevice one that mounts where there is no /dev/fuse.
const (
	useDir        = "GAVEL_TEST_MOUNT_DIR"
	databaseDir   = "GAVEL_TEST_MOUNT_DATABASE_DIR"
	asNobody      = "GAVEL_TEST_MOUNT_AS_NOBODY"
	withoutDevice = "GAVEL_TEST_MOUNT_WITHOUT_DEVICE"
)

func TestMain(m *testing.M) {
	var err error
	switch {
	case os.Getenv(serviceDir) != "":
		err = changeState(os.Getenv(serviceDir))
	case os.Getenv(journalDir) != "":
		err = useJournal(os.Getenv(useDir))
	case os.Getenv(databaseDir) != "":
		err = useDatabase(os.Getenv(databaseDir))
	case os.Getenv(useDir) != "":
		err = useMounted(os.Getenv(useDir))
	case os.Getenv(asNobody) != "":
		err = useAsNobody()
	case os.Getenv(withoutDevice) != "":
		err = mountWithoutDevice(os.Getenv(withoutDevice))
	default:
		os.Exit(m.Run())
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// A mounted disk is one for whoever uses it: files, folders, locks, a database with its shared
// memory; it is full when it is full, and a power cut leaves what was synced.
//
//gavel:fault disk-full power-cut
func TestMount(t *testing.T) {
	onDisk(t, t.TempDir())
}

// None of that needs root: an ordinary user has it, if /dev/fuse is open to all, as udev has it.
// Where it is not, it is so in a namespace of the test's own, for which it must be root.
//
//gavel:fault disk-full power-cut
func TestMountAsAnOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		onDisk(t, t.TempDir())
		return
	}
	if err := device(); err != nil {
		t.Skipf("this machine cannot mount a disk for a user: %v", err)
	}
	err := become(t, []string{asNobody + "=yes"}, &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS,
		Pdeathsig: syscall.SIGKILL})
	if err != nil && strings.Contains(err.Error(), "as user ") { // it got so far, and then the machine is able to
		t.Fatal(err)
	}
	mustUse(t, err)
}

// onDisk runs this test binary as one that mounts a disk in a folder.
func onDisk(t *testing.T, dir string, env ...string) {
	t.Helper()
	mustUse(t, become(t, append(env, useDir+"="+dir), Apart()))
}

// become runs this test binary as another program. The error has what that said.
func become(t *testing.T, env []string, attr *syscall.SysProcAttr) error {
	t.Helper()
	user := exec.CommandContext(t.Context(), os.Args[0])
	user.Env, user.SysProcAttr = append(os.Environ(), env...), attr
	if said, err := user.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, said)
	}
	return nil
}

// mustUse is how a use of a mounted disk must end. Where the machine lets nobody mount one, the
// test is skipped.
func mustUse(t *testing.T, err error) {
	t.Helper()
	switch {
	case err == nil:
	case strings.Contains(err.Error(), "operation not permitted"), strings.Contains(err.Error(), "/dev/fuse"):
		t.Skipf("this machine cannot mount a disk for a user: %v", err)
	default:
		t.Fatal(err)
	}
}

// nobody is a user that owns nothing and may do nothing.
const nobody = 65534

// useAsNobody lets an ordinary user use a mounted disk. It is root in a mount namespace that ends
// with it, where it hides what it needs the place of: the folder for temporary files, which gets
// one of that user's and this program, and /dev/fuse, which is open to all.
func useAsNobody() error {
	binary, err := os.ReadFile(os.Args[0])
	if err != nil {
		return err
	}
	place := os.TempDir()
	program, device, dir := filepath.Join(place, "program"), filepath.Join(place, "fuse"), filepath.Join(place, "data")
	for _, do := range []func() error{
		func() error { return syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, "") },
		func() error { return syscall.Mount("tmpfs", place, "tmpfs", 0, "mode=755") },
		func() error { return os.WriteFile(program, binary, 0o755) }, // the user is to run it
		func() error { return syscall.Mknod(device, syscall.S_IFCHR, 10<<8|229) },
		func() error { return os.Chmod(device, 0o666) }, // as udev has it
		func() error { return syscall.Mount(device, "/dev/fuse", "", syscall.MS_BIND, "") },
		func() error { return os.Mkdir(dir, 0o700) },
		func() error { return os.Chown(dir, nobody, nobody) },
		func() error { return os.Chdir("/") },
		func() error { return syscall.Setgroups(nil) },
		func() error { return syscall.Setgid(nobody) },
		func() error { return syscall.Setuid(nobody) },
		// as a user's own program is: else its /proc is root's
		func() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) },
	} {
		if err := do(); err != nil {
			return err
		}
	}
	user := exec.Command(program) // this program, which ends by itself
	user.Env, user.SysProcAttr = []string{useDir + "=" + dir}, Apart()
	if said, err := user.CombinedOutput(); err != nil {
		return fmt.Errorf("as user %d: %w: %s", os.Getuid(), err, said)
	}
	return nil
}

// Where there is no /dev/fuse it is said, with what to do.
func TestMountWithoutTheDevice(t *testing.T) {
	err := become(t, []string{withoutDevice + "=" + t.TempDir()}, Apart())
	if want := "mount disk: there is no /dev/fuse: load the kernel's module fuse"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("it said %v, want %s…", err, want)
	}
}

// mountWithoutDevice hides all devices, in a namespace of its own.
func mountWithoutDevice(dir string) error {
	if err := syscall.Mount("tmpfs", "/dev", "tmpfs", 0, ""); err != nil {
		return err
	}
	_, err := NewDisk().Mount(dir)
	return err
}

func useMounted(dir string) error {
	d := NewDisk()
	unmount, err := d.Mount(dir)
	if err != nil {
		return err
	}
	err = errors.Join(useFiles(d, dir), startDatabase(dir), unmount())
	d.Cut()
	if err := errors.Join(err, d.Save(dir)); err != nil {
		return err
	}
	left, err := files(dir)
	if err != nil {
		return err
	}
	// What a database syncs is its own decision.
	maps.DeleteFunc(left, func(name, _ string) bool { return !strings.HasPrefix(name, "folder/") && name != "temporary" })
	if want := map[string]string{"folder/kept": "kept"}; !maps.Equal(left, want) {
		return fmt.Errorf("the power cut left %q, want %q", left, want)
	}
	return nil
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
	if err := errors.Join(os.WriteFile(path, []byte(big), 0o600),
		os.Rename(path, filepath.Join(folder, "big"))); err != nil {
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

// startDatabase uses a database in a process of its own. It maps its shared memory, which the
// kernel writes back when it is unmapped and until then gives the process no memory: if that
// process had to do the writing, both would wait for ever.
func startDatabase(dir string) error {
	user := exec.Command(os.Args[0]) // this program, which ends by itself
	user.Env = append(os.Environ(), databaseDir+"="+dir)
	if said, err := user.CombinedOutput(); err != nil {
		return fmt.Errorf("use a database: %w: %s", err, said)
	}
	return nil
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
