package journal

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/nats-io/nats.go"
)

// What is told is heard by all that hear its subject, in order, and by nobody later.
func TestTell(t *testing.T) {
	server := startCluster(t, maxValue)
	here, there := open(t, Config{URL: server.ClientURL()}), open(t, Config{URL: server.ClientURL()})
	const subject, other, count = "relay.registration", "relay.other", 1000
	if err := errors.Join(here.Tell(subject, []byte("before anybody hears")), here.conn.Flush()); err != nil {
		t.Fatal(err)
	}
	hearing, stop := context.WithCancel(t.Context())
	heard, ended := make(chan string, 2*count), make(chan error, 1)
	go func() { ended <- there.Hear(hearing, subject, func(data []byte) { heard <- string(data) }) }()
	for begun := false; !begun; { // until the other one hears
		if err := errors.Join(here.Tell(subject, []byte("begin")), here.conn.Flush()); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-heard:
			begun = got == "begin"
			if !begun {
				t.Errorf("%q was kept", got)
			}
		default:
		}
	}
	for i := range count {
		if err := here.Tell(other, []byte("of another subject")); err != nil {
			t.Fatal(err)
		}
		if err := here.Tell(subject, fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	for next := 0; next < count; {
		if got := <-heard; got == fmt.Sprint(next) {
			next++
		} else if got != "begin" {
			t.Fatalf("%q, want %d", got, next)
		}
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}

	left := here.conn.StatusChanged(nats.DISCONNECTED, nats.RECONNECTING)
	server.Shutdown()
	<-left
	if err := here.Tell(subject, nil); err == nil {
		t.Error("told without a cluster")
	}
}
