package run

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

func TestOpenedClosesInReverse(t *testing.T) {
	var (
		d    diary
		o    Opened
		full = errors.New("disk full")
	)
	if err := o.Close(time.Minute); err != nil {
		t.Errorf("nothing was opened, yet %v", err)
	}
	o.Add(d.does("close a", nil))
	o.AddCloser(func() error { d.note("close b"); return full })
	o.Add(func(ctx context.Context) error {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("c may take for ever")
		}
		d.note("close c")
		return nil
	})
	if err := o.Close(time.Minute); !errors.Is(err, full) {
		t.Errorf("closed with %v", err)
	}
	if err := o.Close(time.Minute); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if want := []string{"close c", "close b", "close a"}; !slices.Equal(d.lines, want) {
		t.Errorf("%q, want %q", d.lines, want)
	}
}

// What hangs when it is closed, whether it knows of its time or not, keeps no other open, and the
// time is kept.
func TestOpenedLeavesBehindWhatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var (
			d diary
			o Opened
		)
		never := make(chan struct{})
		defer close(never)
		o.Add(d.does("close a", nil))
		o.Add(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		o.AddCloser(func() error { <-never; return nil })
		o.Add(d.does("close d", nil))
		start := time.Now()
		if err := o.Close(time.Minute); !errors.Is(err, errHangs) || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("closed with %v", err)
		}
		if want := []string{"close d", "close a"}; !slices.Equal(d.lines, want) {
			t.Errorf("%q, want %q", d.lines, want)
		}
		if took := time.Since(start); took > time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}
