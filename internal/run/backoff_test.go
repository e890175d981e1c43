package run

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

func TestPausesDoubleUpToTheLongest(t *testing.T) {
	d := Backoff{First: 250 * time.Millisecond, Longest: 3 * time.Second}
	for failures, want := range map[int]time.Duration{
		0: d.First, 1: d.First, 2: 500 * time.Millisecond, 3: time.Second, 4: 2 * time.Second, 5: d.Longest, 6: d.Longest,
		math.MaxInt: d.Longest,
	} {
		if got := d.After(failures); got != want {
			t.Errorf("after %d failures: %v, want %v", failures, got, want)
		}
	}
	if got := (Backoff{}).After(3); got != 0 {
		t.Errorf("the zero value waits %v", got)
	}
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		if err := Pause(t.Context(), time.Hour); err != nil || time.Since(begin) != time.Hour {
			t.Errorf("waited %v: %v", time.Since(begin), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin = time.Now()
		if err := Pause(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(begin) != time.Minute {
			t.Errorf("waited %v for a context of a minute: %v", time.Since(begin), err)
		}
	})
}
