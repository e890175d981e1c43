package serve

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"
)

// Watcher sees every request and its answer. It is safe for concurrent use.
type Watcher interface {
	// Context is called once for a server. The contexts of all its requests are made from the one
	// that it returns.
	Context(server context.Context) context.Context
	// Begin is called when a request begins. The context that it returns is the request's; done is
	// called when the answer is complete.
	Begin(r *http.Request) (ctx context.Context, done func(Exchange))
	// TurnAway is called for a connection or body that is refused or ended to leave room for
	// others. It must return at once.
	TurnAway(why TurnedAway)
}

// TurnedAway is the reason why the server ended a connection or body early.
type TurnedAway string

// The reasons.
const (
	// ConnectionRefused: its address has its share of connections, and none of them is idle.
	ConnectionRefused TurnedAway = "connection-refused"
	// ConnectionReplaced: it was idle, and a new one took its place.
	ConnectionReplaced TurnedAway = "connection-replaced"
	// BodyWithoutRoom: there was not enough memory for it in time.
	BodyWithoutRoom TurnedAway = "body-without-room"
	// BodyCutOff: its memory went to a body of another sender.
	BodyCutOff TurnedAway = "body-cut-off"
	// BodySlow: it came below the least rate, or took too long in all.
	BodySlow TurnedAway = "body-slow"
)

// AllTurnedAway are all reasons.
var AllTurnedAway = []TurnedAway{ConnectionRefused, ConnectionReplaced, BodyWithoutRoom, BodyCutOff, BodySlow}

// turnAway calls the watcher, if there is one.
func (o Options) turnAway(why TurnedAway) {
	if o.Watcher != nil {
		o.Watcher.TurnAway(why)
	}
}

// Exchange describes a request that was answered.
type Exchange struct {
	Method string
	// Pattern is the path pattern of the operation, as it was given to Mux.Handle; empty if there
	// is none. It never contains text of the client.
	Pattern string
	Status  int
	Took    time.Duration
	// Received and Sent are how many bytes the bodies had on the wire.
	Received, Sent int64
	// Refusal is the id of the refusal that was answered; empty if the answer is no refusal, or one
	// without an id.
	Refusal string
}

// idHeader is the header of a request's id, in the canonical form of http.Header.
const idHeader = "X-Request-Id"

// An id is a random text of the process with the request's number. It need not be secret, and
// making it costs next to nothing.
var (
	idPrefix = rand.Text()[:16] + "-"
	idNumber atomic.Uint64
)

func nextID() string {
	var room [40]byte
	return string(strconv.AppendUint(append(room[:0], idPrefix...), idNumber.Add(1), 36))
}

// Wrap gives every request an id (X-Request-Id; the client's own if it sent a short one), writes
// the access log at debug level, and answers a panic with 500. If a panic cuts an answer short, the
// connection is closed, so that the client does not take the answer for complete.
func Wrap(next http.Handler, log *slog.Logger) http.Handler { return Options{Log: log}.Wrap(next) }

// Wrap is the function Wrap with the options of single requests: Stall, TrustedProxies and Watcher.
// Serve calls it.
func (o Options) Wrap(next http.Handler) http.Handler {
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	stall := cmp.Or(o.Stall, 10*time.Second)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		id := r.Header.Get(idHeader)
		if id == "" || len(id) > 64 {
			id = nextID()
		}
		recorded := &recorder{ResponseWriter: w, id: [1]string{id}}
		w.Header()[idHeader] = recorded.id[:]
		if o.Write == 0 { // otherwise Write is the deadline
			recorded.stall = stall
		}
		ctx, done := r.Context(), func(Exchange) {}
		if o.Watcher != nil {
			ctx, done = o.Watcher.Begin(r)
		}
		if hasBody := r.Body != nil && r.Body != http.NoBody; hasBody || ctx != r.Context() {
			// Put the wrapped body into a copy of the request. net/http must find its own body in
			// its own request; otherwise it waits for 256 KiB of the body, or for the deadline,
			// before it sends the refusal of a body that was not read to its end.
			r = r.WithContext(ctx)
			if hasBody {
				r.Body = counted{r.Body, &recorded.received}
			}
		}
		defer func() {
			crash := recover()
			crashError, _ := crash.(error)
			aborted := errors.Is(crashError, http.ErrAbortHandler) // the handler cuts the answer short on purpose
			if crash != nil && !aborted {
				o.Log.Error("handler crashed", "id", id, "crash", crash, "stack", string(debug.Stack()))
			}
			cut := aborted || (crash != nil && recorded.status != 0)
			if crash != nil && !cut {
				Refuse(recorded, r, fmt.Errorf("crash: %v", crash))
			}
			ended := time.Now()
			exchange := recorded.exchange(r, ended.Sub(began))
			o.access(r, id, recorded, exchange)
			done(exchange)
			recorded.deadline(ended) // for the rest of the answer, which is still in buffers
			if cut {
				panic(http.ErrAbortHandler)
			}
		}()
		next.ServeHTTP(recorded, r)
	})
}

// exchange makes an Exchange of the record. If an operation wrote nothing, the status is 200.
func (r *recorder) exchange(request *http.Request, took time.Duration) Exchange {
	return Exchange{
		Method: request.Method, Pattern: r.pattern, Status: cmp.Or(r.status, http.StatusOK), Took: took,
		Received: r.received, Sent: r.sent, Refusal: r.refusal,
	}
}

// access writes the access log. An internal error is logged at level error, unless the client went
// away before it could see it.
func (o Options) access(r *http.Request, id string, answer *recorder, exchange Exchange) {
	level := slog.LevelDebug
	if answer.cause != nil && r.Context().Err() == nil {
		level = slog.LevelError
	}
	if !o.Log.Enabled(r.Context(), level) {
		return
	}
	ctx := context.WithoutCancel(r.Context())
	attributes := []slog.Attr{
		slog.String("id", id), slog.String("client", ClientIP(r, o.TrustedProxies).String()),
		slog.String("method", exchange.Method), slog.String("path", r.URL.Path), slog.String("pattern", exchange.Pattern),
		slog.Int("status", exchange.Status), slog.Duration("took", exchange.Took),
		slog.Int64("received", exchange.Received), slog.Int64("sent", exchange.Sent),
	}
	if exchange.Refusal != "" {
		attributes = append(attributes, slog.String("refusal", exchange.Refusal))
	}
	if answer.cause != nil {
		attributes = append(attributes, slog.Any("cause", answer.cause))
	}
	o.Log.LogAttrs(ctx, level, "request", attributes...)
}
