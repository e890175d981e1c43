package journal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fillAll gives a journal something of each kind, and closes it.
func fillAll(t *testing.T, cfg Config) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	j, err := Open(ctx, withTestQuota(cfg))
	if err != nil {
		t.Fatal(err)
	}
	for n := range 500 {
		if err := j.AppendAsync(fmt.Sprint("relay.", n%7), fmt.Appendf(nil, `{"n":%d,"pad":%q}`, n, strings.Repeat("x", n))); err != nil {
			t.Fatal(err)
		}
	}
	for n := range 20 {
		key := fmt.Sprint(n)
		_, _, claimed := j.Claim(ctx, "slot-"+key, []byte("root "+key))
		if err := errors.Join(claimed, j.PutState(ctx, "relay.builder."+fmt.Sprint(n%5), []byte(key)),
			j.Put(ctx, key+".hash", []byte(strings.Repeat(key, 100_000))),
			j.Keep(ctx, key, []byte("evidence "+key))); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(j.KeepNetwork(ctx, map[string]string{"chain": "7"}), j.Flush(ctx), j.Close(ctx)); err != nil {
		t.Fatal(err)
	}
}

// contents is all that a journal has, with numbers and times.
func contents(t *testing.T, cfg Config) []string {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	j, err := attachTo(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{j.ID()}
	for stream, most := range map[string]int{factsName: 500, stateName: 6, evidenceName: 20} {
		s, err := j.js.Stream(ctx, stream)
		if err != nil {
			t.Fatal(err)
		}
		info := s.CachedInfo()
		found := 0
		for seq := info.State.FirstSeq; seq <= info.State.LastSeq; seq++ {
			message, err := s.GetMsg(ctx, seq)
			if err != nil {
				continue // replaced by a later one of its subject
			}
			found++
			all = append(all, fmt.Sprint(stream, seq, message.Time.UnixNano(), message.Subject, string(message.Data)))
		}
		if found != most {
			t.Errorf("%s has %d messages, want %d", stream, found, most)
		}
	}
	for _, name := range []string{guardName, escrowName} {
		count, err := j.values(ctx, cfg, name, func(key string, value []byte) error {
			all = append(all, name+key+string(value))
			return nil
		})
		if err != nil || count != 20 {
			t.Errorf("%s: %d, %v", name, count, err)
		}
	}
	if err := j.Close(ctx); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	return all
}

func wantSame(t *testing.T, got, want []string) {
	t.Helper()
	if slices.Equal(got, want) {
		return
	}
	t.Errorf("%d items, want %d", len(got), len(want))
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Fatalf("item %d is %.200q, want %.200q", i, got[i], want[i])
		}
	}
}

// A backup that is restored is the journal, byte for byte, with numbers and times: of a folder in a
// cluster of three servers, and of that in a folder again.
func TestBackupRestoresAll(t *testing.T) {
	ctx := t.Context()
	folder := Config{Dir: filepath.Join(t.TempDir(), "journal"), FactsBytes: testEscrow, EvidenceBytes: testEscrow}
	fillAll(t, folder)
	want := contents(t, folder)
	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	taken, err := TakeBackup(ctx, folder, first)
	if err != nil || taken.Network["chain"] != "7" {
		t.Fatal(taken, err)
	}
	cluster := Config{URL: startThree(t)[0].ClientURL(), EscrowBytes: testEscrow}
	if _, err := RestoreBackup(ctx, cluster, first); err != nil {
		t.Fatal(err)
	}
	wantSame(t, contents(t, cluster), want)
	overview, err := Show(ctx, cluster)
	if err != nil || len(overview.Streams) != 5 {
		t.Fatal(overview, err)
	}
	for _, s := range overview.Streams {
		if s.Replicas != 3 || s.Leader == "" {
			t.Errorf("%+v, want three replicas and a leader", s)
		}
	}
	if _, err := RestoreBackup(ctx, cluster, first); !errors.Is(err, ErrHasJournal) {
		t.Errorf("over a journal: %v", err)
	}
	if _, err := TakeBackup(ctx, cluster, second); err != nil {
		t.Fatal(err)
	}
	if _, err := TakeBackup(ctx, cluster, second); err == nil {
		t.Error("a backup was written over another")
	}
	back := Config{Dir: filepath.Join(t.TempDir(), "journal"), FactsBytes: testEscrow, EvidenceBytes: testEscrow}
	if _, err := RestoreBackup(ctx, back, second); err != nil {
		t.Fatal(err)
	}
	wantSame(t, contents(t, back), want)
	j := open(t, back) // as a service does
	if _, won, err := j.Claim(ctx, "slot-3", []byte("another root")); err != nil || won {
		t.Errorf("a claim of the backup does not stand: %v, %v", won, err)
	}
	if err := j.KeepNetwork(ctx, map[string]string{"chain": "8"}); !errors.Is(err, ErrOtherNetwork) {
		t.Errorf("%v", err)
	}
}

// A journal that moves into a cluster keeps its identity, so that databases go on with it. Its
// folder is no journal any more, and nothing is moved over another journal.
func TestMoveToACluster(t *testing.T) {
	ctx := t.Context()
	from := Config{Dir: filepath.Join(t.TempDir(), "journal"), FactsBytes: testEscrow, EvidenceBytes: testEscrow}
	fillAll(t, from)
	want := contents(t, from)
	to := Config{URL: startCluster(t, maxValue).ClientURL(), EscrowBytes: testEscrow}
	running, err := Open(ctx, withTestQuota(from))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Move(ctx, from, to); !errors.Is(err, ErrInUse) {
		t.Errorf("while the service runs: %v", err)
	}
	shut(t, running)
	if _, err := Move(ctx, from, to); err != nil {
		t.Fatal(err)
	}
	wantSame(t, contents(t, to), want)
	if _, err := Open(ctx, withTestQuota(from)); !errors.Is(err, ErrCopied) ||
		!strings.Contains(err.Error(), "it was moved there") {
		t.Errorf("the folder is opened again: %v", err)
	}
	other := Config{Dir: filepath.Join(t.TempDir(), "journal"), FactsBytes: testEscrow, EvidenceBytes: testEscrow}
	fillAll(t, other)
	if _, err := Move(ctx, other, to); !errors.Is(err, ErrHasJournal) {
		t.Errorf("over a journal: %v", err)
	}
	still, err := Open(ctx, withTestQuota(other)) // it stays what it was
	if err != nil {
		t.Fatal(err)
	}
	shut(t, still)
	j := open(t, to)
	if at, err := j.Append(ctx, "relay.0", []byte("{}")); err != nil || at != 501 {
		t.Errorf("the next fact is %d, %v", at, err)
	}
}

// A restore that ends in the middle leaves nothing that a service would start on.
func TestPartOfARestoreIsNoJournal(t *testing.T) {
	from := Config{Dir: filepath.Join(t.TempDir(), "journal"), FactsBytes: testEscrow, EvidenceBytes: testEscrow}
	fillAll(t, from)
	dir := filepath.Join(t.TempDir(), "backup")
	b, err := TakeBackup(t.Context(), from, dir)
	if err != nil {
		t.Fatal(err)
	}
	to := Config{URL: startCluster(t, maxValue).ClientURL(), EscrowBytes: testEscrow}
	j, err := attach(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	b.part(factsName).File = "gone"
	if err := j.restore(t.Context(), to, b, dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v", err)
	}
	shut(t, j)
	if j, err := Open(t.Context(), withTestQuota(to)); err == nil || !strings.Contains(err.Error(), unfinished) {
		t.Errorf("%v, want a refusal", err)
		if err == nil {
			shut(t, j)
		}
	}
}

// flip changes a byte in the middle of a file.
func flip(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/2] ^= 0x40
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A damaged backup is not restored; nothing is made of it.
func TestDamagedBackupIsRefused(t *testing.T) {
	from := Config{Dir: filepath.Join(t.TempDir(), "journal"), FactsBytes: testEscrow, EvidenceBytes: testEscrow}
	fillAll(t, from)
	for _, part := range []string{"FACTS.snapshot", "STATE.snapshot", "EVIDENCE.snapshot", "GUARD.tar", "ESCROW.tar"} {
		dir := filepath.Join(t.TempDir(), "backup")
		if _, err := TakeBackup(t.Context(), from, dir); err != nil {
			t.Fatal(err)
		}
		flip(t, filepath.Join(dir, part))
		to := filepath.Join(t.TempDir(), "journal")
		if _, err := RestoreBackup(t.Context(), Config{Dir: to}, dir); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %v", part, err)
		}
		if _, err := os.Stat(to); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a folder was made: %v", part, err)
		}
	}
}

// Check finds a damaged message, a lost file, and a damaged payload; a whole journal has no
// trouble.
func TestCheckFindsDamage(t *testing.T) {
	for name, c := range map[string]struct {
		damage func(t *testing.T, dir string)
		part   string
	}{
		"nothing": {func(*testing.T, string) {}, ""},
		"fact":    {func(t *testing.T, dir string) { flip(t, blockOf(t, dir, factsName)) }, factsName},
		"state":   {func(t *testing.T, dir string) { flip(t, blockOf(t, dir, stateName)) }, stateName},
		"file of facts": {func(t *testing.T, dir string) {
			if err := os.Remove(blockOf(t, dir, factsName)); err != nil {
				t.Fatal(err)
			}
		}, factsName},
		"payload": {func(t *testing.T, dir string) {
			files, err := filepath.Glob(filepath.Join(dir, "escrow", "*"))
			if err != nil || len(files) == 0 {
				t.Fatal(files, err)
			}
			flip(t, files[0])
		}, escrowName},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := Config{Dir: filepath.Join(t.TempDir(), "journal"), FactsBytes: testEscrow, EvidenceBytes: testEscrow}
			fillAll(t, cfg)
			c.damage(t, cfg.Dir)
			list, err := Check(t.Context(), cfg)
			if err != nil || len(list) != 5 {
				t.Fatal(list, err)
			}
			for _, found := range list {
				if (found.Trouble != "") != (found.Part == c.part) {
					t.Errorf("%+v", found)
				}
				if c.part == "" && found.Items == 0 {
					t.Errorf("%+v was not read", found)
				}
			}
		})
	}
	if _, err := Check(t.Context(), Config{Dir: t.TempDir()}); !errors.Is(err, ErrNoJournal) {
		t.Errorf("%v", err)
	}
	if _, err := Check(t.Context(), Config{URL: startCluster(t, maxValue).ClientURL()}); !errors.Is(err, ErrNoJournal) {
		t.Errorf("%v", err)
	}
}

func blockOf(t *testing.T, dir, stream string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(streamFolder(dir, stream), "msgs", "*"+blockSuffix))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	return files[0]
}
