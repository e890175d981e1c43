package app_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	builderv1 "github.com/attestantio/go-builder-client/api/v1"

	"github.com/gavel-relay/gavel/internal/eth"
	"github.com/gavel-relay/gavel/relay/app"
)

// anySender lets tests say from what address a request comes.
func anySender(c *app.Config) {
	c.Limits.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

// begin opens a connection, sends the beginning of a request from an address, and leaves it at that
// until the test ends.
func (h *relayUnderTest) begin(t testing.TB, sender, path, headers, body string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(h.relayURL, "http://"))
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	_, err = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: relay\r\nX-Forwarded-For: %s\r\n%s\r\n%s", path, sender,
		headers, body)
	must(t, err)
	return conn
}

// zstdFrame is the beginning of a zstd stream that asks us to remember 8 MiB (RFC 8878, 3.1.1.1.2).
const zstdFrame = "\x28\xb5\x2f\xfd\x00\x68" + "\x00\x00\x10" + "123456789"

// One address that announces all the memory there is for bodies, and sends a byte of each, keeps
// nobody else out; signed blocks not even from its own address, since no other request takes of
// their room, and other signed blocks only their sender's share of it.
func TestSlowBodiesKeepNobodyOut(t *testing.T) {
	const attacker, honest, keyed = "203.0.113.7", "198.51.100.1", "203.0.113.7"
	const registrations, signed = "/eth/v1/builder/validators", "/eth/v1/builder/blinded_blocks"
	announced := func(t *testing.T, h *relayUnderTest, path string, _ int) {
		for range 55 {
			h.begin(t, attacker, path, "Content-Type: application/octet-stream\r\nContent-Length: 4000000\r\n", "x")
		}
		h.begin(t, attacker, path, "Content-Type: application/octet-stream\r\nContent-Length: 2068000\r\n", "x")
	}
	windows := func(t *testing.T, h *relayUnderTest, path string, kept int) {
		const sent = 12
		answers := make(chan int, sent)
		for range sent {
			conn := h.begin(t, attacker, path,
				"Content-Type: application/octet-stream\r\nContent-Encoding: zstd\r\nContent-Length: 4000000\r\n", zstdFrame)
			go func() {
				response, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil {
					answers <- 0 // the test has ended
					return
				}
				_ = response.Body.Close()
				answers <- response.StatusCode
			}()
		}
		for range sent - kept { // those that are kept would get another answer, once they are slow
			if got := <-answers; got != http.StatusServiceUnavailable {
				t.Fatalf("a window beyond the share is answered with %d", got)
			}
		}
	}
	for _, row := range []struct {
		name, path string
		attack     func(t *testing.T, h *relayUnderTest, path string, kept int)
		kept       int    // how many of the windows fit into the attacker's share; one does whatever the share
		reveal     string // where the proposer is
	}{
		{"announced submissions", submitPath, announced, 0, attacker},
		{"announced signed blocks", signed, announced, 0, honest},
		{"zstd submissions", submitPath, windows, 3, attacker},
		{"zstd signed blocks", signed, windows, 1, honest},
	} {
		t.Run(row.name, func(t *testing.T) {
			h := newRelay(t, eth.Electra, relayOptions{configure: func(c *app.Config) {
				trusting(c)
				anySender(c)
				c.Limits.BodyBytesPerSecond = -1 // what is slow stays
			}})
			b := h.offered(t, h.worth(t, 1, 1000))
			better := h.worth(t, 1, 2000)
			keyedBid := h.worth(t, 0, 3000)
			row.attack(t, h, row.path, row.kept)
			from := func(sender string, header http.Header) http.Header {
				header.Set("X-Forwarded-For", sender)
				return header
			}
			index, _ := h.duty(h.slot + 1)
			registration := h.registration(index)
			h.post(t, registrations, from(honest, sszHeader(h.fork)), ssz(t, registration)).wantStatus(t, http.StatusOK)
			h.post(t, submitPath, from(honest, sszHeader(h.fork)), better.ssz(t)).wantStatus(t, http.StatusOK)
			h.post(t, submitPath, from(keyed, withKey(sszHeader(h.fork))), keyedBid.ssz(t)).wantStatus(t, http.StatusOK)
			h.post(t, signed, from(row.reveal, sszHeader(h.fork)), b.ssz(t)).wantStatus(t, http.StatusOK)
		})
	}
}

func ssz(t testing.TB, r *builderv1.SignedValidatorRegistration) []byte {
	t.Helper()
	raw, err := r.MarshalSSZ()
	must(t, err)
	return raw
}
