package fault

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"pgregory.net/rapid"
)

func ok(t interface{ Errorf(string, ...any) }, errno syscall.Errno) {
	if errno != 0 {
		t.Errorf("%v", errno)
	}
}

// write makes a file with some contents, and returns it.
func (d *Disk) file(t *testing.T, in *node, name, contents string) *node {
	t.Helper()
	n, errno := d.create(in, name, false, 0o600)
	ok(t, errno)
	ok(t, d.write(n, []byte(contents), 0))
	return n
}

// contents is all that a folder has, by path.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all, err := files(dir)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func files(dir string) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[name] = string(text)
		return err
	})
	return all, err
}

// saved is what the disk has.
func (d *Disk) saved(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "old"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := d.Save(dir); err != nil {
		t.Fatal(err)
	}
	return contents(t, dir)
}

// What a power cut leaves is what was synced: contents as they were then, and names.
//
//gavel:fault power-cut
func TestPowerCut(t *testing.T) {
	d := NewDisk()
	folder, errno := d.create(d.root, "folder", true, 0o700)
	ok(t, errno)
	synced := d.file(t, folder, "synced", "one")
	d.sync(synced)
	ok(t, d.write(synced, []byte("two, longer"), 0))
	d.file(t, folder, "never synced", "x")
	grown := d.file(t, d.root, "grown", "abcdef")
	d.sync(grown)
	ok(t, d.resize(grown, 3))
	ok(t, d.write(grown, []byte("g"), 3))
	d.sync(grown)

	temporary := d.file(t, d.root, "temporary", "new")
	d.sync(temporary)
	ok(t, d.rename(d.root, "temporary", d.root, "final"))
	moved := d.file(t, d.root, "before", "moved")
	d.sync(moved)
	ok(t, d.rename(d.root, "before", folder, "after"))
	d.sync(moved)
	d.sync(d.file(t, folder, "removed", "back again"))
	ok(t, d.remove(folder, "removed", false))

	if got, want := d.saved(t), map[string]string{
		"folder/synced": "two, longer", "folder/never synced": "x", "grown": "abcg", "final": "new", "folder/after": "moved",
	}; !maps.Equal(got, want) {
		t.Errorf("it has %q, want %q", got, want)
	}
	d.Cut()
	want := map[string]string{
		"folder/synced": "one", "grown": "abcg", "temporary": "new", "folder/after": "moved", "folder/removed": "back again",
	}
	if got := d.saved(t); !maps.Equal(got, want) {
		t.Errorf("after the power cut it has %q, want %q", got, want)
	}
	d.Cut()
	if got := d.saved(t); !maps.Equal(got, want) {
		t.Errorf("a second one changes it to %q", got)
	}
}

// A folder that is synced keeps its names, also those of files without contents, and forgets the
// names that are gone.
func TestSyncedFolder(t *testing.T) {
	d := NewDisk()
	d.file(t, d.root, "empty", "not synced")
	gone := d.file(t, d.root, "gone", "x")
	d.sync(gone)
	ok(t, d.remove(d.root, "gone", false))
	old := d.file(t, d.root, "old", "renamed")
	d.sync(old)
	ok(t, d.rename(d.root, "old", d.root, "new"))
	d.sync(d.root)
	d.Cut()
	if got, want := d.saved(t), map[string]string{"empty": "", "new": "renamed"}; !maps.Equal(got, want) {
		t.Errorf("it has %q, want %q", got, want)
	}
}

// A full disk takes no more blocks than it has: what is there can be written again, and what is
// removed makes room.
//
//gavel:fault disk-full
func TestFullDisk(t *testing.T) {
	d := NewDisk()
	n := d.file(t, d.root, "file", "abc")
	other := d.file(t, d.root, "other", string(make([]byte, 2*BlockBytes)))
	d.Full(true)
	ok(t, d.write(n, []byte("within its block"), 0))
	if errno := d.write(n, make([]byte, BlockBytes), 1); errno != syscall.ENOSPC {
		t.Errorf("a block more: %v", errno)
	}
	if _, errno := d.create(d.root, "one more", false, 0o600); errno != syscall.ENOSPC {
		t.Errorf("a file more: %v", errno)
	}
	ok(t, d.resize(other, 1))
	ok(t, d.write(n, make([]byte, BlockBytes), 1))
	if errno := d.write(n, make([]byte, BlockBytes), BlockBytes+1); errno != syscall.ENOSPC {
		t.Errorf("more than what was made free: %v", errno)
	}
	ok(t, d.remove(d.root, "other", false))
	ok(t, d.write(n, make([]byte, BlockBytes), BlockBytes+1))
	d.Full(false)
	ok(t, d.write(n, make([]byte, 64*BlockBytes), 0))
}

// What cannot be is refused in the system's words.
func TestMistakes(t *testing.T) {
	d := NewDisk()
	d.file(t, d.root, "file", "")
	folder, _ := d.create(d.root, "folder", true, 0o700)
	d.file(t, folder, "inside", "")
	_, exists := d.create(d.root, "file", false, 0)
	_, none := d.lookup(d.root, "none")
	for what, c := range map[string]struct{ got, want syscall.Errno }{
		"a name twice":           {exists, syscall.EEXIST},
		"a name that is not":     {none, syscall.ENOENT},
		"remove nothing":         {d.remove(d.root, "none", false), syscall.ENOENT},
		"remove a folder":        {d.remove(d.root, "folder", false), syscall.EISDIR},
		"remove a file":          {d.remove(d.root, "file", true), syscall.ENOTDIR},
		"remove a full folder":   {d.remove(d.root, "folder", true), syscall.ENOTEMPTY},
		"rename nothing":         {d.rename(d.root, "none", d.root, "x"), syscall.ENOENT},
		"rename onto a folder":   {d.rename(d.root, "file", d.root, "folder"), syscall.EEXIST},
		"rename onto itself":     {d.rename(d.root, "file", d.root, "file"), 0},
		"read beyond the end":    {syscall.Errno(d.read(folder, make([]byte, 9), 5)), 0},
		"write without its name": {d.write(&node{}, []byte("x"), 0), 0},
	} {
		if c.got != c.want {
			t.Errorf("%s: %v, want %v", what, c.got, c.want)
		}
	}
}

// Whatever is written, cut and synced in whatever order: a power cut leaves the contents of the
// last sync, and room is counted right.
func TestKeptIsTheLastSync(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := NewDisk()
		n, _ := d.create(d.root, "file", false, 0o600)
		var data, kept []byte
		named := false
		for range rapid.IntRange(1, 30).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0, 1:
				at, text := rapid.IntRange(0, 3*BlockBytes).Draw(t, "at"), rapid.SliceOfN(rapid.Byte(), 1,
					2*BlockBytes).Draw(t, "text")
				ok(t, d.write(n, text, int64(at)))
				if missing := at + len(text) - len(data); missing > 0 {
					data = append(data, make([]byte, missing)...)
				}
				copy(data[at:], text)
			case 2:
				size := rapid.IntRange(0, 4*BlockBytes).Draw(t, "size")
				ok(t, d.resize(n, size))
				data = append(slices.Clone(data[:min(size, len(data))]), make([]byte, max(0, size-len(data)))...)
			case 3:
				d.sync(n)
				kept, named = slices.Clone(data), true
			}
			if !slices.Equal(n.data, data) || d.used != 1+blocksOf(len(data)) {
				t.Fatalf("it has %d bytes in %d blocks, want %d bytes", len(n.data), d.used, len(data))
			}
		}
		d.Cut()
		found, _ := d.lookup(d.root, "file")
		if (found != nil) != named {
			t.Fatalf("the file is there: %v, want %v", found != nil, named)
		}
		if found != nil && (!slices.Equal(found.data, kept) || d.used != 1+blocksOf(len(kept))) {
			t.Fatalf("%d bytes in %d blocks are left, want %d bytes", len(found.data), d.used, len(kept))
		}
	})
}

// What a folder has is kept, and comes back as it was.
func TestLoadAndSave(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"file": "1", "a/file": "22", "a/b/file": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	d, err := LoadDisk(dir)
	if err != nil {
		t.Fatal(err)
	}
	before := contents(t, dir)
	if got := d.saved(t); !maps.Equal(got, before) {
		t.Errorf("it has %q, want %q", got, before)
	}
	d.Cut()
	if got := d.saved(t); !maps.Equal(got, before) {
		t.Errorf("after a power cut it has %q, want %q", got, before)
	}
	if _, err := LoadDisk(filepath.Join(dir, "none")); err == nil {
		t.Error("a folder that is not there was loaded")
	}
	if err := d.Save(filepath.Join(dir, "none")); err == nil {
		t.Error("it was saved to a folder that is not there")
	}
}
