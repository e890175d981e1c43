package journal

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

// Whoever follows gets what is there and what comes later, of its subjects alone, with the numbers
// that the writer was told, and goes on from any number.
func TestFollow(t *testing.T) {
	cluster := startCluster(t, maxValue)
	a, b := open(t, Config{URL: cluster.ClientURL()}), open(t, Config{URL: cluster.ClientURL()})
	store := func(subject, value string) (seq uint64) {
		t.Helper()
		seq, err := a.StoreState(t.Context(), subject, []byte(value))
		if err != nil {
			t.Fatal(err)
		}
		return seq
	}
	appendFact := func(subject, value string) (seq uint64) {
		t.Helper()
		seq, err := a.Append(t.Context(), subject, []byte(value))
		if err != nil {
			t.Fatal(err)
		}
		return seq
	}
	replaced := store("x.one", "1")
	want := []string{fmt.Sprint(store("x.one", "2"), " x.one 2")}
	store("y.one", "of others")
	if last, err := b.LastState(t.Context()); err != nil || last != replaced+2 {
		t.Errorf("%d, %v: want the number of the newest state", last, err)
	}
	got := follow(t, 2, func(ctx context.Context, handle func(uint64, time.Time, string, []byte) error) error {
		return b.FollowStates(ctx, replaced, "x", handle)
	}, func() { want = append(want, fmt.Sprint(store("x.two", "3"), " x.two 3")) })
	if !slices.Equal(got, want) {
		t.Errorf("state %q, want %q", got, want)
	}

	first := appendFact("x.a", "1")
	appendFact("x.c", "of nobody")
	want = []string{fmt.Sprint(appendFact("x.b", "2"), " x.b 2")}
	got = follow(t, 2, func(ctx context.Context, handle func(uint64, time.Time, string, []byte) error) error {
		return b.FollowFacts(ctx, first+1, []string{"x.a", "x.b"}, handle)
	}, func() { want = append(want, fmt.Sprint(appendFact("x.a", "3"), " x.a 3")) })
	if !slices.Equal(got, want) {
		t.Errorf("facts %q, want %q", got, want)
	}
}

// follow returns so many messages. After the first one it calls then.
func follow(t *testing.T, count int, read func(context.Context, func(uint64, time.Time, string, []byte) error) error,
	then func()) (got []string) {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), 30*time.Second)
	defer end()
	err := read(ctx, func(seq uint64, _ time.Time, subject string, data []byte) error {
		got = append(got, fmt.Sprint(seq, " ", subject, " ", string(data)))
		switch len(got) {
		case 1:
			then()
		case count:
			end()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}
