package searcher

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/devnet"
	"github.com/gavel-relay/gavel/internal/clock"
	"github.com/gavel-relay/gavel/stream/client"
)

// ListenerConfig says who the listener is, and how it listens.
type ListenerConfig struct {
	Name string
	// Service is the stream's name.
	Service string
	// URL is the stream's. HTTP is the client with which it is read; nil means the default.
	URL  string
	HTTP *http.Client
	// Stall is for how long it stops reading after the first hint, in chain time; 0 means that it
	// does not.
	Stall time.Duration
	Clock clock.Clock
	// Tell receives the listener's events, from one goroutine.
	Tell func(devnet.Event)
	Log  *slog.Logger
}

// Listener is a searcher that reads hints and sends nothing. It reports which hints it heard, which
// came twice, when it was cut off, and whether the history then has all that it heard. It is for
// one goroutine.
//
//	stream ──hint──▶ reported as new, or as repeated
//	   ✂   cut off ─▶ reported ─▶ connects again after the last hint ─▶ reads the history: does it have all that was heard?
type Listener struct {
	ListenerConfig
	stream *client.Client
	memory memory
}

// comeBack bounds the wait before it connects again to a stream that ended, in wall time.
const comeBack = 250 * time.Millisecond

// NewListener returns a listener that reads nothing until Run. It fails if the URL is wrong.
func NewListener(cfg ListenerConfig) (*Listener, error) {
	l := &Listener{ListenerConfig: cfg, memory: memory{heard: map[common.Hash]bool{}}}
	var err error
	l.stream, err = client.New(cfg.URL, client.Options{HTTP: cfg.HTTP, MaxWait: comeBack, Broken: l.noteEnd})
	return l, err
}

// Run listens until the context ends, and then returns nil. It returns an error if the stream ends
// for good.
func (l *Listener) Run(ctx context.Context) error {
	return listenTo(ctx, l.stream, l.Name, l.Log, func(hint client.Event) { l.hear(ctx, hint) })
}

// hear does what the listener decides about a hint.
func (l *Listener) hear(ctx context.Context, hint client.Event) {
	d := l.memory.decide(hint.Hash, l.Stall)
	l.memory.heard[hint.Hash], l.memory.listens, l.memory.back = true, true, false
	l.tell(d.reports)
	if d.stall > 0 {
		_ = l.Clock.Until(ctx, l.Clock.Now().Add(d.stall)) // the context's end ends Run too
	}
	if d.looksBack {
		l.lookBack(ctx)
	}
}

func (l *Listener) tell(subject string) {
	l.Tell(devnet.Event{Actor: l.Name, Subject: subject, At: l.Service})
}

// noteEnd is called when a connection ended.
func (l *Listener) noteEnd(err error, _ time.Duration) {
	l.Log.Info("the stream ended", "listener", l.Name, "error", err)
	if l.memory.cutOff() {
		l.memory.listens, l.memory.back = false, true
		l.tell(devnet.ListenerLeft)
	}
}

// lookBack reads the whole history and reports if it has all hints that were heard. It must have
// them, because a hint is in the history before it is sent to listeners.
func (l *Listener) lookBack(ctx context.Context) {
	kept := map[common.Hash]bool{}
	for record, err := range l.stream.All(ctx, client.Query{}) {
		if err != nil {
			l.Log.Warn("read the history", "listener", l.Name, "error", err)
			return
		}
		kept[record.Hint.Hash] = true
	}
	if missing := l.memory.missing(kept); missing > 0 {
		l.Log.Warn("the history lacks what was heard", "listener", l.Name, "hints", missing)
		return
	}
	l.tell(devnet.HistoryKept)
}
