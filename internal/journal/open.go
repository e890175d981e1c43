package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Config says where the journal is and how much it keeps. Zero values stand for the defaults named
// here.
type Config struct {
	// URL of a NATS cluster with JetStream; empty runs the engine in this process.
	URL string
	// Access is how a cluster is told who connects, and how its servers are known.
	Access Access
	// StartTimeout is how long Open waits for a cluster that does not answer, or has no leader; 0
	// is one try. Waiting, if set, is called with what is waited for, again and
	// again, and with nothing when the waiting is over.
	StartTimeout time.Duration
	Waiting      func(what string)
	// Dir is the folder of the embedded engine's files; empty keeps everything in memory until
	// Close.
	Dir string
	// Moved is the word with which Open takes over a folder that is a copy, was restored, or came
	// from another disk. Open's refusal (ErrCopied) names the word. It has no effect on other
	// folders.
	Moved string
	// ReadOnly opens a journal by URL whose streams another process makes and configures. Only its
	// facts can be used.
	ReadOnly bool
	// Listen is the host:port at which other processes of this machine can read and write the
	// embedded engine's data. It has no passwords, so it must be a loopback address. Empty for
	// none.
	Listen string
	// Replicas of each stream in a cluster. By default existing streams keep theirs, and new
	// streams have 3 if the cluster has three servers, 1 otherwise.
	Replicas int
	// ChangeStreams lets Open change streams of a cluster that differ from this Config. Otherwise
	// Open refuses them.
	ChangeStreams bool
	// EscrowFor is how long the escrow keeps a value, in wall time; 0 is 10 min. EscrowBytes is how
	// many bytes of the newest values it keeps; 0 is 16 GiB on a disk, less on a small one, and 2
	// GiB in memory. A relay needs a value for a slot or two.
	EscrowFor   time.Duration
	EscrowBytes int64
	// FactsFor is how long facts are kept, in wall time; 0 is 30 days. FactsBytes is how many bytes
	// of facts are kept; 0 is 16 GiB, or half of a small disk. Negative is without a bound. The
	// oldest facts are dropped first, and projections must have read them by then. State is stored
	// apart from facts and never dropped. A zero value leaves that bound of a cluster's existing
	// stream as it is.
	FactsFor   time.Duration
	FactsBytes int64
	// EvidenceBytes is how many bytes of evidence are kept; 0 is 1 GiB, or a tenth of a small disk.
	// The oldest evidence is dropped first.
	EvidenceBytes int64
	// EscrowInMemory keeps the escrow off the disk. It is for clusters, whose replicas protect the
	// values.
	EscrowInMemory bool
	// AuctionLog makes the stream of auction logs, which the instances of a relay share. It has no
	// effect on an embedded engine, which one relay uses alone.
	AuctionLog bool
	Log        *slog.Logger
}

// Bounds of the engine.
const (
	// maxValue is the largest value in bytes. It is above any block with its blobs.
	maxValue = 32 << 20
	// needPayload is how many bytes a message in a cluster must be able to have: the largest
	// submission that the relay accepts, and its headers.
	needPayload = 16<<20 + 4<<10
	// maxPending is how many facts may be on their way before AppendAsync refuses more.
	maxPending = 1 << 16
	startTime  = 10 * time.Second
)

// Journal is an open journal. The caller must Close it. It is safe for concurrent use.
type Journal struct {
	log    *slog.Logger
	cfg    Config         // that it was opened with
	server *server.Server // nil with a cluster
	lock   *flock.Flock   // keeps other processes out of the embedded engine's folder
	temp   string         // the memory engine's folder, removed on Close
	conn   *nats.Conn
	js     jetstream.JetStream
	quota  quota
	id     string // of the log of facts
	term   term   // in which facts are written; zero without terms
	facts  jetstream.Stream
	bound  func(context.Context) error // sets the bounds of facts; nil if they are set
	state  jetstream.Stream
	escrow escrowStore
	guard  guardStore
	disk   *disk  // of the embedded engine; nil in memory and in a cluster
	syncs  *syncs // as disk
	synced synced
	made   bool // this Open has made a stream
	ready  bool // Open has succeeded
	// closedCleanly: the previous process closed the journal in order.
	closedCleanly bool
	// auction has the auction logs; nil unless Config.AuctionLog asks for it.
	auction jetstream.Stream
	// evidence has what builders were demoted for.
	evidence jetstream.Stream
	failed   failures
	// engineLog, if set, gets what the embedded engine complains of.
	engineLog *complaints
}

// ErrInUse says that another process, or another Journal of this one, has the folder open. Two
// engines in one folder would each let a claim win.
var ErrInUse = errors.New("the journal's folder is in use")

// Open starts the engine or connects to the cluster, and makes the streams that are missing.
func Open(ctx context.Context, cfg Config) (*Journal, error) {
	j := &Journal{log: cfg.Log, cfg: cfg}
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
		err = j.connect(ctx, cfg)
	}
	if err != nil {
		return err
	}
	j.js, err = jetstream.New(j.conn, jetstream.WithPublishAsyncMaxPending(maxPending),
		jetstream.WithPublishAsyncErrHandler(j.asyncFailed), jetstream.WithPublishAsyncTimeout(ackPatience))
	if err != nil {
		return fmt.Errorf("reach JetStream: %w", err)
	}
	if cfg.URL != "" {
		if err := j.waitForStreams(ctx); err != nil {
			return err
		}
	}
	if cfg.ReadOnly {
		return j.patiently(ctx, "the service that makes the journal", j.findFacts)
	}
	if err := j.makeStreams(ctx, cfg); err != nil {
		return err
	}
	if cfg.AuctionLog && cfg.URL != "" {
		if j.auction, err = j.makeStream(ctx, cfg, auctionConfig()); err != nil {
			return err
		}
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

// findFacts finds the stream that another process has made, however that is configured.
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

// Close waits for messages on their way, closes the connection and stops the embedded engine. Its
// error reports facts that were lost during Close. Earlier losses were counted and logged.
func (j *Journal) Close(ctx context.Context) error {
	var err error
	if j.disk != nil {
		j.disk.close()
	}
	if j.js != nil {
		j.failed.reset()
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
