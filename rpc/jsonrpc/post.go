package jsonrpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/rpc"
)

// exchange is one HTTP request on its way to the answer. It belongs to its goroutine.
type exchange struct {
	*Server
	w      http.ResponseWriter
	r      *http.Request
	at     time.Time
	client string // the key of its bucket
	body   []byte
	legacy bool

	allowance
	// arrived is what the first token said, which is taken before the body is read; the first entry
	// uses it up.
	arrived *rpc.Refused
	first   bool
	// signer and unverified are the verifier's answer, once it was asked.
	asked      bool
	signer     common.Address
	unverified *rpc.Refused
}

// dialectHeader chooses how errors look.
const dialectHeader = "X-Error-Dialect"

func (s *Server) arrive(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{Server: s, w: w, r: r, at: s.Clock.Now(), client: s.keyOf(r), legacy: s.Legacy, first: true}
	switch r.Header.Get(dialectHeader) {
	case "legacy":
		x.legacy = true
	case "jsonrpc":
		x.legacy = false
	}
	x.arrived = x.take(s.clients, x.client, "requests of this address")
	return x
}

// elsewhere answers who asks at no path of ours or not with POST.
func (s *Server) elsewhere(w http.ResponseWriter, r *http.Request, err error) {
	x := s.arrive(w, r)
	refused := x.arrived
	if refused == nil {
		refused = x.refusal(err)
	}
	x.refuseAll(refused)
}

// post answers a body.
func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	x := s.arrive(w, r)
	if x.arrived != nil && (r.ContentLength < 0 || r.ContentLength > worthReading) {
		x.refuseAll(x.arrived)
		return
	}
	refused := x.readBody()
	if refused != nil {
		x.refuseAll(refused)
		return
	}
	entries, batch, refused := parse(x.body, s.MaxBatch)
	switch {
	case refused != nil && x.arrived != nil:
		x.refuseAll(x.arrived)
	case refused != nil:
		x.legacy = x.legacy && !batch
		x.refuseAll(refused)
	case batch:
		x.batch(entries)
	default:
		x.single(&entries[0])
	}
}

// worthReading is how many bytes of body are read of a client that asks too often, so that the
// refusal has the request's id.
const worthReading = 64 << 10

// readBody reads the body and checks the headers that say what it is.
func (x *exchange) readBody() (refused *rpc.Refused) {
	if media, ok := serve.ContentType(x.r); !ok || media != "application/json" {
		return rpc.UnsupportedMediaType.With("%s", short([]byte(x.r.Header.Get("Content-Type"))))
	}
	if len(x.origin()) > maxOrigin {
		return rpc.InvalidRequest.With("the header that tells the origin has %d bytes, at most %d",
			len(x.origin()), maxOrigin)
	}
	var err error
	x.body, err = serve.ReadBody(x.w, x.r, x.MaxBody, "gzip")
	switch {
	case err == nil:
		return nil
	case errors.Is(err, serve.ErrTooLarge):
		return rpc.BodyTooLarge.With("at most %d bytes", x.MaxBody)
	case errors.Is(err, serve.ErrEncoding):
		return rpc.UnsupportedMediaType.With("%v", err)
	case errors.Is(err, serve.ErrBusy):
		return rpc.Overloaded.Plain() // Retry-After is set
	case errors.Is(err, serve.ErrUnreadable):
		return rpc.BodyUnreadable.Plain() // the cause may name our connection
	}
	return x.refusal(fmt.Errorf("read body: %w", err))
}

// maxOrigin bounds the header that tells the origin, in bytes.
const maxOrigin = 255

func (x *exchange) origin() string {
	for _, name := range x.OriginHeaders {
		if origin := x.r.Header.Get(name); origin != "" {
			return origin
		}
	}
	return ""
}

// single answers a body of one request.
func (x *exchange) single(e *entry) {
	result, refused := x.handle(e)
	x.legacy = x.legacy && !bytes.HasSuffix(e.method, []byte("V2"))
	switch {
	case refused != nil && (refused.Status != http.StatusOK || !e.isNotification()):
		x.refuse(e.id, refused)
	case e.isNotification():
		x.nothing()
	default:
		x.succeed(e.id, result)
	}
}

// batch answers the entries of a batch, in order. Notifications have no answer; if all are, the
// body stays empty.
func (x *exchange) batch(entries []entry) {
	answer := newAnswer()
	defer answer.free()
	for i := range entries {
		e := &entries[i]
		result, refused := x.handle(e)
		if !e.isNotification() {
			answer.separate()
			x.put(answer, e.id, result, refused)
		}
	}
	if answer.Len() == 0 {
		x.nothing()
		return
	}
	answer.close()
	x.send(http.StatusOK, answer.Bytes())
}

// handle does one request, and tells who observes.
func (x *exchange) handle(e *entry) (result any, refused *rpc.Refused) {
	known, refused := x.admit(e)
	if refused != nil {
		x.observe(known, refused, 0)
		return nil, refused
	}
	call := &Call{
		Method: known.name, Params: e.params, Signer: x.signer, ReceivedAt: x.at,
		Client: serve.ClientIP(x.r, x.TrustedProxies), Origin: x.origin(),
	}
	began := time.Now()
	result, err := run(x.r.Context(), known, call)
	refused = x.refusal(err)
	x.observe(known, refused, time.Since(began))
	return result, refused
}

// admit finds the method of a request and asks whether it may be called, what is cheap first. The
// method is nil if there is none.
func (x *exchange) admit(e *entry) (*method, *rpc.Refused) {
	known := x.methods[string(e.method)]
	switch refused := x.nextToken(); {
	case refused != nil:
		return known, refused
	case e.refused != nil:
		return known, e.refused
	case known == nil:
		return nil, rpc.MethodNotFound.With("%s", short(e.method))
	}
	if refused := x.take(known.limiter, x.client, known.name); refused != nil {
		return known, refused
	}
	if refused := x.identify(known); refused != nil {
		return known, refused
	}
	if x.signer == (common.Address{}) {
		return known, nil
	}
	return known, x.take(x.signers, string(x.signer[:]), "requests of this signer")
}

// nextToken takes a token for a request; the first one's was taken when it arrived.
func (x *exchange) nextToken() *rpc.Refused {
	if x.first {
		x.first = false
		return x.arrived
	}
	return x.take(x.clients, x.client, "requests of this address")
}

// identify verifies the signature, once for all requests of a body.
func (x *exchange) identify(known *method) *rpc.Refused {
	if !x.asked {
		x.asked = true
		signer, err := x.Verify(x.r.Header, x.body)
		if x.unverified = x.refusal(err); x.unverified == nil {
			x.signer = signer
		}
	}
	if x.unverified != nil && x.unverified.ID == rpc.SignatureMissing.ID && known.unsigned {
		return nil
	}
	return x.unverified
}

// run calls a method. A crash is its error, so that the others of a batch get their answers.
func run(ctx context.Context, known *method, call *Call) (result any, err error) {
	defer func() {
		if crash := recover(); crash != nil {
			err = fmt.Errorf("%s crashed: %v\n%s", known.name, crash, debug.Stack())
		}
	}()
	result, err = known.call(ctx, call)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", known.name, err)
	}
	return result, nil
}

// refusal is what a caller hears of an error; nil for none. What is our own fault goes to the log.
func (x *exchange) refusal(err error) *rpc.Refused {
	if err == nil {
		return nil
	}
	if refused := (*rpc.Refused)(nil); errors.As(err, &refused) && refused != nil {
		return refused
	}
	serve.Blame(x.w, err)
	return rpc.Internal.Plain()
}

func (x *exchange) observe(known *method, refused *rpc.Refused, took time.Duration) {
	name, id := "", ""
	if known != nil {
		name = known.name
	}
	if refused != nil {
		id = refused.ID
	}
	x.Observe(name, id, took)
}
