package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"
	"github.com/holiman/uint256"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/gavel-relay/gavel/devnet/network"
	"github.com/gavel-relay/gavel/internal/exec"
	"github.com/gavel-relay/gavel/internal/exec/node"
	"github.com/gavel-relay/gavel/internal/exec/node/state"
	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/relay"
	relayapp "github.com/gavel-relay/gavel/relay/app"
	"github.com/gavel-relay/gavel/rpc"
	rpcapp "github.com/gavel-relay/gavel/rpc/app"
	streamapp "github.com/gavel-relay/gavel/stream/app"
)

// validationTimeout bounds the execution of a submission by the relay's node, in wall time.
const validationTimeout = 3 * time.Second

// openRelay makes a relay that knows the network by URLs only.
func (c *child) openRelay(ctx context.Context) (service, error) {
	p := c.cfg.Relay
	nodes, err := node.New(node.Config{URLs: []string{p.ValidationURL}, PerNode: 16, Timeout: validationTimeout * 2 / 3,
		Log: c.log})
	if err != nil {
		return nil, err
	}
	cfg := relayapp.Config{
		BeaconURLs: []string{p.BeaconURL}, Key: network.RelayKey(p.Seed, p.Index), DataDir: p.DataDir,
		Journal: journal.Config{URL: p.JournalURL},
		Clock:   c.clock, Validator: nodes, ValidatorLive: nodes.Live, ValidationTimeout: validationTimeout,
		HeaderCutOff:  p.HeaderCutOff,
		PayloadCutOff: p.PayloadCutOff, RevealDelay: time.Second, TopBidQueue: p.TopBidQueue,
		Limits:        relayapp.Limits{PerSecond: -1},
		RecordRefused: true,
		Observe:       func(fact relay.Fact) { c.tell(fact.Subject(), fact) }, Log: c.log,
	}
	for name, key := range p.Trusted {
		cfg.Builders = append(cfg.Builders, relay.Builder{
			Name: name, Pubkeys: []phase0.BLSPubKey{key}, Optimistic: true,
			CollateralWei: new(uint256.Int).Mul(uint256.NewInt(1000), uint256.NewInt(1e18)),
		})
	}
	return relayapp.New(ctx, cfg)
}

// openRPC makes a bundle RPC on the node of the lab.
func (c *child) openRPC(ctx context.Context) (service, error) {
	p := c.cfg.RPC
	states, err := state.New(state.Options{URLs: []string{p.ExecutionURL}, Config: p.Chain, Log: c.log})
	if err != nil {
		return nil, err
	}
	app, err := rpcapp.New(ctx, rpcapp.Config{
		Chain: states, States: states, ChainConfig: p.Chain, Key: network.Wallet(p.Seed, "service", 0), Builders: p.Builders,
		DataDir: p.DataDir,
		Journal: journal.Config{URL: p.JournalURL, Listen: p.JournalListen}, BlockTime: p.BlockTime,
		PayoutGas:  network.PayoutGas,
		Payers:     p.Payers,
		FetchAhead: func(s exec.Simulator) exec.Simulator { return state.Warmed{Simulator: s, States: states} },
		Clock:      c.clock, Observe: func(fact rpc.Fact) { c.tell(fact.Subject(), fact) },
		Limits: rpcapp.Limits{PerSecond: -1, SignerPerSecond: -1}, Log: c.log,
	})
	if err != nil {
		return nil, errors.Join(err, states.Close())
	}
	return withNodes{app, states}, nil
}

// withNodes closes a bundle RPC and then its connections to nodes.
type withNodes struct {
	*rpcapp.App
	states *state.States
}

// Close implements service.
func (w withNodes) Close() error { return errors.Join(w.App.Close(), w.states.Close()) }

// openStream makes a stream that reads the bundle RPC's journal from outside.
func (c *child) openStream(ctx context.Context) (service, error) {
	p := c.cfg.Stream
	return streamapp.New(ctx, streamapp.Config{
		DataDir: p.DataDir, Journal: journal.Config{URL: p.JournalURL}, Network: "devnet", Clock: c.clock,
		Limits: streamapp.Limits{QueueBytes: p.QueueBytes, PerSecond: -1}, Log: c.log,
	})
}

// openJournal makes the server of a journal, at the configuration's address.
func (c *child) openJournal(context.Context) (service, error) {
	host, port, err := net.SplitHostPort(c.cfg.Address)
	if err != nil {
		return nil, fmt.Errorf("read the journal's address: %w", err)
	}
	number, err := strconv.Atoi(port)
	if err != nil {
		return nil, fmt.Errorf("read the journal's port: %w", err)
	}
	if err := os.MkdirAll(c.cfg.Journal.DataDir, 0o700); err != nil { // the engine would only not start
		return nil, fmt.Errorf("make the journal's folder: %w", err)
	}
	engine, err := server.NewServer(&server.Options{
		ServerName: c.cfg.Name, Host: host, Port: number, JetStream: true, StoreDir: c.cfg.Journal.DataDir,
		NoSigs: true, NoLog: true,
		MaxPayload: journalPayload, MaxPending: 4 * journalPayload, SyncAlways: true,
	})
	if err != nil {
		return nil, fmt.Errorf("make the journal's server: %w", err)
	}
	engine.Start()
	if !engine.ReadyForConnections(journalStart) {
		return nil, fmt.Errorf("the journal's server in %s did not start within %s", c.cfg.Journal.DataDir, journalStart)
	}
	return journalServer{engine}, nil
}

const (
	// journalPayload is the greatest message in bytes: above any block with its blobs.
	journalPayload = 32 << 20
	journalStart   = 10 * time.Second
)

// journalServer is a journal's server, which listens by itself.
type journalServer struct{ engine *server.Server }

// Serve implements service.
func (j journalServer) Serve(ctx context.Context, _ net.Listener) error {
	<-ctx.Done()
	return nil
}

// Close implements service.
func (j journalServer) Close() error {
	j.engine.Shutdown()
	j.engine.WaitForShutdown()
	return nil
}
