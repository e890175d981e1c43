package journal

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// The journal knows when its disk last took a claim, state or synced facts. Facts that
// nobody syncs, claims that stand already, and what fails tell nothing of the disk.
func TestSyncedAgo(t *testing.T) {
	j := open(t, Config{Dir: t.TempDir()})
	if ago := j.SyncedAgo(); ago < 0 || ago > time.Hour {
		t.Errorf("opened %v ago", ago)
	}
	gone := &syncs{dir: t.TempDir(), synced: &j.synced}
	for _, step := range []struct {
		what   string
		do     func() error
		synced bool
		fails  bool
	}{
		{"state", func() error { return j.PutState(t.Context(), "a.b", []byte("1")) }, true, false},
		{"forgotten state", func() error { return j.DropState(t.Context(), "a.b") }, true, false},
		{"claim", func() error { _, _, err := j.Claim(t.Context(), "slot-1", []byte("root")); return err }, true, false},
		{"the same", func() error { _, _, err := j.Claim(t.Context(), "slot-1", []byte("root")); return err }, false, false},
		{"fact", func() error { _, err := j.Append(t.Context(), "a", []byte("{}")); return err }, false, false},
		{"synced facts", j.SyncFacts, true, false},
		{"facts that are gone", gone.facts, false, true},
		{"folder that is gone", gone.state, false, true},
	} {
		before := time.Now().Add(-2 * time.Hour)
		j.synced.last.Store(&before)
		if err := step.do(); (err != nil) != step.fails {
			t.Errorf("%s: %v", step.what, err)
		}
		if recent := j.SyncedAgo() < time.Hour; recent != step.synced {
			t.Errorf("%s: synced %v ago", step.what, j.SyncedAgo())
		}
	}
	if ago := open(t, Config{}).SyncedAgo(); ago != -time.Second {
		t.Errorf("in memory: %v", ago)
	}
}

// Facts are synced that are new, also in the place of others, and no file twice that is as it was.
func TestSyncsWhatHasChanged(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	clean := map[string]fs.FileInfo{}
	for _, step := range []struct {
		what string
		do   func()
		want []string // whose notes are new
	}{
		{"two blocks", func() {
			write("1.blk", "a")
			write("2.blk", "b")
			write("index.db", "c")
		}, []string{"1.blk", "2.blk"}},
		{"nothing new", func() {}, nil},
		{"the newest has grown", func() { write("2.blk", "bb") }, []string{"2.blk"}},
		{"another file of the same length", func() {
			write("new", "x")
			if err := os.Rename(filepath.Join(dir, "new"), filepath.Join(dir, "1.blk")); err != nil {
				t.Fatal(err)
			}
		}, []string{"1.blk"}},
		{"the oldest is gone, and there is a newer one", func() {
			write("3.blk", "d")
			if err := os.Remove(filepath.Join(dir, "1.blk")); err != nil {
				t.Fatal(err)
			}
		}, []string{"3.blk"}},
	} {
		step.do()
		before := maps.Clone(clean)
		if err := syncBlocks(dir, clean); err != nil {
			t.Fatal(err)
		}
		var synced []string
		for name, info := range clean {
			if before[name] != info {
				synced = append(synced, name)
			}
		}
		slices.Sort(synced)
		if !slices.Equal(synced, step.want) {
			t.Errorf("%s: %q are synced, want %q", step.what, synced, step.want)
		}
	}
	if _, held := clean["1.blk"]; held || len(clean) != 2 {
		t.Errorf("%d files are remembered", len(clean))
	}
}
