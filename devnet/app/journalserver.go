package app

import (
	"context"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

const (
	// journalPayload is the largest message in bytes; every block with its blobs is smaller.
	journalPayload = 32 << 20
	// journalRoom is what streams may reserve in bytes, not what they use. A server that is not told
	// goes by what the disk has free, and a full machine would refuse journals that stay small.
	journalRoom  = 1 << 50
	journalStart = 10 * time.Second
)

// JournalServer is a server of journals for services that have theirs apart, alone or in a cluster.
// It listens by itself.
type JournalServer struct{ engine *server.Server }

var _ Service = (*JournalServer)(nil)

// OpenJournalServer starts a server with its data in StoreDir. The options say who and where it is;
// what services need of it is added.
func OpenJournalServer(options server.Options) (*JournalServer, error) {
	// without the folder, the server would not start and would not say why
	if err := os.MkdirAll(options.StoreDir, 0o700); err != nil {
		return nil, fmt.Errorf("make the journal's folder: %w", err)
	}
	options.JetStream, options.NoSigs, options.NoLog = true, true, true
	options.MaxPayload, options.MaxPending, options.SyncAlways = journalPayload, 4*journalPayload, true
	options.JetStreamMaxStore = journalRoom
	engine, err := server.NewServer(&options)
	if err != nil {
		return nil, fmt.Errorf("make the journal's server: %w", err)
	}
	engine.Start()
	if !engine.ReadyForConnections(journalStart) {
		return nil, fmt.Errorf("the journal's server in %s did not start within %s", options.StoreDir, journalStart)
	}
	return &JournalServer{engine}, nil
}

// URL returns its address as services are given it.
func (j *JournalServer) URL() string { return j.engine.ClientURL() }

// Serve implements Service.
func (j *JournalServer) Serve(ctx context.Context, _ net.Listener) error {
	<-ctx.Done()
	return nil
}

// Close implements Service.
func (j *JournalServer) Close() error {
	j.engine.Shutdown()
	j.engine.WaitForShutdown()
	return nil
}
