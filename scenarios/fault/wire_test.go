package fault

import (
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// echo is a service that sends back what it gets.
func echo(t *testing.T) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn) }()
		}
	}()
	return listener.Addr().String()
}

func connect(t *testing.T, p *Proxy) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// Bytes of any protocol are carried both ways. A partition holds them, on connections that are open
// and on new ones, and they come when it is over; a reset ends connections.
func TestWire(t *testing.T) {
	p, err := ListenWire(echo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	}()
	ask := func(conn net.Conn, text string) {
		t.Helper()
		if _, err := io.WriteString(conn, text); err != nil {
			t.Fatal(err)
		}
	}
	answer := func(conn net.Conn, want string) {
		t.Helper()
		got := make([]byte, len(want))
		if _, err := io.ReadFull(conn, got); err != nil || string(got) != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	first := connect(t, p)
	ask(first, "\x00before")
	answer(first, "\x00before")

	set(t, p, Condition{Partition: true})
	second := connect(t, p)
	came := make(chan struct{}, 2)
	for _, conn := range []net.Conn{first, second} {
		ask(conn, "held")
		go func() {
			answer(conn, "held")
			came <- struct{}{}
		}()
	}
	if len(came) > 0 {
		t.Error("something came through a partition")
	}
	set(t, p, Condition{Latency: time.Millisecond})
	<-came
	<-came

	set(t, p, Condition{Reset: true})
	if _, err := first.Read(make([]byte, 1)); err == nil {
		t.Error("a connection outlives a reset")
	}
	set(t, p, Condition{})
	third := connect(t, p)
	ask(third, "after")
	answer(third, "after")
}

// What is sent arrives later by the latency, in each direction.
func TestLatencyOfAWire(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Proxy{closed: make(chan struct{}), changed: make(chan struct{}), open: map[net.Conn]bool{},
			condition: Condition{Latency: 80 * time.Millisecond}}
		near, far := net.Pipe()
		gated := p.gate(near)
		begun := time.Now()
		go func() { _, _ = io.WriteString(far, "late") }()
		if _, err := io.ReadFull(gated, make([]byte, 4)); err != nil || time.Since(begun) != 80*time.Millisecond {
			t.Errorf("after %s, %v", time.Since(begun), err)
		}
		_, _ = gated.Close(), far.Close()
		synctest.Wait()
	})
}
