package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// locals are the two manners of a local escrow.
func locals(t *testing.T, test func(t *testing.T, dir string)) {
	t.Run("memory", func(t *testing.T) { test(t, "") })
	t.Run("file", func(t *testing.T) { test(t, t.TempDir()) })
}

func openLocal(t *testing.T, dir string, room int64) *localEscrow {
	t.Helper()
	e, err := openLocalEscrow(dir, time.Hour, room)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestLocalEscrowLetsTheOldestGo(t *testing.T) {
	locals(t, func(t *testing.T, dir string) {
		e := openLocal(t, dir, 25)
		for _, key := range []string{"1.a", "1.b", "1.a", "1.c"} { // 1.a is newer than 1.b
			if err := e.put(t.Context(), key, bytes.Repeat([]byte{1}, 10)); err != nil {
				t.Fatal(err)
			}
		}
		for key, there := range map[string]bool{"1.a": true, "1.b": false, "1.c": true} {
			if _, err := e.get(t.Context(), key); errors.Is(err, ErrNotFound) == there {
				t.Errorf("%s: %v", key, err)
			}
		}
		if e.taken != 20 || e.order.Len() != 2 {
			t.Errorf("%d bytes in %d values", e.taken, e.order.Len())
		}
		if err := e.drop(t.Context(), "1"); err != nil || e.taken != 0 || len(e.values) != 0 {
			t.Errorf("%d bytes in %d values, %v", e.taken, len(e.values), err)
		}
	})
}

// What was being written when the process died was not acked, and is not there; all else is, with
// its age.
//
//gavel:fault kill
func TestLocalEscrowAfterACrash(t *testing.T) {
	dir := t.TempDir()
	e := openLocal(t, dir, 100)
	for _, key := range []string{"1.new", "1.old"} {
		if err := e.put(t.Context(), key, []byte(key)); err != nil {
			t.Fatal(err)
		}
	}
	long := time.Now().Add(-time.Minute)
	if err := errors.Join(
		os.Chtimes(filepath.Join(dir, "1.old.kept"), long, long), os.WriteFile(filepath.Join(dir, "7.tmp"),
			[]byte("ha"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	e = openLocal(t, dir, int64(12+2*localHeader))
	if value, err := e.get(t.Context(), "1.old"); err != nil || string(value) != "1.old" {
		t.Errorf("%q, %v", value, err)
	}
	if err := e.put(t.Context(), "1.third", []byte("12345")); err != nil {
		t.Fatal(err)
	}
	if _, err := e.get(t.Context(), "1.old"); !errors.Is(err, ErrNotFound) {
		t.Errorf("the oldest did not go first: %v", err)
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("%d files, %v: want two", len(files), err)
	}
}

// Whoever reads a key while it is written anew sees one of its values, whole.
func TestLocalEscrowIsNeverSeenHalfWritten(t *testing.T) {
	locals(t, func(t *testing.T, dir string) {
		e := openLocal(t, dir, 1<<30)
		values := [][]byte{bytes.Repeat([]byte{1}, 1<<20), bytes.Repeat([]byte{2}, 1<<20)}
		if err := e.put(t.Context(), "1.a", values[0]); err != nil {
			t.Fatal(err)
		}
		var group sync.WaitGroup
		for _, value := range values {
			group.Go(func() {
				for range 20 {
					if err := e.put(t.Context(), "1.a", value); err != nil {
						t.Error(err)
					}
					if got, err := e.get(t.Context(), "1.a"); err != nil || !bytes.Equal(got, values[0]) &&
						!bytes.Equal(got, values[1]) {
						t.Errorf("%d bytes, %v", len(got), err)
					}
				}
			})
		}
		group.Wait()
	})
}

// What is left of a value is none: a file that was cut or changed, at whatever place, is not found,
// and never answered as bytes.
//
//gavel:fault power-cut
func TestLocalEscrowNoticesWhatIsNotWhole(t *testing.T) {
	dir := t.TempDir()
	e := openLocal(t, dir, 1<<20)
	if err := e.put(t.Context(), "1.a", []byte("the payload")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "1.a.kept")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	broken := [][]byte{append(bytes.Clone(whole), 0), make([]byte, len(whole))}
	for i := range whole {
		changed := bytes.Clone(whole)
		changed[i] ^= 1
		broken = append(broken, whole[:i], changed)
	}
	for _, raw := range broken {
		if err := os.WriteFile(path, raw, 0o600); err != nil {
			t.Fatal(err)
		}
		newer := len(raw) == len(whole) && raw[len(localMagic)] != 1 && raw[0] != 0
		if value, err := openLocal(t, dir, 1<<20).get(t.Context(), "1.a"); value != nil || !newer &&
			!errors.Is(err, ErrCorrupt) && !errors.Is(err, ErrNotFound) {
			t.Errorf("%q of %x, %v", value, raw, err)
		}
	}
	whole[len(localMagic)] = localVersion + 1
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := e.get(t.Context(), "1.a"); err == nil || errors.Is(err, ErrNotFound) ||
		!strings.Contains(err.Error(), "newer version") {
		t.Errorf("a newer format: %v", err)
	}
}

// Payloads that were sold before an upgrade are found after it.
func TestLocalEscrowOfAnEarlierVersion(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"1.a.value": "payload", "1.cut.value": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	e := openLocal(t, dir, 1<<20)
	if value, err := e.get(t.Context(), "1.a"); err != nil || string(value) != "payload" {
		t.Errorf("%q, %v", value, err)
	}
	if _, err := e.get(t.Context(), "1.cut"); !errors.Is(err, ErrCorrupt) {
		t.Errorf("an empty file: %v", err)
	}
	if err := e.drop(t.Context(), "1"); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 0 {
		t.Errorf("%v, %v: want an empty folder", files, err)
	}
}

//gavel:fault power-cut
func TestLocalEscrowSyncs(t *testing.T) {
	locals(t, func(t *testing.T, dir string) {
		e := openLocal(t, dir, 1<<20)
		if err := e.put(t.Context(), "1.a", []byte("payload")); err != nil {
			t.Fatal(err)
		}
		for _, key := range []string{"1.a", "1.gone"} {
			if err := e.sync(t.Context(), key); err != nil {
				t.Errorf("%s: %v", key, err)
			}
		}
	})
}
