package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func hoursNamed(names ...string) (all []hour) {
	for _, name := range names {
		all = append(all, hour{at: filepath.FromSlash(name)})
	}
	return all
}

// What each shard reads, and what of it is its own.
func TestShardOf(t *testing.T) {
	hours := hoursNamed("day=2023-10-18/21.parquet", "day=2023-10-18/22.parquet", "day=2023-10-24/11.parquet")
	for shard, want := range map[string]string{
		"1/1": "18/21 21:00-22:00, 18/22 22:00-23:00, 24/11 11:00-12:00",
		"1/2": "18/21 21:00-22:00, 18/22 22:00-22:30",
		"2/2": "18/22 22:30-23:00, 24/11 11:00-12:00",
		"2/3": "18/22 22:00-23:00",
		"7/9": "24/11 11:00-11:20",
	} {
		i, n, err := ParseShard(shard)
		if err != nil {
			t.Fatal(err)
		}
		own, parts, err := shardOf(hours, i, n)
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for k, h := range own {
			name := strings.TrimSuffix(strings.TrimPrefix(filepath.ToSlash(h.at), "day=2023-10-"), ".parquet")
			clock := func(seconds int64) string { return time.Unix(seconds, 0).UTC().Format("15:04") }
			texts = append(texts, fmt.Sprintf("%s %s-%s", name, clock(parts[k].from), clock(parts[k].to)))
		}
		if got := strings.Join(texts, ", "); got != want {
			t.Errorf("shard %s reads %s, not %s", shard, got, want)
		}
	}
	for _, name := range []string{"day=2023-10-18/24.parquet", "day=2023-10-18/x.parquet", "day=today/01.parquet"} {
		if _, _, err := shardOf(hoursNamed(name), 1, 1); err == nil {
			t.Errorf("%s passed as an hour", name)
		}
	}
}

// Each second of each hour is in exactly one shard, and no shard reads more hours than its part and
// one at its end.
func TestShardsPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		count, n := rapid.IntRange(0, 50).Draw(t, "hours"), rapid.Int64Range(1, 90).Draw(t, "shards")
		var names []string
		for i := range count {
			names = append(names, fmt.Sprintf("day=2024-01-%02d/%02d.parquet", 1+i/24, i%24))
		}
		hours := hoursNamed(names...)
		var whole int64
		last := int64(0)
		for i := int64(1); i <= n; i++ {
			own, parts, err := shardOf(hours, i, n)
			if err != nil {
				t.Fatal(err)
			}
			if most := (count+int(n)-1)/int(n) + 1; len(own) > most {
				t.Fatalf("shard %d of %d reads %d of %d hours", i, n, len(own), count)
			}
			for k, p := range parts {
				if begins, err := own[k].begins(); err != nil || p.from < begins || p.to > begins+hourSeconds || p.from < last {
					t.Fatalf("shard %d: %v of %s, after %d: %v", i, p, own[k].at, last, err)
				}
				whole, last = whole+p.to-p.from, p.to
			}
		}
		if whole != int64(count)*hourSeconds {
			t.Fatalf("the shards have %d seconds of %d hours", whole, count)
		}
	})
}

// A shard does not open the files of other shards' hours.
func TestShardReadsItsHours(t *testing.T) {
	dir := demoSet(t)
	want := mustRun(t, demoOptions(t, dir, t.TempDir()))
	files, err := filepath.Glob(filepath.Join(dir, "*", "day=*", "*.parquet"))
	if err != nil || len(files) < 2 {
		t.Fatal(files, err)
	}
	hours, err := hoursOf(dir)
	if err != nil {
		t.Fatal(err)
	}
	var slots int64
	for i := range hours {
		broken := t.TempDir()
		if err := os.CopyFS(broken, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if name := strings.TrimPrefix(file, dir); !strings.HasSuffix(name, hours[i].at) {
				if err := os.WriteFile(filepath.Join(broken, name), []byte("not Parquet"), 0o600); err != nil {
					t.Fatal(err)
				}
			}
		}
		o := demoOptions(t, broken, t.TempDir())
		o.Shard, o.Shards = int64(i+1), int64(len(hours))
		slots += mustRun(t, o).Slots
	}
	if slots != want.Slots {
		t.Errorf("the shards replayed %d slots, not %d", slots, want.Slots)
	}
}
