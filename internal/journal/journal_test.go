package journal

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// manners are the ways to keep a journal; each must keep the same contract.
func manners(t *testing.T, test func(t *testing.T, cfg Config)) {
	for name, cfg := range map[string]func(*testing.T) Config{
		"memory":  func(*testing.T) Config { return Config{} },
		"file":    func(t *testing.T) Config { return Config{Dir: t.TempDir()} },
		"cluster": func(t *testing.T) Config { return Config{URL: startCluster(t, maxValue).ClientURL()} },
	} {
		t.Run(name, func(t *testing.T) { test(t, cfg(t)) })
	}
}

// testEscrow is the room that an escrow has in tests. A cluster sets aside all of it, and not every
// disk has the usual 16 GiB.
const testEscrow = 256 << 20

// withTestQuota has the escrow small, unless the test says how large it is.
func withTestQuota(cfg Config) Config {
	if cfg.EscrowBytes == 0 {
		cfg.EscrowBytes = testEscrow
	}
	if cfg.FactsBytes == 0 && cfg.URL != "" {
		cfg.FactsBytes = testEscrow
	}
	return cfg
}

// open opens a journal. A cluster may have no leader for seconds on a busy machine, so it is waited
// for.
func open(t *testing.T, cfg Config) *Journal {
	t.Helper()
	if cfg.URL != "" && cfg.StartTimeout == 0 {
		cfg.StartTimeout = time.Minute
	}
	j, err := Open(t.Context(), withTestQuota(cfg))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shut(t, j) })
	return j
}

func shut(t *testing.T, j *Journal) {
	t.Helper()
	if err := j.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// read returns the first n facts from a place on, as "seq subject data".
func read(t *testing.T, j *Journal, from uint64, n int) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var facts []string
	err := j.Read(ctx, from, func(seq uint64, _ time.Time, subject string, data []byte) error {
		facts = append(facts, fmt.Sprintf("%d %s %s", seq, subject, data))
		if len(facts) == n {
			cancel()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return facts
}

func TestFactsKeepTheirOrderAndAreReadFromAnyPoint(t *testing.T) {
	manners(t, func(t *testing.T, cfg Config) {
		j := open(t, cfg)
		for i := range 100 {
			if err := j.AppendAsync("relay.top_changed", fmt.Append(nil, i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := j.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		seq, err := j.Append(t.Context(), "relay.header_served", []byte("x"))
		if err != nil || seq != 101 {
			t.Fatalf("place %d, %v, want 101", seq, err)
		}
		if last, err := j.Last(t.Context()); err != nil || last != 101 {
			t.Errorf("last %d, %v", last, err)
		}
		for i, fact := range read(t, j, 1, 100) {
			if want := fmt.Sprintf("%d relay.top_changed %d", i+1, i); fact != want {
				t.Fatalf("%q, want %q", fact, want)
			}
		}
		if got := read(t, j, 100, 2); got[0] != "100 relay.top_changed 99" || got[1] != "101 relay.header_served x" {
			t.Errorf("from 100 on: %q", got)
		}
	})
}

// A reader that has caught up is handed what is appended later.
func TestReadFollows(t *testing.T) {
	j := open(t, Config{})
	seen := make(chan uint64)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		done <- j.Read(ctx, 0, func(seq uint64, _ time.Time, _ string, _ []byte) error {
			seen <- seq
			return nil
		})
	}()
	for want := uint64(1); want <= 3; want++ {
		if _, err := j.Append(t.Context(), "a", nil); err != nil {
			t.Fatal(err)
		}
		if got := <-seen; got != want {
			t.Fatalf("place %d, want %d", got, want)
		}
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestReadEndsWithTheHandlersError(t *testing.T) {
	j := open(t, Config{})
	if _, err := j.Append(t.Context(), "a", nil); err != nil {
		t.Fatal(err)
	}
	stop := errors.New("stop")
	if err := j.Read(t.Context(), 1, func(uint64, time.Time, string, []byte) error {
		return stop
	}); !errors.Is(err, stop) {
		t.Errorf("%v, want the handler's error", err)
	}
}

func TestEscrowKeepsTheLastValueOfAKey(t *testing.T) {
	manners(t, func(t *testing.T, cfg Config) {
		j := open(t, cfg)
		if _, err := j.Get(t.Context(), "none"); !errors.Is(err, ErrNotFound) {
			t.Errorf("%v, want ErrNotFound", err)
		}
		big := bytes.Repeat([]byte{7}, 16<<20) // the greatest submission
		for _, value := range [][]byte{[]byte("first"), big} {
			if err := j.Put(t.Context(), "key", value); err != nil {
				t.Fatal(err)
			}
			got, err := j.Get(t.Context(), "key")
			if err != nil || !bytes.Equal(got, value) {
				t.Fatalf("%d bytes, %v, want %d", len(got), err, len(value))
			}
		}
	})
}

// Facts since a moment are those that the journal kept then or later, whatever their number.
func TestPastFactsSinceAMoment(t *testing.T) {
	manners(t, func(t *testing.T, cfg Config) {
		j := open(t, cfg)
		for i := range 5 {
			if _, err := j.Append(t.Context(), "word", []byte(strconv.Itoa(i))); err != nil {
				t.Fatal(err)
			}
		}
		moment, known, err := j.TimeOf(t.Context(), 3)
		if err != nil || !known {
			t.Fatal(moment, err)
		}
		for since, want := range map[time.Time]string{{}: "01234", moment: "234", moment.Add(time.Hour): ""} {
			got := ""
			err := j.PastSince(t.Context(), since, []string{"word"}, func(_ time.Time, _ string, data []byte) error {
				got += string(data)
				return nil
			})
			if err != nil || got != want {
				t.Errorf("since %s: %q, %v, want %q", since, got, err, want)
			}
		}
	})
}

func TestPastFactsOfSomeSubjects(t *testing.T) {
	manners(t, func(t *testing.T, cfg Config) {
		j := open(t, cfg)
		for i := range 2*pastBatch + 7 {
			subject := []string{"a.one", "a.two", "a.three"}[i%3]
			if _, err := j.Append(t.Context(), subject, []byte(strconv.Itoa(i))); err != nil {
				t.Fatal(err)
			}
		}
		next, count := 0, 0
		err := j.Past(t.Context(), 1, []string{"a.one", "a.three"}, func(_ time.Time, subject string, data []byte) error {
			if next%3 == 1 {
				next++
			}
			if string(data) != strconv.Itoa(next) || (subject == "a.one") != (next%3 == 0) {
				return fmt.Errorf("%s %s, want number %d", subject, data, next)
			}
			next, count = next+1, count+1
			return nil
		})
		if err != nil || count != 671 {
			t.Errorf("%d facts, %v", count, err)
		}
		if err := j.Past(t.Context(), 1, []string{"b"}, func(time.Time, string, []byte) error {
			return errors.New("called")
		}); err != nil {
			t.Errorf("a subject without facts: %v", err)
		}
		later := 0
		if err := j.Past(t.Context(), 1001, []string{"a.one"}, func(time.Time, string, []byte) error {
			later++
			return nil
		}); err != nil || later != 2 {
			t.Errorf("%d facts from the thousandth on, %v", later, err)
		}
		failure := errors.New("enough")
		if err := j.Past(t.Context(), 1, []string{"a.two"}, func(time.Time, string, []byte) error {
			return failure
		}); !errors.Is(err, failure) {
			t.Errorf("%v, want the handler's error", err)
		}
		if last, err := j.LastOf(t.Context(), "a.two"); err != nil || string(last) != "1006" {
			t.Errorf("the last of a subject: %s, %v", last, err)
		}
		if _, err := j.LastOf(t.Context(), "b"); !errors.Is(err, ErrNotFound) {
			t.Errorf("the last of no fact: %v", err)
		}
	})
}

func TestDropForgetsOneSlotAndEvidenceStays(t *testing.T) {
	manners(t, func(t *testing.T, cfg Config) {
		j := open(t, cfg)
		for _, key := range []string{"1.aa", "1.bb", "11.aa"} {
			if err := errors.Join(j.Put(t.Context(), key, []byte(key)), j.Keep(t.Context(), key, []byte(key))); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(j.Put(t.Context(), "1.cc", []byte("x")), j.Forget(t.Context(), "1.cc"),
			j.Forget(t.Context(), "1.dd")); err != nil {
			t.Fatal(err)
		}
		keys, err := j.EscrowKeys(t.Context(), "1")
		if slices.Sort(keys); err != nil || !slices.Equal(keys, []string{"1.aa", "1.bb"}) {
			t.Errorf("keys %v, %v", keys, err)
		}
		if got := j.EscrowBytes(); got != testEscrow {
			t.Errorf("the escrow keeps %d bytes, want %d", got, testEscrow)
		}
		if err := j.Drop(t.Context(), "1"); err != nil {
			t.Fatal(err)
		}
		if keys, err := j.EscrowKeys(t.Context(), "1"); err != nil || len(keys) != 0 {
			t.Errorf("keys %v, %v, want none", keys, err)
		}
		for key, there := range map[string]bool{"1.aa": false, "1.bb": false, "11.aa": true} {
			if _, err := j.Get(t.Context(), key); errors.Is(err, ErrNotFound) == there {
				t.Errorf("escrow %s: %v", key, err)
			}
			if value, err := j.Kept(t.Context(), key); err != nil || string(value) != key {
				t.Errorf("evidence %s: %s, %v", key, value, err)
			}
		}
		if _, err := j.Kept(t.Context(), "2.aa"); !errors.Is(err, ErrNotFound) {
			t.Errorf("no evidence: %v", err)
		}
	})
}

func TestGuardHasOneWinner(t *testing.T) {
	manners(t, func(t *testing.T, cfg Config) {
		j := open(t, cfg)
		var winners atomic.Int32
		var group sync.WaitGroup
		for i := range 100 {
			group.Go(func() {
				own := fmt.Append(nil, i)
				current, won, err := j.Claim(t.Context(), "slot-1", own)
				if err != nil || won != bytes.Equal(current, own) {
					t.Errorf("%s, %v, %v", current, won, err)
				}
				if won {
					winners.Add(1)
				}
			})
		}
		group.Wait()
		if winners.Load() != 1 {
			t.Errorf("%d winners", winners.Load())
		}
		first, _, err := j.Claim(t.Context(), "slot-1", []byte("late"))
		if err != nil {
			t.Fatal(err)
		}
		if _, won, err := j.Claim(t.Context(), "slot-1", first); err != nil || !won {
			t.Errorf("a repeat of the winner: %v, %v", won, err)
		}
		if _, won, err := j.Claim(t.Context(), "slot-2", []byte("late")); err != nil || !won {
			t.Errorf("another key: %v, %v", won, err)
		}
	})
}

//gavel:fault restart
func TestEverythingSurvivesARestart(t *testing.T) {
	cfg := Config{Dir: t.TempDir()}
	j, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.AppendAsync("a", []byte("fact")); err != nil { // not flushed: Close does it
		t.Fatal(err)
	}
	if err := j.Put(t.Context(), "k", []byte("value")); err != nil {
		t.Fatal(err)
	}
	if _, won, err := j.Claim(t.Context(), "slot-1", []byte("root")); err != nil || !won {
		t.Fatal(won, err)
	}
	shut(t, j)

	j = open(t, cfg)
	if got := read(t, j, 1, 1); got[0] != "1 a fact" {
		t.Errorf("facts %q", got)
	}
	if value, err := j.Get(t.Context(), "k"); err != nil || string(value) != "value" {
		t.Errorf("escrow %q, %v", value, err)
	}
	if current, won, err := j.Claim(t.Context(), "slot-1", []byte("other")); err != nil || won ||
		string(current) != "root" {
		t.Errorf("guard %q, %v, %v", current, won, err)
	}
}

func BenchmarkPut(b *testing.B) {
	for _, size := range []int{150 << 10, 1200 << 10} {
		for name, dir := range map[string]string{"memory": "", "file": b.TempDir()} {
			b.Run(fmt.Sprintf("%s/%dKiB", name, size>>10), func(b *testing.B) {
				j, err := Open(b.Context(), Config{Dir: dir})
				if err != nil {
					b.Fatal(err)
				}
				defer func() { _ = j.Close(context.Background()) }()
				value := make([]byte, size)
				for i := 0; b.Loop(); i++ {
					if err := j.Put(b.Context(), fmt.Sprint(i%64), value); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkClaim(b *testing.B) {
	j, err := Open(b.Context(), Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = j.Close(context.Background()) }()
	for i := 0; b.Loop(); i++ {
		if _, won, err := j.Claim(b.Context(), fmt.Sprint("slot-", i), []byte("root")); err != nil || !won {
			b.Fatal(won, err)
		}
	}
}

func BenchmarkAppendAsync(b *testing.B) {
	j, err := Open(b.Context(), Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = j.Close(context.Background()) }()
	fact := make([]byte, 500)
	for i := 1; b.Loop(); i++ {
		if err := j.AppendAsync("relay.header_served", fact); err != nil {
			b.Fatal(err)
		}
		if i%(maxPending/2) == 0 {
			if err := j.Flush(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := j.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
}
