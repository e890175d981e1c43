package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// frailFile is a file whose writes are lost by a power cut unless they were synced. Of what was not
// synced, the cut may leave any part, also half a record.
type frailFile struct {
	mu     sync.Mutex
	synced []byte
	now    []byte
	syncs  int
	fail   error // what writes and syncs answer
}

// frailPlaces is how many claims a frail file has room for.
const (
	frailPlaces = 32
	frailLength = frailPlaces * claimSize
)

func newFrailFile() *frailFile {
	return &frailFile{synced: make([]byte, frailLength), now: make([]byte, frailLength)}
}

func (f *frailFile) ReadAt(into []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if n := copy(into, f.now[at:]); n < len(into) {
		return n, io.EOF
	}
	return len(into), nil
}

func (f *frailFile) WriteAt(data []byte, at int64) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return 0, f.fail
	}
	return copy(f.now[at:], data), nil
}

func (f *frailFile) Sync() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return f.fail
	}
	f.syncs++
	copy(f.synced, f.now)
	return nil
}

func (f *frailFile) Close() error { return nil }

// cut is what a power cut leaves: all that was synced, and the first part of what was not.
func (f *frailFile) cut(part int) *frailFile {
	after := &frailFile{synced: bytes.Clone(f.synced), now: nil}
	for i := range after.synced {
		if f.now[i] != f.synced[i] && part > 0 {
			after.synced[i] = f.now[i]
			part--
		}
	}
	after.now = bytes.Clone(after.synced)
	return after
}

// Both files keep the port's contract: what is written is read, at its place.
func TestFilesOfClaims(t *testing.T) {
	real, err := os.Create(filepath.Join(t.TempDir(), "claims"))
	if err != nil {
		t.Fatal(err)
	}
	if err := real.Truncate(frailLength); err != nil {
		t.Fatal(err)
	}
	for name, f := range map[string]file{"real": real, "frail": newFrailFile()} {
		if _, err := f.WriteAt([]byte("text"), 1000); err != nil {
			t.Fatal(name, err)
		}
		if err := f.Sync(); err != nil {
			t.Fatal(name, err)
		}
		got := make([]byte, 6)
		if n, err := f.ReadAt(got, 999); err != nil || n != 6 || string(got) != "\x00text\x00" {
			t.Errorf("%s: %q, %v", name, got[:n], err)
		}
		if n, err := f.ReadAt(got, frailLength-2); n != 2 || !errors.Is(err, io.EOF) {
			t.Errorf("%s: %d, %v at the end", name, n, err)
		}
		if err := f.Close(); err != nil {
			t.Error(name, err)
		}
	}
}

func claimsIn(t testing.TB, f file) *claims {
	t.Helper()
	c, err := readClaims(f, frailPlaces, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// A claim that was answered stands after any power cut, and no slot has two winners, whatever the
// cut left and whichever writes failed.
//
//gavel:fault power-cut
func TestAnsweredClaimsSurviveAPowerCut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		disk := newFrailFile()
		c := claimsIn(t, disk)
		answered := map[string]string{}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			key := fmt.Sprint("slot-", rapid.IntRange(1, 5).Draw(rt, "slot"))
			value := fmt.Sprint("root ", rapid.IntRange(1, 3).Draw(rt, "root"))
			disk.fail = nil
			if rapid.IntRange(0, 4).Draw(rt, "fails") == 0 {
				disk.fail = errors.New("the disk fails")
			}
			standing, err := c.claim(t.Context(), key, []byte(value), nil)
			if err == nil {
				if before, known := answered[key]; known && before != string(standing) {
					rt.Fatalf("%s had %s, has %s", key, before, standing)
				}
				answered[key] = string(standing)
			}
			if rapid.IntRange(0, 3).Draw(rt, "cut") == 0 {
				disk = disk.cut(rapid.IntRange(0, claimSize).Draw(rt, "left"))
				c = claimsIn(t, disk)
			}
		}
	})
}

// A claim is not answered before it is synced: one sync for each new claim, none for a repeat.
//
//gavel:fault power-cut
func TestClaimIsSyncedBeforeItIsAnswered(t *testing.T) {
	disk := newFrailFile()
	c := claimsIn(t, disk)
	for i := range 3 {
		if _, err := c.claim(t.Context(), "slot-1", []byte("root"), nil); err != nil || disk.syncs != 1 {
			t.Errorf("claim %d: %d syncs, %v", i, disk.syncs, err)
		}
	}
}

// The ring is written over from the oldest on, and read back in order.
func TestNewestClaimsAreRemembered(t *testing.T) {
	disk := newFrailFile()
	c := claimsIn(t, disk)
	for i := range frailPlaces + 10 {
		c.remember(fmt.Sprint("slot-", i), []byte("root"))
		c.next--
		if err := c.put(fmt.Sprint("slot-", i), []byte("root")); err != nil {
			t.Fatal(err)
		}
		c.next++
	}
	if err := disk.Sync(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]*claims{"running": c, "read again": claimsIn(t, disk)} {
		if len(c.known) != frailPlaces || c.next != frailPlaces+10 {
			t.Errorf("%s: %d claims, the next is %d", name, len(c.known), c.next)
		}
		if standing, err := c.claim(t.Context(), "slot-10", []byte("other"), nil); err != nil || string(standing) != "root" {
			t.Errorf("%s: %q, %v: want the oldest that fits", name, standing, err)
		}
		if _, known := c.known["slot-9"]; known {
			t.Errorf("%s: the oldest is still there", name)
		}
	}
}

// A file of full size is read without the memory of a file of full size. Claims are found in all of
// its pieces, and a record that was cut in its writing is passed over.
func TestFullSizeFileIsReadInPieces(t *testing.T) {
	disk := &frailFile{now: make([]byte, claimsLength)}
	read := func() *claims {
		t.Helper()
		c, err := readClaims(disk, claimPlaces, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := read()
	places := []uint64{0, readPlaces - 1, readPlaces, 7*readPlaces + 3, claimPlaces - 1}
	for _, place := range places {
		c.next = place
		if err := c.put(fmt.Sprint("slot-", place), []byte("root")); err != nil {
			t.Fatal(err)
		}
	}
	disk.now[5*readPlaces*claimSize+claimHeader] = 1 // what is left of a write
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	c = read()
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > claimsLength/8 {
		t.Errorf("%d bytes were allocated for a file of %d", used, claimsLength)
	}
	if len(c.known) != len(places) || c.next != claimPlaces {
		t.Errorf("%d claims, the next is %d", len(c.known), c.next)
	}
	for _, place := range places {
		key := fmt.Sprint("slot-", place)
		if string(c.known[key]) != "root" || c.ring[place] != key {
			t.Errorf("%s: %q, and %q is at its place", key, c.known[key], c.ring[place])
		}
	}
}

// A caller that leaves while the disk hangs is told that nothing is known, others wait no longer
// than they want, and what was written stands.
//
//gavel:fault slow-disk
func TestClaimOnADiskThatHangs(t *testing.T) {
	disk := newFrailFile()
	c := claimsIn(t, disk)
	disk.mu.Lock() // the disk hangs
	short, cancel := context.WithCancel(t.Context())
	cancel()
	for range 2 {
		if _, err := c.claim(short, "slot-1", []byte("root a"), nil); !errors.Is(err, context.Canceled) {
			t.Errorf("%v, want the caller's end", err)
		}
	}
	disk.mu.Unlock()
	standing, err := c.claim(t.Context(), "slot-1", []byte("root b"), nil)
	if err != nil || string(standing) != "root a" && string(standing) != "root b" {
		t.Errorf("%q, %v", standing, err)
	}
	again, err := claimsIn(t, disk).claim(t.Context(), "slot-1", []byte("root c"), nil)
	if err != nil || !bytes.Equal(again, standing) {
		t.Errorf("%q after a restart, was %q, %v", again, standing, err)
	}
}

// A claim that stands under a former name of its key stands.
func TestFormerNames(t *testing.T) {
	manners(t, func(t *testing.T, cfg Config) {
		j := open(t, cfg)
		if _, won, err := j.Claim(t.Context(), "slot-7", []byte("root a")); err != nil || !won {
			t.Fatal(won, err)
		}
		if current, won, err := j.Claim(t.Context(), "slot-7-network", []byte("root b"), "slot-7"); err != nil || won ||
			string(current) != "root a" {
			t.Errorf("%q, %v, %v: want the claim under the former name", current, won, err)
		}
		if _, won, err := j.Claim(t.Context(), "slot-7-network", []byte("root a"), "slot-7"); err != nil || !won {
			t.Errorf("a repeat: %v, %v", won, err)
		}
		if _, won, err := j.Claim(t.Context(), "slot-8-network", []byte("root b"), "slot-8"); err != nil || !won {
			t.Errorf("another slot: %v, %v", won, err)
		}
	})
}

// The claims of a version that kept them in the engine count, from the first start on.
func TestClaimsOfAnEarlierVersion(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	old, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := old.js.CreateStream(t.Context(), earlierGuard()); err != nil {
		t.Fatal(err)
	}
	for i := range earlierClaims + 5 {
		if _, err := old.js.Publish(t.Context(), fmt.Sprint("guard.slot-", i), []byte("root")); err != nil {
			t.Fatal(err)
		}
	}
	shut(t, old)
	if err := os.Remove(filepath.Join(cfg.Dir, claimsName)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		j, err := Open(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, slot := range []int{5, earlierClaims + 4} {
			if current, won, err := j.Claim(t.Context(), fmt.Sprint("slot-", slot), []byte("other")); err != nil || won ||
				string(current) != "root" {
				t.Errorf("slot %d: %q, %v, %v: want the earlier claim", slot, current, won, err)
			}
		}
		shut(t, j)
	}
}

// What reading the guard's file costs a start: a new one, and one that is full.
func BenchmarkReadClaims(b *testing.B) {
	for name, count := range map[string]int{"new": 0, "full": claimPlaces} {
		b.Run(name, func(b *testing.B) {
			disk := &frailFile{now: make([]byte, claimsLength)}
			c := newClaims(claimPlaces)
			c.file = disk
			for i := range count {
				if err := c.put(fmt.Sprint("slot-", i), make([]byte, 32)); err != nil {
					b.Fatal(err)
				}
				c.next++
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := readClaims(disk, claimPlaces, slog.New(slog.DiscardHandler)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func FuzzDecodeClaim(f *testing.F) {
	raw, err := encodeClaim(7, "slot-7", []byte("root"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(raw)
	f.Add(make([]byte, claimSize))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if len(raw) != claimSize {
			return
		}
		if number, key, value, ok := decodeClaim(raw); ok {
			again, err := encodeClaim(number, key, value)
			if err != nil || len(key)+len(value) < mostClaim &&
				!bytes.Equal(again[:claimHeader+len(key)+len(value)], raw[:claimHeader+len(key)+len(value)]) {
				t.Errorf("%v: not what was read", err)
			}
		}
	})
}
