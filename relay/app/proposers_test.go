package app_test

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/relay/app"
)

// atProposers has the test's requests go to the listener for proposers alone.
func (h *relayUnderTest) atProposers() *relayUnderTest {
	there := *h
	there.relayURL = h.proposersURL
	return &there
}

// All connections of the public port are busy, with bodies that never come, and nobody gets
// another; at the port for proposers a validator registers, is given a header and has its payload.
// Builders and the Data API are not there.
func TestProposersHaveAListenerOfTheirOwn(t *testing.T) {
	const connections = 4
	h := newRelay(t, eth.Fulu, relayOptions{configure: func(c *app.Config) {
		trusting(c)
		c.Limits.Connections, c.Limits.ConnectionsPerAddress, c.Limits.BodyBytesPerSecond = connections, 1024, -1
	}})
	s := h.worth(t, 1, 1000)
	h.submitted(t, s)
	h.into(0)
	var busy []net.Conn
	for range connections {
		conn := h.dial(t, "POST "+submitPath+
			" HTTP/1.1\r\nHost: relay\r\nExpect: 100-continue\r\nContent-Type: application/octet-stream\r\nContent-Length: "+
			"1000\r\n\r\n")
		// it has a place, and keeps it
		if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || !strings.Contains(line, "100") {
			t.Fatalf("%s, %v", line, err)
		}
		busy = append(busy, conn)
	}
	waiting := h.dial(t, "GET /livez HTTP/1.1\r\nHost: relay\r\n\r\n")
	must(t, waiting.SetReadDeadline(time.Now().Add(50*time.Millisecond)))
	if n, err := waiting.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatalf("%d bytes, %v: the public port has a place", n, err)
	}

	there := h.atProposers()
	there.get(t, "/livez", nil).wantStatus(t, http.StatusOK)
	there.get(t, "/readyz", nil).wantStatus(t, http.StatusOK)
	there.get(t, "/eth/v1/builder/status", nil).wantStatus(t, http.StatusOK)
	there.registerAll(t)
	there.wantTop(t, s)
	there.reveal(t, v1Path, there.blind(t, there.header(t))).wantStatus(t, http.StatusOK)
	for _, path := range []string{"/relay/v1/builder/validators", deliveredPath, "/relay/v1/builder/top_bid"} {
		there.get(t, path, nil).wantRefusal(t, relay.NotFound, "")
	}

	must(t, busy[0].Close())
	must(t, waiting.SetReadDeadline(time.Time{}))
	if line, err := bufio.NewReader(waiting).ReadString('\n'); err != nil || !strings.Contains(line, "200") {
		t.Errorf("%s, %v: who waited has no answer", line, err)
	}
}

// Requests at one port use up nothing of an address's allowance at the other.
func TestProposersHaveAnAllowanceOfTheirOwn(t *testing.T) {
	h := newRelay(t, eth.Fulu, relayOptions{configure: trusting})
	must(t, h.stopRelay())
	h.cfg.Limits.PerSecond, h.cfg.Limits.Burst = 1, 2
	h.startRelay(t)
	const path = "/eth/v1/builder/status"
	for h.get(t, path, nil).status != http.StatusTooManyRequests {
	}
	if got := h.atProposers().get(t, path, nil); got.status == http.StatusTooManyRequests {
		t.Errorf("%s", got)
	}
}

// dial opens a connection to the public port and sends something.
func (h *relayUnderTest) dial(t testing.TB, text string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(h.relayURL, "http://"))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = conn.Write([]byte(text))
	must(t, err)
	return conn
}
