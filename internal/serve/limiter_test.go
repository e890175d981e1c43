package serve

import (
	"fmt"
	"runtime"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// Two requests a second, three at once.
func TestLimiterTranscript(t *testing.T) {
	limiter := NewLimiter(2, 3, 10)
	for i, row := range []struct {
		atMs  int64
		key   string
		ok    bool
		retry time.Duration
	}{
		{0, "a", true, 0},
		{0, "a", true, 0},
		{0, "a", true, 0},
		{0, "a", false, 500 * time.Millisecond}, // the burst is spent
		{0, "b", true, 0},                       // another's bucket is full
		{125, "a", false, 375 * time.Millisecond},
		{500, "a", true, 0},
		{250, "a", false, 500 * time.Millisecond}, // time does not run backwards
		{1000, "a", true, 0},
		{60_000, "a", true, 0}, // never more than the burst, however long it was quiet
		{60_000, "a", true, 0},
		{60_000, "a", true, 0},
		{60_000, "a", false, 500 * time.Millisecond},
		{70_000, "a", true, 0},
		{60_000, "a", true, 0}, // going back and forth makes no tokens
		{70_000, "a", true, 0},
		{70_000, "a", false, 500 * time.Millisecond},
	} {
		ok, retry := limiter.Allow(noon.Add(time.Duration(row.atMs)*time.Millisecond), row.key)
		if ok != row.ok || retry != row.retry {
			t.Errorf("row %d, %s at %d ms: %v, retry after %v; want %v, %v", i, row.key, row.atMs, ok, retry, row.ok, row.retry)
		}
	}
}

// What is left of a bucket is told with each token.
func TestLimiterTellsWhatIsLeft(t *testing.T) {
	limiter := NewLimiter(2, 3, 10)
	for i, row := range []struct {
		atMs int64
		left int
		ok   bool
	}{{0, 2, true}, {0, 1, true}, {0, 0, true}, {0, 0, false}, {250, 0, false}, {500, 0, true}, {1750, 1, true},
		{60_000, 2, true}} {
		left, ok, _ := limiter.Take(noon.Add(time.Duration(row.atMs)*time.Millisecond), "a")
		if left != row.left || ok != row.ok {
			t.Errorf("row %d: %d left, %v; want %d, %v", i, left, ok, row.left, row.ok)
		}
	}
	if limiter.Burst() != 3 {
		t.Errorf("a full bucket has %d", limiter.Burst())
	}
}

// model counts in eighths of a second, in whole numbers, and forgets nothing.
type model struct {
	perSecond, burst int
	eighths          map[string]int // what is in a bucket: eighths of a token
	last             map[string]int
}

func (m *model) allow(at int, key string) bool {
	if _, known := m.eighths[key]; !known {
		m.eighths[key] = 8 * m.burst
	}
	m.eighths[key] = min(8*m.burst, m.eighths[key]+(at-m.last[key])*m.perSecond)
	m.last[key] = at
	if m.eighths[key] < 8 {
		return false
	}
	m.eighths[key] -= 8
	return true
}

// With room for all keys the limiter is the model; with less it is only ever kinder, and never
// remembers more than it may.
func TestLimiterIsTheModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		perSecond, burst := rapid.IntRange(1, 9).Draw(t, "per second"), rapid.IntRange(1, 5).Draw(t, "burst")
		keys := rapid.IntRange(1, 6).Draw(t, "keys")
		limiter := NewLimiter(float64(perSecond), burst, keys)
		naive := &model{perSecond, burst, map[string]int{}, map[string]int{}}
		granted := map[string]int{} // more than by the model
		at := 0
		for range rapid.IntRange(1, 80).Draw(t, "requests") {
			at += rapid.IntRange(0, 6).Draw(t, "eighths later")
			key := fmt.Sprint(rapid.IntRange(1, 6).Draw(t, "key"))
			now := noon.Add(time.Duration(at) * time.Second / 8)
			want := naive.allow(at, key)
			got, retry := limiter.Allow(now, key)
			if want {
				granted[key]--
			}
			if got {
				granted[key]++
			}
			if granted[key] < 0 {
				t.Fatalf("%s has been granted less than by the model at %d/8 s", key, at)
			}
			if keys == 6 && got != want {
				t.Fatalf("%s at %d/8 s: %v, want %v", key, at, got, want)
			}
			if got != (retry == 0) {
				t.Fatalf("%v, retry after %v", got, retry)
			}
			if remembered := limiter.Keys(); remembered > keys {
				t.Fatalf("%d keys are remembered of at most %d", remembered, keys)
			}
		}
	})
}

// Who waits as long as he is told is let in.
func TestLimiterKeepsItsWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limiter := NewLimiter(rapid.Float64Range(0.01, 1000).Draw(t, "per second"), rapid.IntRange(1, 5).Draw(t, "burst"), 10)
		at := noon
		for range 20 {
			ok, retry := limiter.Allow(at, "a")
			if !ok {
				at = at.Add(retry + time.Microsecond) // floating point
				if ok, _ = limiter.Allow(at, "a"); !ok {
					t.Fatalf("refused after the wait of %v", retry)
				}
			}
			at = at.Add(time.Duration(rapid.IntRange(0, 1_000_000).Draw(t, "µs later")) * time.Microsecond)
		}
	})
}

// A million clients cost what a thousand cost; and when all are quiet, what two requests leave.
func TestLimiterMemoryIsBounded(t *testing.T) {
	const keys, clients = 1000, 1_000_000
	limiter := NewLimiter(1, 5, keys)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range clients {
		if ok, _ := limiter.Allow(noon, strconv.Itoa(i)); !ok {
			t.Fatalf("client %d is refused its first request", i)
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	if remembered := limiter.Keys(); remembered != keys {
		t.Errorf("%d keys are remembered, want %d", remembered, keys)
	}
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 1024*keys {
		t.Errorf("%d bytes are kept for %d keys", grown, keys)
	}
	for range keys {
		limiter.Allow(noon.Add(time.Hour), "one")
	}
	if remembered := limiter.Keys(); remembered != 1 {
		t.Errorf("%d keys are remembered after an hour's silence", remembered)
	}
}

func BenchmarkLimiter(b *testing.B) {
	limiter := NewLimiter(1e9, 1000, 10_000)
	keys := make([]string, 20_000)
	for i := range keys {
		keys[i] = fmt.Sprint(i)
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		limiter.Allow(noon.Add(time.Duration(i)), keys[i%len(keys)])
	}
}
