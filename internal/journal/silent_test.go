package journal

import (
	"io"
	"net"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
)

// silenced is a server's address of which the first connection falls silent when told, as that of a
// server that stands still: nothing comes through, and nothing is closed.
func silenced(t *testing.T, s *server.Server) (url string, fallSilent func()) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	var silent atomic.Bool
	relay := func(to, from net.Conn, first bool) {
		defer to.Close()
		buffer := make([]byte, 32<<10)
		for {
			n, err := from.Read(buffer)
			if err != nil {
				return
			}
			if first && silent.Load() {
				_, _ = io.Copy(io.Discard, from)
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
	}
	go func() {
		for first := true; ; first = false {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", s.Addr().String())
			if err != nil {
				_ = near.Close()
				return
			}
			go relay(far, near, first)
			go relay(near, far, first)
		}
	}()
	return "nats://" + listener.Addr().String(), func() { silent.Store(true) }
}

// A server that stands still keeps its connections open. The journal notices it by itself, and goes
// on by another connection.
func TestServerOfAClusterThatStandsStill(t *testing.T) {
	url, fallSilent := silenced(t, startCluster(t, maxValue))
	j := open(t, Config{URL: url, FactsBytes: testEscrow})
	if _, err := j.Append(t.Context(), "a", []byte("1")); err != nil {
		t.Fatal(err)
	}
	fallSilent()
	eventually(t, "facts are kept again", func() bool {
		_, err := j.Append(t.Context(), "a", []byte("2"))
		return err == nil
	})
}
