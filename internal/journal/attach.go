package journal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrNoJournal says that a folder or a cluster has no journal.
var ErrNoJournal = errors.New("there is no journal")

// attach opens what there is, for an operator's tool: it makes and changes no stream. With an
// embedded journal it holds the folder's lock, so the service must not run. The caller must Close
// it.
func attach(ctx context.Context, cfg Config) (*Journal, error) {
	j := &Journal{log: cfg.Log, cfg: cfg, engineLog: &complaints{}}
	if j.log == nil {
		j.log = slog.New(slog.DiscardHandler)
	}
	if err := j.attach(ctx, cfg); err != nil {
		return nil, errors.Join(err, j.Close(ctx))
	}
	return j, nil
}

func (j *Journal) attach(ctx context.Context, cfg Config) (err error) {
	j.quota = cfg.wished(false)
	if cfg.URL != "" {
		err = j.connect(ctx, cfg)
	} else if err = j.lockFolder(cfg.Dir); err == nil {
		err = j.runServer(&server.Options{DontListen: true}, cfg.Dir)
	}
	if err != nil {
		return err
	}
	if j.js, err = jetstream.New(j.conn); err != nil {
		return fmt.Errorf("reach JetStream: %w", err)
	}
	if cfg.URL != "" {
		return j.waitForStreams(ctx)
	}
	return nil
}

// attachTo is attach for a journal that must exist.
func attachTo(ctx context.Context, cfg Config) (*Journal, error) {
	if cfg.URL == "" {
		_, err := os.Stat(filepath.Join(cfg.Dir, server.JetStreamStoreDir))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w: give the folder that has place.json in it, such as gavel-relay-data/journal",
				cfg.Dir, ErrNoJournal)
		}
		if err != nil {
			return nil, fmt.Errorf("find the journal: %w", err)
		}
	}
	j, err := attach(ctx, cfg)
	if err != nil {
		return nil, err
	}
	for name, stream := range map[string]*jetstream.Stream{factsName: &j.facts, stateName: &j.state} {
		if *stream, err = j.js.Stream(ctx, name); err != nil {
			if errors.Is(err, jetstream.ErrStreamNotFound) {
				err = fmt.Errorf("%w: stream %s is missing", ErrNoJournal, name)
			}
			return nil, errors.Join(fmt.Errorf("find the journal: %w", err), j.Close(ctx))
		}
	}
	j.id = identityOf(j.facts.CachedInfo())
	return j, nil
}

// complaints collects what the embedded engine warns of, such as a file that is damaged.
type complaints struct {
	mu    sync.Mutex // guards lines
	lines []string
}

func (c *complaints) add(format string, values []any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, fmt.Sprintf(format, values...))
}

// of returns the complaints about a stream.
func (c *complaints) of(stream string) (list []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range c.lines {
		if strings.Contains(line, stream) {
			list = append(list, line)
		}
	}
	return list
}

// Noticef implements server.Logger.
func (c *complaints) Noticef(string, ...any) {}

// Warnf implements server.Logger.
func (c *complaints) Warnf(format string, values ...any) { c.add(format, values) }

// Fatalf implements server.Logger.
func (c *complaints) Fatalf(format string, values ...any) { c.add(format, values) }

// Errorf implements server.Logger.
func (c *complaints) Errorf(format string, values ...any) { c.add(format, values) }

// Debugf implements server.Logger.
func (c *complaints) Debugf(string, ...any) {}

// Tracef implements server.Logger.
func (c *complaints) Tracef(string, ...any) {}

// streamNames are the streams that a journal may have, in the order in which they are restored:
// while STATE is not whole, no service starts (unfinished).
var streamNames = []string{stateName, evidenceName, factsName}

// values calls each with the claims or the escrow, in the order in which they were made. It returns
// how many there are.
func (j *Journal) values(ctx context.Context, cfg Config, part string, each func(key string, value []byte) error) (int,
	error) {
	if cfg.URL == "" {
		return j.localValues(ctx, cfg, part, each)
	}
	prefix := map[string]string{guardName: guardPrefix, escrowName: "escrow."}[part]
	count := 0
	err := j.past(ctx, part, prefix, fromPlace(1), []string{">"}, unnumbered(
		func(_ time.Time, key string, value []byte) error {
			count++
			return each(key, value)
		}))
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		return 0, nil
	}
	return count, err
}

// localValues is values for the files beside the embedded engine.
func (j *Journal) localValues(ctx context.Context, cfg Config, part string,
	each func(key string, value []byte) error) (count int, err error) {
	if part == guardName {
		return j.localClaims(cfg, each)
	}
	escrow, err := openLocalEscrow(filepath.Join(cfg.Dir, "escrow"), math.MaxInt64, math.MaxInt64) // drops nothing
	if err != nil {
		return 0, err
	}
	for element := escrow.order.Front(); element != nil; element = element.Next() {
		key := element.Value.(*localValue).key
		value, err := escrow.get(ctx, key)
		if err != nil {
			return count, fmt.Errorf("read %s: %w", key, err)
		}
		if err := each(key, value); err != nil {
			return count, err
		}
		count++
	}
	return count, nil
}

func (j *Journal) localClaims(cfg Config, each func(key string, value []byte) error) (count int, err error) {
	path := filepath.Join(cfg.Dir, claimsName)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("open the guard's file: %w", err)
	}
	claims, err := readClaims(readOnly{f}, claimPlaces, j.log)
	if err != nil {
		return 0, errors.Join(err, f.Close())
	}
	for number := uint64(0); number < claimPlaces; number++ {
		key := claims.ring[(claims.next+number)%claimPlaces] // the oldest first
		if value, ok := claims.known[key]; ok && key != "" {
			if err := each(key, value); err != nil {
				return count, errors.Join(err, claims.close())
			}
			count++
		}
	}
	return count, claims.close()
}

// readOnly is a file of claims that nobody writes.
type readOnly struct{ *os.File }

// WriteAt implements io.WriterAt.
func (readOnly) WriteAt([]byte, int64) (int, error) { return 0, fs.ErrPermission }
