package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Config says where the journal is. Zero values take the defaults that are named.
type Config struct {
	// URL of a NATS cluster with JetStream; empty runs the engine in this process.
	URL string
	// Dir keeps the embedded engine's files; empty keeps everything in memory and forgets it on Close.
	Dir string
	// ReadOnly reaches a journal by URL whose streams another process makes and configures. There are facts, and nothing else must be used.
	ReadOnly bool
	// Listen is the host:port at which the embedded engine lets other processes of this machine read and write. It knows no passwords, so that it
	// must be a loopback address. Empty for none.
	Listen string
	// Replicas of each stream in a cluster: 1.
	Replicas int
	// EscrowFor is how long the escrow keeps a value, in wall time: 10 min. EscrowBytes is how much it keeps, the newest: 16 GiB on disk,
	// 2 GiB in memory. A relay needs what it holds for a slot or two.
	EscrowFor   time.Duration
	EscrowBytes int64
	// FactsFor is how long facts are kept, in wall time; 0 is for ever. Views must have read them by then.
	FactsFor time.Duration
	// EscrowInMemory keeps the escrow off the disk, for clusters whose replicas are the safety.
	EscrowInMemory bool
	Log            *slog.Logger
}

// Sizes and spans of the engine.
const (
	// maxValue is the greatest value in bytes: above any block with its blobs.
	maxValue = 32 << 20
	// needPayload is what a cluster must let through: the greatest submission that the relay takes, and its headers.
	needPayload = 16<<20 + 4<<10
	// maxPending facts may be on their way before AppendAsync refuses.
	maxPending = 1 << 16
	startTime  = 10 * time.Second
	// evidenceBytes is the room for evidence; the oldest makes place.
	evidenceBytes = 1 << 30
	factsName     = "FACTS"
	escrowName    = "ESCROW"
	guardName     = "GUARD"
)

// Journal is open until Close. It is safe for concurrent use.
type Journal struct {
	log    *slog.Logger
	server *server.Server // nil with a cluster
	lock   *flock.Flock   // keeps other processes out of the embedded engine's folder
	temp   string         // the memory engine's folder, removed on Close
	conn   *nats.Conn
	js     jetstream.JetStream
	facts  jetstream.Stream
	escrow escrowStore
	guard  jetstream.Stream
	// evidence is what a builder was demoted for.
	evidence jetstream.Stream
	failed   failures
}

// ErrInUse says that another process, or another Journal of this one, has the folder open. Two engines in one folder would each let a
// claim win.
var ErrInUse = errors.New("the journal's folder is in use")

// Open starts or reaches the engine and makes sure that its streams are there.
func Open(ctx context.Context, cfg Config) (*Journal, error) {
	j := &Journal{log: cfg.Log}
	if j.log == nil {
		j.log = slog.New(slog.DiscardHandler)
	}
	if err := j.open(ctx, cfg); err != nil {
		return nil, errors.Join(err, j.Close(ctx))
	}
	return j, nil
}

func (j *Journal) open(ctx context.Context, cfg Config) (err error) {
	if cfg.URL == "" {
		err = j.startServer(cfg.Dir, cfg.Listen)
	} else {
		err = j.connect(cfg.URL)
	}
	if err != nil {
		return err
	}
	j.js, err = jetstream.New(j.conn, jetstream.WithPublishAsyncMaxPending(maxPending), jetstream.WithPublishAsyncErrHandler(j.asyncFailed))
	if err != nil {
		return fmt.Errorf("reach JetStream: %w", err)
	}
	if cfg.ReadOnly {
		return j.findFacts(ctx)
	}
	if err := j.makeStreams(ctx, cfg); err != nil {
		return err
	}
	return j.makeEscrow(ctx, cfg)
}

// reconnectEvery is how often a server that is away is tried again: what reads a journal is behind for no longer than that after a restart of who writes it.
const reconnectEvery = 100 * time.Millisecond

// connect reaches a cluster, and comes back to it for as long as the journal is open.
func (j *Journal) connect(cluster string) (err error) {
	shown := "the cluster"
	if parsed, err := url.Parse(cluster); err == nil {
		shown = parsed.Redacted() // a password in the URL is nobody's business
	}
	if j.conn, err = nats.Connect(cluster, nats.Name("gavel"), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectEvery)); err != nil {
		return fmt.Errorf("connect to %s: %w", shown, err)
	}
	if most := j.conn.MaxPayload(); most < needPayload {
		return fmt.Errorf("%s takes messages of %d bytes, the escrow needs %d: raise its max_payload", shown, most, needPayload)
	}
	return nil
}

// holdFolder makes the folder and locks it for this Journal.
func (j *Journal) holdFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make the journal's folder: %w", err)
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	held, err := lock.TryLock()
	switch {
	case err != nil:
		return fmt.Errorf("lock %s: %w", dir, err)
	case !held:
		return fmt.Errorf("%s: %w", dir, ErrInUse)
	}
	j.lock = lock
	return nil
}

// findFacts finds the stream that another process has made, with whatever it is configured.
func (j *Journal) findFacts(ctx context.Context) (err error) {
	j.facts, err = j.js.Stream(ctx, factsName)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return errors.New("the journal has no facts yet: start the service that writes them first")
	}
	if err != nil {
		return fmt.Errorf("find stream %s: %w", factsName, err)
	}
	return nil
}

// place is where an engine listens. Without an address it has no port at all.
func place(listen string) (options server.Options, err error) {
	if listen == "" {
		return server.Options{DontListen: true}, nil
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return options, fmt.Errorf("the journal's address: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return options, fmt.Errorf("the journal would listen on %s, where others could write: give a loopback address, or use a cluster", listen)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return options, fmt.Errorf("the journal's address %s needs a port", listen)
	}
	return server.Options{Host: host, Port: int(number)}, nil
}

// startServer runs the engine in this process.
func (j *Journal) startServer(dir, listen string) (err error) {
	options, err := place(listen)
	if err != nil {
		return err
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "gavel-journal-"); err != nil {
			return fmt.Errorf("make the journal's folder: %w", err)
		}
		j.temp = dir
	}
	if err := j.holdFolder(dir); err != nil {
		return err
	}
	options.ServerName, options.JetStream, options.StoreDir, options.NoSigs, options.NoLog = "gavel", true, dir, true, true
	options.MaxPayload, options.MaxPending = maxValue, 4*maxValue
	j.server, err = server.NewServer(&options)
	if err != nil {
		return fmt.Errorf("make engine: %w", err)
	}
	j.server.Start()
	if !j.server.ReadyForConnections(startTime) {
		return fmt.Errorf("the engine in %s did not start within %v", dir, startTime)
	}
	if j.conn, err = nats.Connect("", nats.InProcessServer(j.server)); err != nil {
		return fmt.Errorf("connect to the engine: %w", err)
	}
	return nil
}

// makeEscrow puts the escrow into a stream of the cluster, or beside the embedded engine.
func (j *Journal) makeEscrow(ctx context.Context, cfg Config) error {
	inMemory := cfg.EscrowInMemory || cfg.URL == "" && cfg.Dir == ""
	keepFor, room := cfg.EscrowFor, cfg.EscrowBytes
	if keepFor == 0 {
		keepFor = 10 * time.Minute
	}
	if room == 0 {
		room = 16 << 30
		if inMemory {
			room = 2 << 30
		}
	}
	if cfg.URL == "" {
		dir := ""
		if !inMemory {
			dir = filepath.Join(cfg.Dir, "escrow")
		}
		local, err := openLocalEscrow(dir, keepFor, room)
		j.escrow = local
		return err
	}
	storage, replicas := jetstream.FileStorage, max(cfg.Replicas, 1)
	if inMemory {
		storage = jetstream.MemoryStorage
	}
	stream, err := j.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: escrowName, Subjects: []string{"escrow.>"}, Storage: storage, MaxAge: keepFor, MaxMsgsPerSubject: 1,
		MaxBytes: room, Duplicates: duplicates(keepFor), Replicas: replicas,
		// A direct get is cheaper, but any replica may answer it, also one that has not yet seen what was acked.
		AllowDirect: replicas == 1,
	})
	if err != nil {
		return fmt.Errorf("make stream %s: %w", escrowName, err)
	}
	j.escrow = &clusterEscrow{js: j.js, stream: stream}
	return nil
}

func (j *Journal) makeStreams(ctx context.Context, cfg Config) (err error) {
	storage := jetstream.FileStorage
	if cfg.URL == "" && cfg.Dir == "" {
		storage = jetstream.MemoryStorage
	}
	replicas := max(cfg.Replicas, 1)
	for _, s := range []struct {
		stream *jetstream.Stream
		config jetstream.StreamConfig
	}{
		{&j.facts, jetstream.StreamConfig{Name: factsName, Subjects: []string{"fact.>"}, Storage: storage, MaxAge: cfg.FactsFor,
			Duplicates: duplicates(cfg.FactsFor)}},
		{&j.evidence, jetstream.StreamConfig{
			Name: "EVIDENCE", Subjects: []string{"evidence.>"}, Storage: storage, MaxMsgsPerSubject: 1, MaxBytes: evidenceBytes,
		}},
		{&j.guard, jetstream.StreamConfig{
			Name: guardName, Subjects: []string{"guard.*"}, Storage: storage, DenyDelete: true, DenyPurge: true,
		}},
	} {
		s.config.Replicas = replicas
		if *s.stream, err = j.js.CreateOrUpdateStream(ctx, s.config); err != nil {
			return fmt.Errorf("make stream %s: %w", s.config.Name, err)
		}
	}
	return nil
}

// duplicates is how long the engine remembers message ids, which nobody here gives; it may not be longer than the messages live.
func duplicates(maxAge time.Duration) time.Duration {
	if maxAge == 0 {
		return time.Minute
	}
	return min(maxAge, time.Minute)
}

// Close waits for what is on its way, closes the connection and stops the embedded engine. What it could not keep is in its error.
func (j *Journal) Close(ctx context.Context) error {
	var err error
	if j.js != nil {
		err = j.Flush(ctx)
	}
	if j.conn != nil {
		j.conn.Close()
	}
	if j.server != nil {
		j.server.Shutdown()
		j.server.WaitForShutdown()
	}
	if j.lock != nil {
		err = errors.Join(err, j.lock.Unlock())
	}
	if j.temp != "" {
		err = errors.Join(err, os.RemoveAll(j.temp))
	}
	return err
}
