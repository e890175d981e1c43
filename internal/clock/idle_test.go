package clock_test

import (
	"crypto/sha256"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"

	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/internal/eth/bls"
)

// idle waits for this process to have nothing to do.
func idle(t *testing.T) {
	t.Helper()
	i, err := clock.NewIdle()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := i.Close(); err != nil {
			t.Error(err)
		}
	}()
	if is, err := i.Wait(t.Context()); err != nil || !is {
		t.Fatalf("idle: %v, %v", is, err)
	}
}

// Whoever computes, in Go or in C, is not done before Wait returns.
func TestIdleWaitsForComputing(t *testing.T) {
	for name, work := range map[string]func(){
		"in Go": func() {
			block := make([]byte, 1<<20)
			for range 50 {
				sha256.Sum256(block)
			}
		},
		"in C": func() {
			key := bls.Derive("idle", 1)
			for range 50 {
				key.Sign([32]byte{1})
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			var done atomic.Bool
			go func() {
				work()
				done.Store(true)
			}()
			idle(t)
			if !done.Load() {
				t.Error("idle while somebody computes")
			}
		})
	}
}

// What goes through connections, from one who sleeps to another, is not over before Wait returns.
// The runtime does not tell of a thread that has fetched what came and lost its processor before it
// could say so. That is rare, and costs a clock a step.
func TestIdleWaitsForTheNetwork(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	here, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer here.Close()
	there, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	const hops, mostEarly = 2000, 40
	var done atomic.Int32
	play := func(conn net.Conn) {
		var ball [1]byte
		for done.Load() < hops {
			if _, err := io.ReadFull(conn, ball[:]); err != nil {
				return
			}
			done.Add(1)
			if _, err := conn.Write(ball[:]); err != nil {
				return
			}
		}
	}
	go play(here)
	go play(there)
	if _, err := here.Write([]byte{1}); err != nil {
		t.Fatal(err)
	}
	for early := 0; ; early++ {
		if idle(t); done.Load() >= hops {
			break
		}
		if early == mostEarly {
			t.Fatalf("%d times idle within %d of %d hops", early, done.Load(), hops)
		}
	}
}

// Who waits for something that does not come has nothing to do: on a channel, at a connection, or
// blocked in the system.
func TestIdleWhileOthersWait(t *testing.T) {
	from, to, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from.Fd() // from now on a read of it blocks in the system
	never, ended := make(chan struct{}), make(chan error, 2)
	go func() {
		<-never
		ended <- nil
	}()
	go func() {
		_, err := from.Read(make([]byte, 1))
		ended <- err
	}()
	idle(t)
	idle(t)
	close(never)
	if err := to.Close(); err != nil {
		t.Error(err)
	}
	if first, second := <-ended, <-ended; !errors.Is(errors.Join(first, second), io.EOF) {
		t.Errorf("they waited for %v and %v", first, second)
	}
	if err := from.Close(); err != nil {
		t.Error(err)
	}
}
