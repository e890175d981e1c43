package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gavel-relay/gavel/internal/journal"
	"github.com/gavel-relay/gavel/internal/run"
	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/rpc"
	"github.com/gavel-relay/gavel/rpc/forward"
	"github.com/gavel-relay/gavel/rpc/jsonrpc"
	"github.com/gavel-relay/gavel/rpc/lease"
	"github.com/gavel-relay/gavel/rpc/ledger"
	"github.com/gavel-relay/gavel/rpc/method"
)

func decodeLease(revision uint64, data []byte) (lease.Seen, error) {
	seen := lease.Seen{Revision: revision}
	if err := json.Unmarshal(data, &seen.Record); err != nil {
		return lease.Seen{}, fmt.Errorf("decode who owns the orders: %w", err)
	}
	return seen, nil
}

func encodeLease(record lease.Record) ([]byte, error) {
	data, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("encode who owns the orders: %w", err)
	}
	return data, nil
}

// subjectOf is where an instance answers requests of others. It has the network's id in it.
func (c *Config) subjectOf(id string) string {
	return subjectPrefix + c.ChainConfig.ChainID.String() + "." + id
}

// newFront makes the server that reads requests, refuses what is none, and hands the others to the
// owner. The methods are there for their description only.
func (i *Instance) newFront() (http.Handler, error) {
	described := &App{cfg: i.cfg}
	cfg, document, err := described.envelope(
		(&method.Methods{Limits: i.cfg.rules(), Mev: (*ledger.Ledger)(nil)}).All()) // never called
	if err != nil {
		return nil, err
	}
	cfg.Forward, cfg.Observe = i.hand, nil // the owner counts calls
	return newHandler(cfg, document)
}

// hand has the owner answer a request. It waits a little for an owner.
func (i *Instance) hand(w http.ResponseWriter, r *http.Request, body []byte) *rpc.Refused {
	r = r.Clone(r.Context())
	if id := w.Header().Get("X-Request-Id"); id != "" {
		r.Header.Set("X-Request-Id", id)
	}
	request, err := forward.Request(r, serve.ClientIP(r, i.cfg.Limits.TrustedProxies), body)
	if err != nil {
		serve.SetCause(w, err)
		return rpc.Internal.Plain()
	}
	for begun := time.Now(); ; {
		answer, err := i.ask(r.Context(), request)
		switch {
		case err == nil:
			i.watched.forwarded.WithLabelValues("answered").Inc()
			if err := forward.Answer(w, answer); err != nil {
				serve.SetCause(w, err)
				return rpc.AnswerUnknown.Plain()
			}
			return nil
		case errors.Is(err, journal.ErrTooLong):
			i.watched.forwarded.WithLabelValues("too-long").Inc()
			return rpc.BodyTooLarge.With("at most %d bytes at this instance", i.journal.LongestAsk())
		case !errors.Is(err, journal.ErrNobody):
			i.watched.forwarded.WithLabelValues("unknown").Inc()
			return rpc.AnswerUnknown.Plain()
		}
		if time.Since(begun) > ownerPatience || run.Pause(r.Context(), ownerPause) != nil {
			i.watched.forwarded.WithLabelValues("no-owner").Inc()
			return rpc.NoOwner.Plain()
		}
	}
}

// ask has the owner answer. The error is journal.ErrNobody if the request was given to nobody.
func (i *Instance) ask(ctx context.Context, request []byte) ([]byte, error) {
	if own := i.own.Load(); own != nil { // since the request has come
		return forward.Do(ctx, own.handler, request)
	}
	owner := i.owner.Load()
	if owner == nil {
		return nil, journal.ErrNobody
	}
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	defer context.AfterFunc(owner.gone, cancel)()
	return i.journal.Ask(ctx, i.cfg.subjectOf(owner.ID), request)
}

// answerOthers answers what other instances hand on, until the context ends.
func (i *Instance) answerOthers(ctx context.Context, app *App) error {
	handler := serve.Wrap(app.handler, i.cfg.Log)
	return app.journal.Answer(ctx, i.cfg.subjectOf(i.id), forwardsAtOnce, func(ctx context.Context,
		request []byte) []byte {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(app.seat.lost, cancel)()
		answer, err := forward.Do(ctx, handler, request)
		if err == nil && len(answer) > app.journal.LongestAsk() {
			answer, err = forward.Do(ctx, tooLong(app.cfg.Log, len(answer)), request)
		}
		if err != nil {
			i.cfg.Log.Error("a request of another instance was not answered", "error", err)
		}
		return answer
	})
}

// tooLong answers for an owner whose answer does not go through the cluster.
func tooLong(log interface{ Warn(string, ...any) }, size int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		log.Warn("an answer is too long for another instance", "bytes", size)
		serve.Refuse(w, r, jsonrpc.Statuses.Of(rpc.AnswerUnknown.With("the answer is too long for this instance")))
	})
}
