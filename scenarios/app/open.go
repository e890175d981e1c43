package app

import (
	"fmt"
	"net"
	"strconv"
	"strings"

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
	options := server.Options{ServerName: c.cfg.Name, Host: host, Port: port, StoreDir: c.cfg.Journal.DataDir}
	if plan := c.cfg.Journal; len(plan.Routes) > 0 {
		options.Cluster.Name = "lab"
		// Relays go by the addresses that they are configured with: a fault may be on the way.
		options.Cluster.NoAdvertise = true
		if options.Cluster.Host, options.Cluster.Port, err = hostAndPort(plan.Route); err != nil {
			return nil, fmt.Errorf("read the journal's route: %w", err)
		}
		options.Routes = server.RoutesFromStr("nats://" + strings.Join(plan.Routes, ",nats://"))
	}
	return devnetapp.OpenJournalServer(options)
}

func hostAndPort(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	return host, port, err
}
