package serve

import (
	"context"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"testing"
	"testing/synctest"

	"pgregory.net/rapid"

	"github.com/gavel-relay/gavel/internal/serve/servetest"
)

// addressed are pipes whose clients have addresses.
type addressed struct {
	*servetest.Pipes
	mu    sync.Mutex
	hosts []string // of the connections to come
	all   []net.Conn
}

func (a *addressed) Accept() (net.Conn, error) {
	conn, err := a.Pipes.Accept()
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	host := a.hosts[0]
	a.hosts = a.hosts[1:]
	return remote{conn, net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(host), 1000))}, nil
}

type remote struct {
	net.Conn
	addr net.Addr
}

func (r remote) RemoteAddr() net.Addr { return r.addr }

// from dials from a host, and asks for a path.
func (a *addressed) from(t *testing.T, host, path string) net.Conn {
	t.Helper()
	a.mu.Lock()
	a.hosts = append(a.hosts, host)
	a.mu.Unlock()
	conn := a.Dial()
	a.all = append(a.all, conn)
	if path != "" {
		_, _ = io.WriteString(conn, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n") // fails if the connection has no place
	}
	synctest.Wait()
	return conn
}

// crowded runs a server whose requests for /busy last until the end.
func crowded(t *testing.T, options Options, tell func(t *testing.T, a *addressed)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a := &addressed{Pipes: servetest.NewPipes()}
		release := make(chan struct{})
		handler := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/busy" {
				<-release
			}
		})
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- Serve(ctx, a, handler, options) }()
		tell(t, a)
		for _, conn := range a.all {
			_ = conn.Close()
		}
		close(release)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// over says whether the server has closed a connection.
func over(conn net.Conn) bool {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, conn)
	}()
	synctest.Wait()
	select {
	case <-ended:
		return true
	default:
		return false
	}
}

// Who holds all places with connections that do nothing keeps nobody out: a new one is answered at
// once, and the longest idle one goes. Who is being answered stays, however long that takes.
func TestLongestIdleConnectionMakesPlace(t *testing.T) {
	crowded(t, Options{MaxConns: 4, ConnsPerAddress: -1}, func(t *testing.T, a *addressed) {
		busy := a.from(t, "203.0.113.1", "/busy")
		first := a.from(t, "203.0.113.1", "")
		second := a.from(t, "203.0.113.1", "")
		third := a.from(t, "203.0.113.1", "/busy")
		for range 3 {
			honest := a.from(t, "198.51.100.1", "/")
			if got := status(t, honest); got != http.StatusOK {
				t.Errorf("a proposer is answered %d", got)
			}
		}
		for name, row := range map[string]struct {
			conn net.Conn
			over bool
		}{"busy": {busy, false}, "first": {first, true}, "second": {second, true}, "third": {third, false}} {
			if over(row.conn) != row.over {
				t.Errorf("%s: over is %v", name, !row.over)
			}
		}
	})
}

// An address has its share, which a /64 of IPv6 has together, and a trusted proxy has none: beyond
// it the address's own longest idle connection goes, and if all of them are busy the new one does.
func TestConnectionsOfAnAddressAreBounded(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for host, other := range map[string]string{"203.0.113.1": "203.0.113.1", "2001:db8::1": "2001:db8::2"} {
		crowded(t, Options{MaxConns: 100, ConnsPerAddress: 3, TrustedProxies: proxies}, func(t *testing.T, a *addressed) {
			a.from(t, host, "/busy")
			a.from(t, other, "/busy")
			idle := a.from(t, host, "/")
			if got := status(t, idle); got != http.StatusOK {
				t.Errorf("status %d", got)
			}
			honest := a.from(t, "198.51.100.1", "/busy")
			last := a.from(t, other, "/busy")
			if refused := a.from(t, host, "/"); !over(refused) || !over(idle) || over(last) || over(honest) {
				t.Error("the wrong one has gone")
			}
			for range 10 {
				if over(a.from(t, "10.1.2.3", "/busy")) {
					t.Error("a proxy has a share")
				}
			}
		})
	}
}

// Whatever connections come, work, rest and go: no more are open than may be, of no address, and at
// the end nothing is left.
func TestCrowdProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		most, share := rapid.IntRange(1, 8).Draw(t, "most"), rapid.IntRange(0, 4).Draw(t, "share")
		c := newLimitListener(servetest.NewPipes(), most, share, nil)
		var conns []*limitedConn
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			step := rapid.SampledFrom([]string{"come", "come", "work", "rest", "go"}).Draw(t, "step")
			if step == "come" || len(conns) == 0 {
				host := netip.AddrFrom4([4]byte{10, 0, 0, byte(rapid.IntRange(0, 3).Draw(t, "host"))})
				conn, _ := net.Pipe()
				g, full := c.admit(remote{conn, net.TCPAddrFromAddrPort(netip.AddrPortFrom(host, 1))})
				if full && (g != nil || c.open < c.most || c.idle.Len() > 0) {
					t.Fatalf("full with %d open of %d, %d idle", c.open, c.most, c.idle.Len())
				}
				if g != nil {
					conns = append(conns, g)
				}
			} else {
				i := rapid.IntRange(0, len(conns)-1).Draw(t, "conn")
				switch step {
				case "work":
					c.state(conns[i], http.StateActive)
				case "rest":
					c.state(conns[i], http.StateIdle)
				case "go":
					_ = conns[i].Close()
				}
			}
			open, idle := 0, 0
			for _, g := range conns {
				if !g.gone {
					open++
				}
				if g.waits[0] != nil {
					idle++
				}
			}
			if open != c.open || c.open > c.most || idle != c.idle.Len() {
				t.Fatalf("%d open of %d, counted %d; %d idle, counted %d", open, c.most, c.open, idle, c.idle.Len())
			}
			for host, from := range c.addresses {
				if from.open > c.share || from.open == 0 {
					t.Fatalf("%s has %d of %d", host, from.open, c.share)
				}
			}
		}
		rand.Shuffle(len(conns), func(i, j int) { conns[i], conns[j] = conns[j], conns[i] })
		for _, g := range conns {
			_ = g.Close()
		}
		if c.open != 0 || c.idle.Len() != 0 || len(c.addresses) != 0 {
			t.Fatalf("%d open, %d idle, %d addresses are left", c.open, c.idle.Len(), len(c.addresses))
		}
	})
}
