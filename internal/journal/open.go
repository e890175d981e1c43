package journal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/gavel-relay/gavel/internal/backoff"
)

// Config says where the journal is. Zero values take the defaults that are named.
type Config struct {
	// URL of a NATS cluster with JetStream; empty runs the engine in this process.
	URL string
	// StartTimeout is how long Open waits for a cluster that is away: 0 is one try.
	StartTimeout time.Duration
	// Dir keeps the embedded engine's files; empty keeps everything in memory and forgets it on Close.
	Dir string
	// Moved is the word with which Open takes over a folder that is a copy, was restored, or came from
	// another disk; its refusal (ErrCopied) says it. It has no effect on other folders.
	Moved string
	// ReadOnly reaches a journal by URL whose streams another process makes and configures. There are
	// facts, and nothing else must be used.
	ReadOnly bool
	// Listen is the host:port at which the embedded engine lets other processes of this machine read
	// and write. It knows no passwords, so that it must be a loopback address. Empty for none.
	Listen string
	// Replicas of each stream in a cluster: as the streams are; those that are made have 3 if the
	// cluster has three servers, 1 otherwise.
	Replicas int
	// ChangeStreams lets streams of a cluster that are not as this Config says be changed; Open
	// refuses otherwise.
	ChangeStreams bool
	// EscrowFor is how long the escrow keeps a value, in wall time: 10 min. EscrowBytes is how much it
	// keeps, the newest: 16 GiB on disk, less on a small one, 2 GiB in memory. A relay needs what it
	// holds for a slot or two.
	EscrowFor   time.Duration
	EscrowBytes int64
	// FactsFor is how long facts are kept, in wall time, and FactsBytes how much of them: 30 days, 16
	// GiB or half of a small disk; negative is without a bound. The oldest go first. Views must have
	// read them by then; state is kept apart from them, and for good. A cluster's stream stays as it
	// is when both are zero.
	FactsFor   time.Duration
	FactsBytes int64
	// EvidenceBytes is the room for evidence: 1 GiB, or a tenth of a small disk; the oldest makes
	// place.
	EvidenceBytes int64
	// EscrowInMemory keeps the escrow off the disk, for clusters whose replicas are the safety.
	EscrowInMemory bool
	Log            *slog.Logger
}

// Sizes and spans of the engine.
const (
	// maxValue is the greatest value in bytes: above any block with its blobs.
	maxValue = 32 << 20
	// needPayload is what a cluster must let through: the greatest submission that the relay takes,
	// and its headers.
	needPayload = 16<<20 + 4<<10
	// maxPending facts may be on their way before AppendAsync refuses.
	maxPending = 1 << 16
	startTime  = 10 * time.Second
)

// Journal is open until Close. It is safe for concurrent use.
type Journal struct {
	log    *slog.Logger
	server *server.Server // nil with a cluster
	lock   *flock.Flock   // keeps other processes out of the embedded engine's folder
	temp   string         // the memory engine's folder, removed on Close
	conn   *nats.Conn
	js     jetstream.JetStream
	quota  quota
	id     string // of the log of facts
	facts  jetstream.Stream
	bound  func(context.Context) error // gives facts their bounds; nil when they have them
	state  jetstream.Stream
	escrow escrowStore
	guard  guardStore
	disk   *disk  // of the embedded engine; nil in memory and in a cluster
	syncs  *syncs // the same
	synced synced
	made   bool // a stream was made by this Open
	ready  bool // Open has succeeded
	// closedCleanly is of the life before.
	closedCleanly bool
	// evidence is what a builder was demoted for.
	evidence jetstream.Stream
	failed   failures
}

// ErrInUse says that another process, or another Journal of this one, has the folder open. Two
// engines in one folder would each let a claim win.
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
	j.quota = cfg.wished(cfg.URL == "" && cfg.Dir == "")
	if cfg.EscrowInMemory && cfg.EscrowBytes == 0 {
		j.quota.escrow = quotaInMemory.escrow
	}
	if cfg.URL == "" {
		err = j.startServer(cfg)
	} else {
		err = j.connect(ctx, cfg.URL, cfg.StartTimeout)
	}
	if err != nil {
		return err
	}
	j.js, err = jetstream.New(j.conn, jetstream.WithPublishAsyncMaxPending(maxPending),
		jetstream.WithPublishAsyncErrHandler(j.asyncFailed), jetstream.WithPublishAsyncTimeout(ackPatience))
	if err != nil {
		return fmt.Errorf("reach JetStream: %w", err)
	}
	if cfg.ReadOnly {
		return j.findFacts(ctx)
	}
	if err := j.makeStreams(ctx, cfg); err != nil {
		return err
	}
	if err := j.makeGuard(ctx, cfg); err != nil {
		return err
	}
	if err := j.makeEscrow(ctx, cfg); err != nil {
		return err
	}
	if cfg.URL != "" || cfg.Dir == "" {
		return nil
	}
	if j.made {
		if err := syncAll(cfg.Dir); err != nil {
			return err
		}
	}
	if err := errors.Join(markLocation(cfg.Dir), j.watchDisk(cfg.Dir)); err != nil {
		return err
	}
	j.ready = true
	j.synced.note()
	return nil
}

// reconnectEvery is how often a server that is away is tried again: what reads a journal is behind
// for no longer than that after a restart of who writes it.
const reconnectEvery = 100 * time.Millisecond

// connect reaches a cluster, and comes back to it for as long as the journal is open.
func (j *Journal) connect(ctx context.Context, cluster string, patience time.Duration) (err error) {
	shown := "the cluster"
	if parsed, err := url.Parse(cluster); err == nil {
		shown = parsed.Redacted() // a password in the URL is nobody's business
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for told := false; ; told = true {
		j.conn, err = nats.Connect(cluster, nats.Name("gavel"), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectEvery))
		if err == nil {
			break
		}
		if backoff.Wait(ctx, reconnectEvery) != nil {
			return fmt.Errorf("connect to %s: %w", shown, err)
		}
		if !told {
			j.log.Warn("the journal's cluster is away: it is tried again until --start-timeout is over", "url", shown,
				"error", err)
		}
	}
	if most := j.conn.MaxPayload(); most < needPayload {
		return fmt.Errorf("%s takes messages of %d bytes, the escrow needs %d: raise its max_payload", shown,
			most, needPayload)
	}
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
	j.id = identityOf(j.facts.CachedInfo())
	return nil
}

// makeEscrow puts the escrow into a stream of the cluster, or beside the embedded engine.
func (j *Journal) makeEscrow(ctx context.Context, cfg Config) error {
	inMemory := cfg.EscrowInMemory || cfg.URL == "" && cfg.Dir == ""
	keepFor := cmp.Or(cfg.EscrowFor, 10*time.Minute)
	if cfg.URL == "" {
		dir := ""
		if !inMemory {
			dir = filepath.Join(cfg.Dir, "escrow")
		}
		local, err := openLocalEscrow(dir, keepFor, j.quota.escrow)
		j.escrow = local
		return err
	}
	storage := jetstream.FileStorage
	if inMemory {
		storage = jetstream.MemoryStorage
	}
	stream, err := j.makeStream(ctx, cfg, jetstream.StreamConfig{
		Name: escrowName, Subjects: []string{"escrow.>"}, Storage: storage, MaxAge: keepFor, MaxMsgsPerSubject: 1,
		MaxBytes: j.quota.escrow, Duplicates: duplicates(keepFor),
	})
	if err != nil {
		return err
	}
	j.escrow = &clusterEscrow{js: j.js, stream: stream}
	return nil
}

// Close waits for what is on its way, closes the connection and stops the embedded engine. What it
// could not keep is in its error; what was lost before, and is counted and logged, is not.
func (j *Journal) Close(ctx context.Context) error {
	var err error
	if j.disk != nil {
		j.disk.close()
	}
	if j.js != nil {
		j.failed.told()
		err = j.Flush(ctx)
	}
	if j.guard != nil {
		err = errors.Join(err, j.guard.close())
	}
	if j.conn != nil {
		j.conn.Close()
	}
	if j.server != nil {
		j.server.Shutdown()
		j.server.WaitForShutdown()
	}
	if j.ready && err == nil {
		err = noteClosed(j.syncs.dir)
	}
	if j.lock != nil {
		err = errors.Join(err, j.lock.Unlock())
	}
	if j.temp != "" {
		err = errors.Join(err, os.RemoveAll(j.temp))
	}
	return err
}
