package journal

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// wordIn is the word that a refusal names.
var wordIn = regexp.MustCompile(`--journal-moved ([0-9a-f]{8})$`)

// refusedCopy opens a folder that must be refused as a copy, and returns the word that takes it
// over.
func refusedCopy(t *testing.T, cfg Config) string {
	t.Helper()
	j, err := Open(t.Context(), withTestQuota(cfg))
	if err == nil {
		shut(t, j)
	}
	if !errors.Is(err, ErrCopied) {
		t.Fatalf("%v, want a refusal", err)
	}
	found := wordIn.FindStringSubmatch(err.Error())
	if found == nil {
		t.Fatalf("the refusal does not say what to do: %v", err)
	}
	return found[1]
}

// lived is a folder whose journal has had a claim and was closed.
func lived(t *testing.T, dir string) {
	t.Helper()
	j, err := Open(t.Context(), withTestQuota(Config{Dir: dir}))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := j.Claim(t.Context(), "slot-1", []byte("root")); err != nil {
		t.Fatal(err)
	}
	shut(t, j)
}

func command(t *testing.T, name string, args ...string) {
	t.Helper()
	if said, err := exec.CommandContext(t.Context(), name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, said)
	}
}

// A copy of a folder would be a second guard. It is refused, until somebody says that it is the
// only one by the word of this copy; that word takes over no other copy, and the folder that it was
// made of is not concerned.
func TestCopiedFolderIsRefused(t *testing.T) {
	for name, copied := range map[string]func(t *testing.T, from, to string){
		"cp -a": func(t *testing.T, from, to string) { command(t, "cp", "-a", from, to) },
		"tar": func(t *testing.T, from, to string) {
			archive := filepath.Join(t.TempDir(), "backup.tar")
			command(t, "tar", "-C", from, "-cf", archive, ".")
			if err := os.Mkdir(to, 0o700); err != nil {
				t.Fatal(err)
			}
			command(t, "tar", "-C", to, "-xf", archive)
		},
	} {
		t.Run(name, func(t *testing.T) {
			home := t.TempDir()
			original := filepath.Join(home, "original")
			lived(t, original)
			first, second := filepath.Join(home, "first"), filepath.Join(home, "second")
			copied(t, original, first)
			copied(t, original, second)

			word := refusedCopy(t, Config{Dir: first})
			if again := refusedCopy(t, Config{Dir: first, Moved: "00000000"}); again != word {
				t.Errorf("the word is %s, then %s", word, again)
			}
			refusedCopy(t, Config{Dir: second, Moved: word})
			open(t, Config{Dir: original})

			j, err := Open(t.Context(), withTestQuota(Config{Dir: first, Moved: word}))
			if err != nil {
				t.Fatal(err)
			}
			if _, won, err := j.Claim(t.Context(), "slot-1", []byte("other")); err != nil || won {
				t.Errorf("%v, %v: the claim of the original stands", won, err)
			}
			shut(t, j)
			open(t, Config{Dir: first}) // it is at home now
			third := filepath.Join(home, "third")
			copied(t, original, third)
			refusedCopy(t, Config{Dir: third, Moved: word}) // a flag that was left in a configuration
		})
	}
}

// A folder that was moved within its file system, or is seen under another path, is the same one.
func TestMovedFolderIsTheSame(t *testing.T) {
	home := t.TempDir()
	before, after, seen := filepath.Join(home, "before"), filepath.Join(home, "after"), filepath.Join(home, "seen")
	lived(t, before)
	if err := os.Rename(before, after); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(after, seen); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{after, seen} {
		j, err := Open(t.Context(), withTestQuota(Config{Dir: dir}))
		if err != nil {
			t.Fatal(err)
		}
		shut(t, j)
	}
}

// A backup that is unpacked over the folder leaves the folder, and an older guard in it.
func TestBackupOverTheFolderIsRefused(t *testing.T) {
	home := t.TempDir()
	dir, backup := filepath.Join(home, "journal"), filepath.Join(home, "backup.tar")
	lived(t, dir)
	command(t, "tar", "-C", dir, "-cf", backup, ".")
	command(t, "tar", "-C", dir, "-xf", backup)
	word := refusedCopy(t, Config{Dir: dir})
	open(t, Config{Dir: dir, Moved: word})
}

// The folder of an earlier version, which wrote down nothing, is at home where it is; one of a
// newer version is refused, and so is one whose writing cannot be read.
func TestFolderWithoutAPlace(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	lived(t, dir)
	path := filepath.Join(dir, locationName)
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	lived(t, dir)
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
	if err := os.WriteFile(path, []byte(`{"format":2}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), withTestQuota(Config{Dir: dir})); err == nil || errors.Is(err, ErrCopied) ||
		!strings.Contains(err.Error(), "newer version") {
		t.Errorf("%v", err)
	}
	if err := os.WriteFile(path, []byte(`{"fo`), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, Config{Dir: dir, Moved: refusedCopy(t, Config{Dir: dir})})
}

// What makes a place another one. What one of both does not know says nothing.
func TestPlaceMoved(t *testing.T) {
	at := location{
		Folder: fileNumber{7, "1.5"}, Guard: fileNumber{8, "1.6"}, FileSystem: "f", Machine: "m", Path: "/p", Host: "h",
	}
	for name, row := range map[string]struct {
		change func(p *location)
		moved  bool
	}{
		"nothing":                              {func(*location) {}, false},
		"path":                                 {func(p *location) { p.Path = "/q" }, false},
		"name of the host":                     {func(p *location) { p.Host = "i" }, false},
		"folder":                               {func(p *location) { p.Folder.Inode = 9 }, true},
		"folder, whose number was given again": {func(p *location) { p.Folder.Born = "2.5" }, true},
		"guard's file":                         {func(p *location) { p.Guard.Inode = 9 }, true},
		"guard's file is made anew":            {func(p *location) { p.Guard = fileNumber{} }, false},
		"births are not known any more":        {func(p *location) { p.Folder.Born, p.Guard.Born = "", "" }, false},
		"snapshot":                             {func(p *location) { p.FileSystem = "g" }, true},
		"machine":                              {func(p *location) { p.Machine = "n" }, true},
		"container without a machine":          {func(p *location) { p.Machine = "" }, false},
		"file system without numbers":          {func(p *location) { p.Folder, p.Guard = fileNumber{}, fileNumber{} }, true},
	} {
		now := at
		row.change(&now)
		if how := at.moved(&now); (len(how) > 0) != row.moved {
			t.Errorf("%s: %q", name, how)
		}
		if how := now.moved(&at); (len(how) > 0) != row.moved {
			t.Errorf("%s, the other way: %q", name, how)
		}
		if same := word(nil, &at) == word(nil, &now); same && row.moved {
			t.Errorf("%s: one word for two places", name)
		}
	}
	unnumbered := location{Path: "/p"}
	if how := unnumbered.moved(&location{Path: "/q"}); !slices.Equal(how, []string{"it is at another path"}) {
		t.Errorf("without numbers: %q", how)
	}
	if how := unnumbered.moved(&location{Path: "/p"}); how != nil {
		t.Errorf("without numbers, the same path: %q", how)
	}
}

// A machine's identity is not written down as it is, and one that an image has not yet is none.
func TestMachine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "machine-id")
	of := func(text string) string {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return machineIn(file)
	}
	a, b := of("0123456789abcdef0123456789abcdef\n"), of("1123456789abcdef0123456789abcdef\n")
	if a == "" || a == b || strings.Contains(a, "0123456789abcdef") {
		t.Errorf("%q, %q", a, b)
	}
	if got := of("uninitialized\n"); got != "" {
		t.Errorf("%q", got)
	}
	if got := machineIn(file + "s"); got != "" {
		t.Errorf("%q", got)
	}
}

// The numbers that places are told apart by are there where this is run.
func TestNumbers(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("other systems are asked for inodes alone")
	}
	dir := t.TempDir()
	lasting, _, err := numbering(dir)
	if err != nil {
		t.Fatal(err)
	}
	n, err := numberOf(dir)
	if err != nil || n.Inode == 0 {
		t.Errorf("%+v, %v", n, err)
	}
	t.Logf("numbers last: %v, %+v", lasting, n)
}
