package journal

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// lockFolder makes the folder if it is missing, and locks it for this Journal.
func (j *Journal) lockFolder(dir string) error {
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

// listening is where an engine listens. Without an address it opens no port.
func listening(listen string) (options server.Options, err error) {
	if listen == "" {
		return server.Options{DontListen: true}, nil
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return options, fmt.Errorf("the journal's address: %w", err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return options,
			fmt.Errorf("the journal would listen on %s, where others could write: give a loopback address, or use a cluster",
				listen)
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return options, fmt.Errorf("the journal's address %s needs a port", listen)
	}
	return server.Options{Host: host, Port: int(number)}, nil
}

// syncEvery is how often the engine syncs what it has written (wall time), so a power cut may cost
// the facts of that time. The engine's default is two minutes.
const syncEvery = time.Second

// startServer starts the engine in this process and connects to it.
func (j *Journal) startServer(cfg Config) (err error) {
	options, err := listening(cfg.Listen)
	if err != nil {
		return err
	}
	dir := cfg.Dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "gavel-journal-"); err != nil {
			return fmt.Errorf("make the journal's folder: %w", err)
		}
		j.temp = dir
	}
	if err := j.lockFolder(dir); err != nil {
		return err
	}
	if cfg.Dir != "" {
		if err := j.checkLocation(dir, cfg.Moved); err != nil {
			return err
		}
		if err := j.fitQuota(cfg); err != nil {
			return err
		}
		if err := j.noteOpened(dir); err != nil {
			return err
		}
		j.syncs = &syncs{dir: dir, synced: &j.synced}
	}
	return j.runServer(&options, dir)
}

// runServer starts the engine on a folder and connects to it.
func (j *Journal) runServer(options *server.Options, dir string) (err error) {
	options.SyncInterval = syncEvery
	options.ServerName, options.JetStream, options.StoreDir, options.NoSigs, options.NoLog = "gavel", true, dir, true, true
	options.JetStreamMaxStore, options.JetStreamMaxMemory = engineQuota, engineQuota
	options.MaxPayload, options.MaxPending = maxValue, 4*maxValue
	j.server, err = server.NewServer(options)
	if err != nil {
		return fmt.Errorf("make engine: %w", err)
	}
	if j.engineLog != nil {
		j.server.SetLogger(j.engineLog, false, false)
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

// fitQuota fits the sizes of the journal's parts to its disk.
func (j *Journal) fitQuota(cfg Config) error {
	disk, err := diskFor(cfg.Dir)
	if err != nil {
		return err
	}
	j.quota, err = cfg.fit(j.quota, disk)
	return err
}
