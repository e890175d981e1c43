package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/gavel-relay/gavel/internal/run"
)

// call runs one command of the program, with a service that only says what it was asked for.
func call[C any](t *testing.T, made func(start func(context.Context, C) error) *cli.Command,
	args ...string) (cfg *C, status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	program := root()
	stub := made(func(_ context.Context, got C) error {
		cfg = &got
		return nil
	})
	at := slices.IndexFunc(program.Commands, func(c *cli.Command) bool { return c.Name == stub.Name })
	program.Commands[at] = stub
	program.Writer = &out
	status = run.Main(program, append([]string{"gavel", stub.Name}, args...), &errs)
	return cfg, status, out.String(), errs.String()
}

// reached fails the test for every field of the parts that is at its zero value, unless the run
// opens it.
func reached(t *testing.T, opened string, parts ...any) {
	t.Helper()
	for _, part := range parts {
		value := reflect.ValueOf(part)
		for i, field := range reflect.VisibleFields(value.Type()) {
			if value.Field(i).IsZero() && !slices.Contains(strings.Fields(opened), field.Name) {
				t.Errorf("%T.%s has no flag", part, field.Name)
			}
		}
	}
}

// knocked is a service that says which doors it was given, and fails at the operator's.
type knocked struct{ at chan string }

func (k knocked) Serve(ctx context.Context, listener net.Listener) error {
	k.at <- listener.Addr().String()
	<-ctx.Done()
	return nil
}

func (k knocked) ServeAdmin(_ context.Context, listener net.Listener) error {
	k.at <- listener.Addr().String()
	return errors.New("the operator's door broke")
}

func TestDoors(t *testing.T) {
	doors, err := openDoors("127.0.0.1:0", "127.0.0.1:0", "")
	if err != nil {
		t.Fatal(err)
	}
	k := knocked{make(chan string, 2)}
	if err := doors.serve(t.Context(), k); err == nil || err.Error() != "the operator's door broke" {
		t.Errorf("one door failed, yet %v", err)
	}
	served, want := []string{<-k.at, <-k.at}, []string{doors.public.Addr().String(), doors.admin.Addr().String()}
	slices.Sort(served)
	slices.Sort(want)
	if !slices.Equal(served, want) {
		t.Errorf("served at %q, want %q", served, want)
	}
	doors.close()
	again, err := openDoors(want[0], want[1], "")
	if err != nil {
		t.Errorf("a door stayed open: %v", err)
	}
	again.close()
}

// A port that is taken leaves the other one free.
func TestDoorsOfAPortThatIsTaken(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	free := freePort(t)
	if _, err := openDoors(free, taken.Addr().String(), ""); err == nil {
		t.Fatal("two listen at one port")
	}
	doors, err := openDoors(free, "", "")
	if err != nil {
		t.Fatalf("the other port stayed taken: %v", err)
	}
	doors.close()
}
