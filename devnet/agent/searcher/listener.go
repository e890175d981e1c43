package searcher

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/stream/client"
)

// ListenerConfig says who the listener is.
type ListenerConfig struct {
	Name string
	// Service is the stream's name.
	Service string
	// URL is the stream's; HTTP is how it is reached, nil is as usual.
	URL  string
	HTTP *http.Client
	// Stall is for how long nothing is read after the first hint, in chain time; 0 reads on.
	Stall time.Duration
	Clock clock.Clock
	// Tell is told what happens, from one goroutine.
	Tell func(devnet.Event)
	Log  *slog.Logger
}

// Listener is a searcher who hears hints and sends nothing: it tells what it heard, whether
// anything came twice, when it was cut off, and whether the history has all of it. It is for one
// goroutine.
//
//	stream ──hint──▶ told, or told that it came twice
//	   ✂   cut off ─▶ told ─▶ comes back after the last hint ─▶ reads the history: is everything there that was heard?
type Listener struct {
	ListenerConfig
	stream *client.Client
	heard  map[common.Hash]bool
	// listens: a hint came on the present connection. back: the connection before was lost, and the
	// history was not read since.
	listens, back bool
}

// comeBack bounds the wait before a stream that ended is opened again; wall time.
const comeBack = 250 * time.Millisecond

// NewListener returns a listener that hears nothing until Run. Its error is about the URL.
func NewListener(cfg ListenerConfig) (*Listener, error) {
	l := &Listener{ListenerConfig: cfg, heard: map[common.Hash]bool{}}
	var err error
	l.stream, err = client.New(cfg.URL, client.Options{HTTP: cfg.HTTP, MaxWait: comeBack, Broken: l.left})
	return l, err
}

// Run listens until the context ends, and returns nil then. A stream that has nothing more to say
// is an error.
func (l *Listener) Run(ctx context.Context) error {
	for hint, err := range l.stream.Events(ctx) {
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && hint.Raw == nil:
			return fmt.Errorf("%s listens to hints: %w", l.Name, err)
		case err != nil:
			l.Log.Warn("a hint cannot be read", "listener", l.Name, "error", err)
		default:
			l.hear(ctx, hint)
		}
	}
	return nil
}

// hear tells of a hint. The first one of all may be the last one for a while.
func (l *Listener) hear(ctx context.Context, hint client.Event) {
	l.listens = true
	subject := devnet.HintHeard
	if l.heard[hint.Hash] {
		subject = devnet.HintRepeated
	}
	l.Tell(devnet.Event{Actor: l.Name, Subject: subject, At: l.Service})
	first := len(l.heard) == 0
	l.heard[hint.Hash] = true
	if first && l.Stall > 0 {
		_ = l.Clock.Until(ctx, l.Clock.Now().Add(l.Stall)) // the context's end ends Run too
	}
	if l.back {
		l.back = false
		l.lookBack(ctx)
	}
}

// left is told why a connection ended. Until one has brought a hint there is nothing to be cut off
// from.
func (l *Listener) left(err error, _ time.Duration) {
	l.Log.Info("the stream ended", "listener", l.Name, "error", err)
	if !l.listens {
		return
	}
	l.listens, l.back = false, true
	l.Tell(devnet.Event{Actor: l.Name, Subject: devnet.ListenerLeft, At: l.Service})
}

// lookBack reads the whole history and tells if it has all that was heard: a hint is in the history
// before anybody hears it.
func (l *Listener) lookBack(ctx context.Context) {
	missing := make(map[common.Hash]bool, len(l.heard))
	for hash := range l.heard {
		missing[hash] = true
	}
	for record, err := range l.stream.All(ctx, client.Query{}) {
		if err != nil {
			l.Log.Warn("read the history", "listener", l.Name, "error", err)
			return
		}
		delete(missing, record.Hint.Hash)
	}
	if len(missing) > 0 {
		l.Log.Warn("the history lacks what was heard", "listener", l.Name, "hints", len(missing))
		return
	}
	l.Tell(devnet.Event{Actor: l.Name, Subject: devnet.HistoryKept, At: l.Service})
}
