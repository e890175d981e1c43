package run

import (
	"context"
	"sync"
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
