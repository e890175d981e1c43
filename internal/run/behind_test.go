package run

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A request that runs when the stop comes still has the parts that it needs; they end after it.
func TestPartsOutliveTheServer(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name  string
		after time.Duration // when the stop comes
		serve error         // what the server returns
		part  func(context.Context) error
		want  []string
		err   error
	}{
		{"an orderly stop", time.Minute, nil, nil, []string{"stop", "drained", "end a"}, nil},
		{"a server that could not finish", time.Minute, boom, nil, []string{"stop", "drained", "end a"}, boom},
		{
			"a part that fails ends all", time.Hour, nil, func(context.Context) error { <-time.After(time.Second); return boom },
			[]string{"end a", "drained"}, boom,
		},
		{
			"a part that has nothing more to do ends nothing", time.Minute, nil, func(context.Context) error { return nil },
			[]string{"stop", "drained", "end a"}, nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var d diary
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				defer time.AfterFunc(c.after, func() { d.note("stop"); cancel() }).Stop()
				parts := []func(context.Context) error{d.worker("a")}
				if c.part != nil {
					parts = append(parts, c.part)
				}
				err := Behind(ctx, func(ctx context.Context) error {
					<-ctx.Done()
					<-time.After(3 * time.Second) // requests finish
					d.note("drained")
					return c.serve
				}, parts...)
				if !errors.Is(err, c.err) {
					t.Errorf("%v, want %v", err, c.err)
				}
				lines := slices.DeleteFunc(d.lines, func(line string) bool { return strings.HasPrefix(line, "run ") })
				if !slices.Equal(lines, c.want) {
					t.Errorf("%q, want %q", lines, c.want)
				}
			})
		})
	}
}
