package run

import (
	"context"
	"errors"
	"slices"
	"testing"
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
