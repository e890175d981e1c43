package journal

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// givenPorts are the ports that freePort has returned in this process.
var givenPorts sync.Map

// freePort is an address of this machine at which nothing listens. It is not held until it is used:
// systems usually give connections ports above these, and no test of this process gets it again.
func freePort(t *testing.T) string {
	t.Helper()
	const first, count = 12_000, 20_000
	for range 1000 {
		port := first + rand.IntN(count)
		if _, given := givenPorts.LoadOrStore(port, nil); given {
			continue
		}
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err == nil {
			_ = listener.Close() // it was never used
			return listener.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

// Another process reads the facts of an embedded journal, those that were and those that come; what
// it is configured does not change the journal.
func TestAnotherProcessReads(t *testing.T) {
	for name, cfg := range map[string]Config{"memory": {FactsFor: time.Hour},
		"file": {FactsFor: time.Hour, Dir: t.TempDir()}} {
		t.Run(name, func(t *testing.T) {
			cfg.Listen = freePort(t)
			writer := open(t, cfg)
			reader := open(t, Config{URL: "nats://" + cfg.Listen, ReadOnly: true})
			for n := range 2 {
				if _, err := writer.Append(t.Context(), "a", fmt.Append(nil, n)); err != nil {
					t.Fatal(err)
				}
			}
			if got, want := read(t, reader, 1, 2), []string{"1 a 0", "2 a 1"}; !slices.Equal(got, want) {
				t.Errorf("read %q, want %q", got, want)
			}
			info, err := writer.facts.Info(t.Context())
			if err != nil || info.Config.MaxAge != time.Hour {
				t.Errorf("%+v, %v", info, err)
			}
		})
	}
}

// Who reads goes on when the process that writes is started again at its address.
func TestReaderOutlivesTheWriter(t *testing.T) {
	cfg := Config{Dir: t.TempDir(), Listen: freePort(t)}
	writer, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	reader := (*Journal)(nil)
	for n := range 3 {
		if _, err := writer.Append(t.Context(), "a", fmt.Append(nil, n)); err != nil {
			t.Fatal(err)
		}
		if reader == nil {
			reader = open(t, Config{URL: "nats://" + cfg.Listen, ReadOnly: true})
		}
		if err := writer.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Fatal(err)
		}
		if writer, err = Open(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := writer.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if got, want := read(t, reader, 1, 3), []string{"1 a 0", "2 a 1", "3 a 2"}; !slices.Equal(got, want) {
		t.Errorf("read %q, want %q", got, want)
	}
}

// Who may only read makes nothing.
func TestNothingToRead(t *testing.T) {
	cluster := startCluster(t, maxValue)
	if _, err := Open(t.Context(), Config{URL: cluster.ClientURL(), ReadOnly: true}); err == nil ||
		!strings.Contains(err.Error(), "no facts yet") {
		t.Errorf("%v", err)
	}
}

func TestListensOnLoopbackOnly(t *testing.T) {
	for _, c := range []struct{ listen, want string }{
		{"0.0.0.0:4222", "loopback"}, {":4222", "loopback"}, {"example.org:4222", "loopback"}, {"127.0.0.1", "missing port"},
		{"127.0.0.1:0", "needs a port"}, {"127.0.0.1:x", "needs a port"},
	} {
		if _, err := Open(t.Context(), Config{Listen: c.listen}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.listen, err, c.want)
		}
	}
}
