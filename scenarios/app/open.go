package app

import (
	"context"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	devnetapp "github.com/gavel-relay/gavel/devnet/app"
	"github.com/gavel-relay/gavel/relay"
	"github.com/gavel-relay/gavel/rpc"
)

// env returns what a service needs from this process: clock, log and a recorder of facts.
func (c *child) env() devnetapp.Env {
	return devnetapp.Env{
		Clock: c.clock, Log: c.log,
		RelayFact: func(fact relay.Fact) { c.tell(fact.Subject(), fact) },
		RPCFact:   func(fact rpc.Fact) { c.tell(fact.Subject(), fact) },
	}
}

// openJournal starts a server of journals at the configuration's address, alone or in a cluster.
func (c *child) openJournal() (devnetapp.Service, error) {
	host, port, err := hostAndPort(c.cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("read the journal's address: %w", err)
	}
	// without the folder, the server would not start and would not say why
	if err := os.MkdirAll(c.cfg.Journal.DataDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the journal's folder: %w", err)
	}
	options := &server.Options{
		ServerName: c.cfg.Name, Host: host, Port: port, JetStream: true, StoreDir: c.cfg.Journal.DataDir,
		NoSigs: true, NoLog: true,
		MaxPayload: journalPayload, MaxPending: 4 * journalPayload, SyncAlways: true,
	}
	if plan := c.cfg.Journal; len(plan.Routes) > 0 {
		options.Cluster.Name = "lab"
		// Relays go by the addresses that they are configured with: a fault may be on the way.
		options.Cluster.NoAdvertise = true
		if options.Cluster.Host, options.Cluster.Port, err = hostAndPort(plan.Route); err != nil {
			return nil, fmt.Errorf("read the journal's route: %w", err)
		}
		options.Routes = server.RoutesFromStr("nats://" + strings.Join(plan.Routes, ",nats://"))
	}
	engine, err := server.NewServer(options)
	if err != nil {
		return nil, fmt.Errorf("make the journal's server: %w", err)
	}
	engine.Start()
	if !engine.ReadyForConnections(journalStart) {
		return nil, fmt.Errorf("the journal's server in %s did not start within %s", c.cfg.Journal.DataDir, journalStart)
	}
	return journalServer{engine}, nil
}

func hostAndPort(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	return host, port, err
}

const (
	// journalPayload is the largest message in bytes; every block with its blobs is smaller.
	journalPayload = 32 << 20
	journalStart   = 10 * time.Second
)

// journalServer is a server of journals, which listens by itself.
type journalServer struct{ engine *server.Server }

// Serve implements devnetapp.Service.
func (j journalServer) Serve(ctx context.Context, _ net.Listener) error {
	<-ctx.Done()
	return nil
}

// Close implements devnetapp.Service.
func (j journalServer) Close() error {
	j.engine.Shutdown()
	j.engine.WaitForShutdown()
	return nil
}
