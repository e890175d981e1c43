package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	devnetapp "github.com/gavel-relay/gavel/devnet/app"
	"github.com/gavel-relay/gavel/internal/serve"
)

// Several instances of each service, which share a journal, are judged as one behind a balancer:
//
//	                     ┌─▶ relay ─┐
//	suite ─▶ balancer ───┤          ├──▶ journal
//	                     └─▶ relay ─┘
//
// The balancer gives each request to the next instance, so that what one has been told is asked of
// the other. It is as far away from them as they need to agree (docs/relay.md,
// Several instances).

// agreeWithin is how long an instance may need to know what another one has answered, in the
// world's time.
const agreeWithin = 20 * time.Millisecond

// sharedJournal is a server of journals in this process, with a folder of its own for its data.
type sharedJournal struct {
	*devnetapp.JournalServer

	dir string
}

func openSharedJournal() (*sharedJournal, error) {
	dir, err := os.MkdirTemp("", "gavel-journal")
	if err != nil {
		return nil, fmt.Errorf("make the journal's folder: %w", err)
	}
	opened, err := devnetapp.OpenJournalServer(server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, StoreDir: dir,
	})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return &sharedJournal{opened, dir}, nil
}

// Close implements devnetapp.Service.
func (j *sharedJournal) Close() error {
	err := j.JournalServer.Close()
	if removeErr := os.RemoveAll(j.dir); removeErr != nil {
		err = errors.Join(err, fmt.Errorf("remove the journal's folder: %w", removeErr))
	}
	return err
}

// balance serves a balancer over instances, until the context ends. It returns the balancer's URL;
// of a single instance, that one's.
func (l *Local) balance(ctx context.Context, instances []string) (string, error) {
	if len(instances) == 1 {
		return instances[0], nil
	}
	targets := make([]*url.URL, len(instances))
	for i, instance := range instances {
		var err error
		if targets[i], err = url.Parse(instance); err != nil {
			return "", fmt.Errorf("read an instance's URL: %w", err)
		}
	}
	listener, err := serve.Listen("127.0.0.1:0")
	if err != nil {
		return "", err
	}
	var turn atomic.Uint64
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(targets[turn.Add(1)%uint64(len(targets))]) },
		// A request or an answer that is not finished is passed on as it comes, as events are.
		FlushInterval: -1,
		Transport:     &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true},
		ErrorLog:      log.New(io.Discard, "", 0), // clients that go away are no errors
	}
	far := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if l.world.Clock().Until(r.Context(), l.world.Clock().Now().Add(agreeWithin)) == nil {
			proxy.ServeHTTP(w, r)
		}
	})
	l.group.Go(func() error {
		return serve.Serve(ctx, listener, far, serve.Options{ConnsPerAddress: -1, HTTP2: true})
	})
	return "http://" + listener.Addr().String(), nil
}
