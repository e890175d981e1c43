package journal

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// wan is the way between two regions, which can be cut.
type wan struct {
	listener net.Listener
	mu       sync.Mutex // guards the fields below
	conns    []net.Conn
	isCut    bool
}

func newWan(t *testing.T, to string) *wan {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wan{listener: listener}
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", to)
			if err != nil || !w.add(near, far) {
				_ = near.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
				go func() {
					_, _ = io.Copy(way[0], way[1])
					_, _ = near.Close(), far.Close()
				}()
			}
		}
	}()
	t.Cleanup(func() {
		_ = listener.Close()
		w.cut(true)
	})
	return w
}

func (w *wan) add(conns ...net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.isCut {
		for _, conn := range conns {
			_ = conn.Close()
		}
		return false
	}
	w.conns = append(w.conns, conns...)
	return true
}

func (w *wan) cut(is bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, conn := range w.conns {
		_ = conn.Close()
	}
	w.conns, w.isCut = nil, is
}

// startHome is the cluster of three servers in the home region, which other regions' leaves may
// join.
func startHome(t *testing.T) (client, leaves string) {
	t.Helper()
	var ports []int
	servers := startThree(t, func(o *server.Options) {
		ports = append(ports, portOf(t, freePort(t)))
		// Not advertised: leaves would learn of ways that cannot be cut.
		o.LeafNode = server.LeafNodeOpts{Host: "127.0.0.1", Port: ports[len(ports)-1], NoAdvertise: true}
		o.JetStreamDomain = "home"
	})
	return servers[0].ClientURL(), fmt.Sprint("127.0.0.1:", ports[0])
}

// startLeaf is a region's own server, a leaf of the home cluster.
func startLeaf(t *testing.T, way *wan, change func(*server.Options)) *server.Server {
	t.Helper()
	leaf := startWith(t, func(o *server.Options) {
		o.ServerName = "leaf"
		o.LeafNode.ReconnectInterval = 50 * time.Millisecond
		o.LeafNode.Remotes = []*server.RemoteLeafOpts{{URLs: []*url.URL{{Scheme: "nats",
			Host: way.listener.Addr().String()}}}}
		change(o)
	})
	eventually(t, "the leaf joins the home cluster", func() bool { return leaf.NumLeafNodes() == 1 })
	return leaf
}

// A leaf without streams of its own gives a region the whole journal of the home cluster. While the
// region is cut off it can claim, append and store nothing, and home goes on; what home has claimed
// meanwhile stands for the region, too.
func TestClusterWithALeaf(t *testing.T) {
	url, leaves := startHome(t)
	way := newWan(t, leaves)
	leaf := startLeaf(t, way, func(o *server.Options) {
		o.JetStream, o.JsAccDefaultDomain = false, map[string]string{"$G": "home"} // default_js_domain
	})
	home := open(t, Config{URL: url, AuctionLog: true})
	region := open(t, Config{URL: leaf.ClientURL(), AuctionLog: true})
	if home.ID() != region.ID() {
		t.Errorf("two journals: %s and %s", home.ID(), region.ID())
	}
	claims := func(j *Journal, key, value string) (standing string, err error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		current, _, err := j.Claim(ctx, key, []byte(value))
		return string(current), err
	}
	if got, err := claims(region, "slot-1", "of the region"); err != nil || got != "of the region" {
		t.Fatal(got, err)
	}
	if got, err := claims(home, "slot-1", "of home"); err != nil || got != "of the region" {
		t.Errorf("home is told that %q stands, %v", got, err)
	}
	if err := region.Put(t.Context(), "block", []byte("payload")); err != nil {
		t.Fatal(err)
	}
	if got, err := home.Get(t.Context(), "block"); err != nil || string(got) != "payload" {
		t.Errorf("%q, %v", got, err)
	}
	for _, j := range []*Journal{region, home} {
		if _, err := j.AppendAuction(t.Context(), "net.1", []byte("entry")); err != nil {
			t.Fatal(err)
		}
	}
	if got := followAuction(t, region, 2); len(got) != 2 {
		t.Errorf("the region reads %q", got)
	}

	way.cut(true)
	eventually(t, "the leaf is cut off", func() bool { return leaf.NumLeafNodes() == 0 })
	if got, err := claims(region, "slot-2", "of the region"); err == nil {
		t.Errorf("a region that is cut off is told that %q stands", got)
	}
	if _, err := region.AppendAuction(t.Context(), "net.2", []byte("lost")); err == nil {
		t.Error("a region that is cut off appends")
	}
	if got, err := claims(home, "slot-2", "of home"); err != nil || got != "of home" {
		t.Errorf("home: %q, %v", got, err)
	}
	way.cut(false)
	eventually(t, "the region has the journal again", func() bool {
		got, err := claims(region, "slot-2", "of the region")
		if err == nil && got != "of home" {
			t.Errorf("after the cut %q stands", got)
		}
		return err == nil
	})
}

// A leaf with streams of its own may have a mirror of the facts: readers in the region, such as the
// event stream, read what is there also while the region is cut off, under the numbers and the
// identity of the home cluster, and what was missed when the way is there again.
func TestClusterWithAMirror(t *testing.T) {
	url, leaves := startHome(t)
	way := newWan(t, leaves)
	leaf := startLeaf(t, way, func(o *server.Options) { o.JetStreamDomain = "region" })
	home := open(t, Config{URL: url})
	appends := func(data string) {
		t.Helper()
		if _, err := home.Append(t.Context(), "rpc.a", []byte(data)); err != nil {
			t.Fatal(err)
		}
	}
	appends("one")
	if err := home.BeginTerm(t.Context(), "rpc", 1); err != nil {
		t.Fatal(err)
	}
	appends("three")
	if _, err := Open(t.Context(), Config{URL: leaf.ClientURL(), ReadOnly: true}); err == nil {
		t.Error("a leaf without a mirror is a journal")
	}
	mirrorFacts(t, leaf.ClientURL(), home)

	region := open(t, Config{URL: leaf.ClientURL(), ReadOnly: true})
	if region.ID() != home.ID() {
		t.Errorf("the mirror is another journal: %s and %s", region.ID(), home.ID())
	}
	wantRead := func(want ...string) {
		t.Helper()
		if got := read(t, region, 1, len(want)); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("the region reads %q, want %q", got, want)
		}
	}
	wantRead("1 rpc.a one", "3 rpc.a three")
	way.cut(true)
	eventually(t, "the leaf is cut off", func() bool { return leaf.NumLeafNodes() == 0 })
	appends("four")
	wantRead("1 rpc.a one", "3 rpc.a three")
	way.cut(false)
	wantRead("1 rpc.a one", "3 rpc.a three", "4 rpc.a four")
}

// mirrorFacts makes a mirror of the facts of a home cluster at a leaf, as an operator does.
func mirrorFacts(t *testing.T, leaf string, home *Journal) {
	t.Helper()
	at, err := attach(t.Context(), Config{URL: leaf})
	if err != nil {
		t.Fatal(err)
	}
	defer shut(t, at)
	_, err = at.js.CreateStream(t.Context(), jetstream.StreamConfig{
		Name: factsName, Storage: jetstream.FileStorage, MaxBytes: testEscrow,
		Metadata: home.facts.CachedInfo().Config.Metadata,
		Mirror:   &jetstream.StreamSource{Name: factsName, External: &jetstream.ExternalStream{APIPrefix: "$JS.home.API"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the mirror has the facts", func() bool {
		stream, err := at.js.Stream(t.Context(), factsName)
		if err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			t.Error(err)
		}
		return err == nil && stream.CachedInfo().State.LastSeq == 3
	})
}
