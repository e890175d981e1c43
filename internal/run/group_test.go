package run

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// diary is what happened, in its order.
type diary struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

// does is a start or stop that notes itself and then does what is wanted.
func (d *diary) does(line string, err error) func(context.Context) error {
	return func(context.Context) error {
		d.note(line)
		return err
	}
}

// worker is a task that runs until it is stopped.
func (d *diary) worker(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		d.note("run " + name)
		<-ctx.Done()
		d.note("end " + name)
		return ctx.Err()
	}
}

func TestGroup(t *testing.T) {
	boom := errors.New("boom")
	for _, c := range []struct {
		name string
		// build adds parts; interrupt is Ctrl-C.
		build func(g *Group, d *diary, interrupt context.CancelFunc)
		want  []string
		err   string
	}{
		{
			name: "parts start in order and stop in reverse",
			build: func(g *Group, d *diary, interrupt context.CancelFunc) {
				g.Add("a", d.does("start a", nil), d.does("stop a", nil))
				g.Go("b", d.worker("b"))
				g.Add("c", func(context.Context) error { d.note("start c"); time.AfterFunc(time.Hour, interrupt); return nil }, d.does("stop c", nil))
			},
			want: []string{"start a", "start c", "run b", "stop c", "end b", "stop a"},
		},
		{
			name: "a part that does not start stops those before it only, and is the error",
			build: func(g *Group, d *diary, _ context.CancelFunc) {
				g.Add("a", d.does("start a", nil), d.does("stop a", nil))
				g.Add("b", d.does("start b", boom), d.does("stop b", nil))
				g.Add("c", d.does("start c", nil), d.does("stop c", nil))
			},
			want: []string{"start a", "start b", "stop a"},
			err:  "start b: boom",
		},
		{
			name: "a task that fails stops all; what fails at stopping stands behind it",
			build: func(g *Group, d *diary, _ context.CancelFunc) {
				g.Add("a", nil, d.does("stop a", errors.New("disk full")))
				g.Go("b", func(context.Context) error { <-time.After(time.Minute); return boom })
				g.Go("c", d.worker("c"))
			},
			want: []string{"run c", "end c", "stop a"},
			err:  "b: boom; stop a: disk full",
		},
		{
			name: "a task that has nothing more to do stops nobody",
			build: func(g *Group, d *diary, interrupt context.CancelFunc) {
				g.Go("a", d.does("run a", nil))
				g.Go("b", func(context.Context) error { <-time.After(time.Hour); d.note("later"); interrupt(); return nil })
			},
			want: []string{"run a", "later"},
		},
		{
			name: "a task can end the whole and be no error",
			build: func(g *Group, d *diary, _ context.CancelFunc) {
				g.Add("a", nil, d.does("stop a", nil))
				g.Go("b", d.does("run b", Finished))
			},
			want: []string{"run b", "stop a"},
		},
		{
			name: "a panic is an error",
			build: func(g *Group, d *diary, _ context.CancelFunc) {
				g.Add("a", nil, func(context.Context) error { panic("also here") })
				g.Go("b", func(context.Context) error { panic("index out of range") })
			},
			err: "b: panic: index out of range; stop a: panic: also here",
		},
		{
			name: "Ctrl-C while a part starts is no failure",
			build: func(g *Group, d *diary, interrupt context.CancelFunc) {
				g.Add("a", d.does("start a", nil), d.does("stop a", nil))
				g.Add("b", func(ctx context.Context) error { interrupt(); <-ctx.Done(); return ctx.Err() }, d.does("stop b", nil))
				g.Add("c", d.does("start c", nil), nil)
			},
			want: []string{"start a", "stop a"},
		},
		{
			name: "each part has its deadline, whether it heeds it or not",
			build: func(g *Group, d *diary, interrupt context.CancelFunc) {
				g.Add("a", nil, d.does("stop a", nil))
				g.Add("deaf", nil, func(context.Context) error { <-time.After(time.Hour); return nil })
				g.Add("late", nil, func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
				g.Go("slow", func(ctx context.Context) error {
					<-ctx.Done()
					<-time.After(4 * time.Second)
					d.note("slow ended")
					return nil
				})
				g.Add("z", func(context.Context) error { interrupt(); return nil }, nil)
			},
			want: []string{"slow ended", "stop a"},
			err:  "stop late: not still after 10s; stop deaf: not still after 10s",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, interrupt := context.WithCancel(t.Context())
				defer interrupt()
				var (
					d diary
					g Group
				)
				c.build(&g, &d, interrupt)
				err := g.Run(ctx)
				if got := message(err); got != c.err {
					t.Errorf("error %q, want %q", got, c.err)
				}
				<-time.After(2 * time.Hour) // whoever was left behind has ended, too: a bubble wants no goroutine to survive
				d.mu.Lock()
				defer d.mu.Unlock()
				if !sameStory(d.lines, c.want) {
					t.Errorf("happened\n%s\nwant\n%s", strings.Join(d.lines, "\n"), strings.Join(c.want, "\n"))
				}
			})
		})
	}
}

// sameStory compares in order; "run …" lines of tasks may stand anywhere, since tasks begin on their own.
func sameStory(got, want []string) bool {
	isRun := func(line string) bool { return strings.HasPrefix(line, "run ") }
	order := func(lines []string) []string { return slices.DeleteFunc(slices.Clone(lines), isRun) }
	return slices.Equal(order(got), order(want)) && slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want)))
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
