package journal

import (
	"testing"
	"time"
)

// The journal knows when its disk last took a claim or state. Facts, claims that stand already, and
// what fails tell nothing of the disk.
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
