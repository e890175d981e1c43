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

// Watcher sees every request and what became of it. It is safe for concurrent use.
type Watcher interface {
	// Context is called once for a server: what it returns is in the contexts of all its requests.
	Context(server context.Context) context.Context
	// Begin is called when a request begins. The context that it returns is the request's; done is
	// called when the answer is complete.
	Begin(r *http.Request) (ctx context.Context, done func(Exchange))
	// TurnAway is told of a client that is turned away or cut off to leave room for others. It must
	// return at once.
	TurnAway(why TurnedAway)
}

// TurnedAway is why a connection or body ended that was not at its end.
type TurnedAway string

// Why connections and bodies end before their time.
const (
	// ConnectionRefused: its address has all connections that it may, and none of them is idle.
	ConnectionRefused TurnedAway = "connection-refused"
	// ConnectionReplaced: it was idle, and a new one took its place.
	ConnectionReplaced TurnedAway = "connection-replaced"
	// BodyWithoutRoom: there was no memory for more of it in time.
	BodyWithoutRoom TurnedAway = "body-without-room"
	// BodyCutOff: its memory went to another sender's.
	BodyCutOff TurnedAway = "body-cut-off"
	// BodySlow: it came below the least rate, or took too long in all.
	BodySlow TurnedAway = "body-slow"
)

// AllTurnedAway are all reasons.
var AllTurnedAway = []TurnedAway{ConnectionRefused, ConnectionReplaced, BodyWithoutRoom, BodyCutOff, BodySlow}

// turnAway tells the watcher, if there is one.
func (o Options) turnAway(why TurnedAway) {
	if o.Watcher != nil {
		o.Watcher.TurnAway(why)
	}
}

// Exchange is a request that was answered.
type Exchange struct {
	Method string
	// Pattern is the path pattern of the operation, as it was given to Mux.Handle; empty if there is
	// none. It is never the client's text.
	Pattern string
	Status  int
	Took    time.Duration
	// Received and Sent are bytes of the bodies, as they came and went.
	Received, Sent int64
	// Refusal is the id of the refusal that was the answer; empty if it was none, or has no id.
	Refusal string
}

// idHeader carries a request's id, in the form in which http.Header keeps it.
const idHeader = "X-Request-Id"

// An id is the process's own random text with the request's number: nobody has to guess it, and it
// costs next to nothing.
var (
	idPrefix = rand.Text()[:16] + "-"
	idNumber atomic.Uint64
)

func nextID() string {
	var room [40]byte
	return string(strconv.AppendUint(append(room[:0], idPrefix...), idNumber.Add(1), 36))
}

// Wrap gives every request an id (X-Request-Id, the client's own if it sent a short one), an access
// log at debug level, and a 500 in place of a crash. An answer that a crash cuts short ends with
// its connection, so that nobody takes it for whole.
func Wrap(next http.Handler, log *slog.Logger) http.Handler { return Options{Log: log}.Wrap(next) }

// Wrap is the function of this name with all that the options say of a single request: Stall,
// TrustedProxies and Watcher. Serve does it by itself.
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
		if o.Write == 0 { // else that is the deadline
			recorded.stall = stall
		}
		ctx, done := r.Context(), func(Exchange) {}
		if o.Watcher != nil {
			ctx, done = o.Watcher.Begin(r)
		}
		if hasBody := r.Body != nil && r.Body != http.NoBody; hasBody || ctx != r.Context() {
			// net/http must find its own body in its own request: behind another it first waits for 256 KiB,
			// or the deadline, before it sends a refusal of a body that was not read to its end.
			r = r.WithContext(ctx)
			if hasBody {
				r.Body = counted{r.Body, &recorded.received}
			}
		}
		defer func() {
			crash := recover()
			crashError, _ := crash.(error)
			aborted := errors.Is(crashError, http.ErrAbortHandler) // the handler's own wish to cut the answer short
			if crash != nil && !aborted {
				o.Log.Error("handler crashed", "id", id, "crash", crash, "stack", string(debug.Stack()))
			}
			cut := aborted || (crash != nil && recorded.status != 0)
			if crash != nil && !cut {
				Refuse(recorded, r, fmt.Errorf("crash: %v", crash))
			}
			exchange := recorded.exchange(r, time.Since(began))
			o.access(r, id, recorded, exchange)
			done(exchange)
			recorded.deadline() // for what is still in buffers
			if cut {
				panic(http.ErrAbortHandler)
			}
		}()
		next.ServeHTTP(recorded, r)
	})
}

// exchange is what was recorded. An operation that wrote nothing has answered 200.
func (r *recorder) exchange(request *http.Request, took time.Duration) Exchange {
	return Exchange{
		Method: request.Method, Pattern: r.pattern, Status: cmp.Or(r.status, http.StatusOK), Took: took,
		Received: r.received, Sent: r.sent, Refusal: r.refusal,
	}
}

// access writes the access log. An error of our own is worth more than debug, unless the client
// went away: then nobody saw it.
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
