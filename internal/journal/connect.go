package journal

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/gavel-relay/gavel/internal/run"
)

// Access is how this process proves to a cluster who it is, and how it knows that the servers are
// the cluster's. Empty fields are not used. A user and password, or a token, stand in the URL.
type Access struct {
	// Credentials is a file with a user's JWT and the seed of its key, as nsc writes it
	// (nats.io, "Decentralized JWT Authentication").
	Credentials string
	// CA is a file of PEM certificates that have signed the servers' certificates. With it, or with
	// a URL of scheme tls, a connection without TLS is refused.
	CA string
	// Certificate and Key are PEM files with which this process proves who it is in TLS.
	Certificate, Key string
}

// reconnectEvery is how often a lost connection is tried again. After a restart of the process that
// has the engine, readers in other processes are behind for no longer than that.
const reconnectEvery = 100 * time.Millisecond

// A server that stands still closes no connection, so it is asked every pingEvery whether it is
// there, and left for another one when it owes more than pingsOwed answers. That takes six seconds
// at most, while an owner's term lasts eight (rpc/lease). By default it would take minutes.
const (
	pingEvery = 2 * time.Second
	pingsOwed = 2
)

// tellEvery is how often the log repeats what a start waits for (wall time).
const tellEvery = 5 * time.Second

// options are the client's options for all connections to a cluster.
func (a Access) options() ([]nats.Option, error) {
	for _, file := range []string{a.Credentials, a.CA, a.Certificate, a.Key} {
		if file == "" {
			continue
		}
		if _, err := os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("read what the journal's cluster needs: %w", err)
		}
	}
	list := []nats.Option{nats.Name("gavel"), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectEvery),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(pingsOwed)}
	if a.Credentials != "" {
		list = append(list, nats.UserCredentials(a.Credentials))
	}
	if a.CA != "" {
		list = append(list, nats.RootCAs(a.CA))
	}
	switch {
	case a.Certificate != "" && a.Key != "":
		list = append(list, nats.ClientCert(a.Certificate, a.Key))
	case a.Certificate != "" || a.Key != "":
		return nil, errors.New("a certificate needs its key: give both files, --journal-cert and --journal-key, or none")
	}
	return list, nil
}

// connect connects to a cluster, and reconnects for as long as the journal is open. A cluster that
// is away is waited for. One that refuses this process, or is not the right one, is not.
func (j *Journal) connect(ctx context.Context, cfg Config) error {
	shown := "the cluster"
	if parsed, err := url.Parse(cfg.URL); err == nil {
		shown = parsed.Redacted() // without the URL's password
	}
	options, err := cfg.Access.options()
	if err != nil {
		return err
	}
	err = j.patiently(ctx, "the journal's cluster "+shown, func(context.Context) (err error) {
		j.conn, err = nats.Connect(cfg.URL, options...)
		return err
	})
	if err != nil {
		return fmt.Errorf("connect to %s: %w", shown, err)
	}
	if most := j.conn.MaxPayload(); most < needPayload {
		return fmt.Errorf("%s takes messages of %d bytes, the escrow needs %d: raise its max_payload", shown,
			most, needPayload)
	}
	return nil
}

// waitForStreams waits until the cluster answers questions about its streams. Servers accept
// connections before enough of them are there to elect a leader.
func (j *Journal) waitForStreams(ctx context.Context) error {
	err := j.patiently(ctx, "a leader of the journal's cluster", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := j.js.AccountInfo(ctx)
		return err
	})
	if err != nil {
		return fmt.Errorf("ask the journal's cluster for its streams: %w", err)
	}
	return nil
}

// patiently tries until it succeeds, fails for good, or StartTimeout is over. It tells what it
// waits for.
func (j *Journal) patiently(ctx context.Context, what string, try func(context.Context) error) error {
	begun := time.Now()
	var told time.Time
	for {
		err := try(ctx)
		if err == nil || final(err) || time.Since(begun) >= j.cfg.StartTimeout {
			if j.cfg.Waiting != nil && !told.IsZero() {
				j.cfg.Waiting("")
			}
			return err
		}
		if time.Since(told) >= tellEvery {
			told = time.Now()
			j.log.Warn("the start waits for "+what, "waited", time.Since(begun).Round(time.Second), "start_timeout",
				j.cfg.StartTimeout, "error", err)
		}
		if j.cfg.Waiting != nil {
			j.cfg.Waiting(what)
		}
		if pause := run.Pause(ctx, reconnectEvery); pause != nil {
			return errors.Join(err, pause)
		}
	}
}

// final says whether waiting cannot mend an error: the cluster refuses this process, or one of the
// two is configured wrongly.
func final(err error) bool {
	for _, known := range []error{nats.ErrAuthorization, nats.ErrAuthExpired, nats.ErrSecureConnRequired,
		nats.ErrSecureConnWanted, nats.ErrTLS, jetstream.ErrJetStreamNotEnabled, jetstream.ErrJetStreamNotEnabledForAccount} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
