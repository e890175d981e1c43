package journal

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

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
	// Replicas of each stream in a cluster: 1.
	Replicas int
	// EscrowFor is how long the escrow keeps a value, in wall time: 1 h.
	EscrowFor time.Duration
	// EscrowInMemory keeps the escrow off the disk, for clusters whose replicas are the safety.
	EscrowInMemory bool
	Log            *slog.Logger
}

// Sizes and spans of the engine.
const (
	// maxValue is the greatest value in bytes: above any block with its blobs.
	maxValue = 32 << 20
	// maxPending facts may be on their way before AppendAsync waits.
	maxPending = 1 << 16
	startTime  = 10 * time.Second
	factsName  = "FACTS"
	escrowName = "ESCROW"
	guardName  = "GUARD"
)

// Journal is open until Close. It is safe for concurrent use.
type Journal struct {
	log    *slog.Logger
	server *server.Server // nil with a cluster
	temp   string         // the memory engine's folder, removed on Close
	conn   *nats.Conn
	js     jetstream.JetStream
	facts  jetstream.Stream
	escrow jetstream.Stream
	guard  jetstream.Stream
	failed failures
}

// Open starts or reaches the engine and makes sure that its streams are there.
func Open(ctx context.Context, cfg Config) (j *Journal, err error) {
	j = &Journal{log: cfg.Log}
	if j.log == nil {
		j.log = slog.New(slog.DiscardHandler)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, j.Close(ctx))
		}
	}()
	if cfg.URL == "" {
		err = j.startServer(cfg.Dir)
	} else if j.conn, err = nats.Connect(cfg.URL, nats.MaxReconnects(-1)); err != nil {
		err = fmt.Errorf("connect to %s: %w", cfg.URL, err)
	}
	if err != nil {
		return j, err
	}
	j.js, err = jetstream.New(j.conn, jetstream.WithPublishAsyncMaxPending(maxPending), jetstream.WithPublishAsyncErrHandler(j.asyncFailed))
	if err != nil {
		return j, err
	}
	return j, j.makeStreams(ctx, cfg)
}

// startServer runs the engine in this process, without any port.
func (j *Journal) startServer(dir string) (err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "gavel-journal-"); err != nil {
			return err
		}
		j.temp = dir
	}
	j.server, err = server.NewServer(&server.Options{
		ServerName: "gavel", DontListen: true, JetStream: true, StoreDir: dir, NoSigs: true, NoLog: true,
		MaxPayload: maxValue, MaxPending: 4 * maxValue,
	})
	if err != nil {
		return fmt.Errorf("make engine: %w", err)
	}
	j.server.Start()
	if !j.server.ReadyForConnections(startTime) {
		return fmt.Errorf("the engine in %s did not start within %v: is another process using the folder?", dir, startTime)
	}
	j.conn, err = nats.Connect("", nats.InProcessServer(j.server))
	return err
}

func (j *Journal) makeStreams(ctx context.Context, cfg Config) (err error) {
	storage := jetstream.FileStorage
	if cfg.URL == "" && cfg.Dir == "" {
		storage = jetstream.MemoryStorage
	}
	escrowStorage := storage
	if cfg.EscrowInMemory {
		escrowStorage = jetstream.MemoryStorage
	}
	escrowFor := cfg.EscrowFor
	if escrowFor == 0 {
		escrowFor = time.Hour
	}
	replicas := max(cfg.Replicas, 1)
	for _, s := range []struct {
		stream *jetstream.Stream
		config jetstream.StreamConfig
	}{
		{&j.facts, jetstream.StreamConfig{Name: factsName, Subjects: []string{"fact.>"}, Storage: storage}},
		{&j.escrow, jetstream.StreamConfig{
			Name: escrowName, Subjects: []string{"escrow.*"}, Storage: escrowStorage, MaxAge: escrowFor, MaxMsgsPerSubject: 1,
			AllowDirect: true, Duplicates: min(escrowFor, time.Minute),
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

// Close waits for what is on its way, closes the connection and stops the embedded engine.
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
	if j.temp != "" {
		err = errors.Join(err, os.RemoveAll(j.temp))
	}
	return err
}
