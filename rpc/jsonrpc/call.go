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

// call is one HTTP request and what is known of it until it is answered. Only its own goroutine
// uses it.
type call struct {
	*Server
	w      http.ResponseWriter
	r      *http.Request
	at     time.Time
	client string // the key of its rate limit
	body   []byte
	legacy bool

	allowance
	// arrived is the outcome of the token that is taken before the body is read. That token is the
	// first entry's.
	arrived *rpc.Refused
	first   bool
	// signer and unverified are the verifier's answer, if asked is set.
	asked      bool
	signer     common.Address
	unverified *rpc.Refused
}

// dialectHeader chooses the form of errors.
const dialectHeader = "X-Error-Dialect"

func (s *Server) newCall(w http.ResponseWriter, r *http.Request) *call {
	x := &call{Server: s, w: w, r: r, at: s.Clock.Now(), client: s.keyOf(r), legacy: s.Legacy, first: true}
	switch r.Header.Get(dialectHeader) {
	case "legacy":
		x.legacy = true
	case "jsonrpc":
		x.legacy = false
	}
	x.arrived = x.take(s.clients, x.client, "requests of this address")
	return x
}

// answerElsewhere answers a request to an unknown path, or with another HTTP method than the path
// knows.
func (s *Server) answerElsewhere(w http.ResponseWriter, r *http.Request, err error) {
	x := s.newCall(w, r)
	refused := x.arrived
	if refused == nil {
		refused = x.refusal(err)
	}
	x.refuseAll(refused)
}

// post answers a POST.
func (s *Server) post(w http.ResponseWriter, r *http.Request) {
	x := s.newCall(w, r)
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
	case s.Forward != nil:
		x.forward(entries, batch)
	case batch:
		x.batch(entries)
	default:
		x.single(&entries[0])
	}
}

// forward has another server answer.
func (c *call) forward(entries []entry, batch bool) {
	refused := c.arrived
	if refused == nil {
		refused = c.Forward(c.w, c.r, c.body)
	}
	if refused == nil {
		return
	}
	c.observe(nil, refused, 0)
	if Forms[refused.ID].Status == http.StatusServiceUnavailable {
		c.wait = max(c.wait, retryForward)
	}
	if batch {
		c.refuse(nil, refused)
		return
	}
	c.legacy = c.legacy && !bytes.HasSuffix(entries[0].method, []byte("V2"))
	c.refuse(entries[0].id, refused)
}

// retryForward is when a client may ask again whose request had no answer.
const retryForward = 2 * time.Second

// confirm returns the refusal that is answered instead of what was found.
func (c *call) confirm() *rpc.Refused {
	if c.Confirm == nil {
		return nil
	}
	refused := c.Confirm()
	if refused != nil {
		c.wait = max(c.wait, retryForward)
	}
	return refused
}

// worthReading is the size, in bytes, up to which a body is still read from a client that exceeds
// its rate, so that the refusal can carry the request's id.
const worthReading = 64 << 10

// readBody reads the body and checks the headers that describe it.
func (c *call) readBody() (refused *rpc.Refused) {
	if media, ok := serve.ContentType(c.r); !ok || media != "application/json" {
		return rpc.UnsupportedMediaType.With("%s", clip([]byte(c.r.Header.Get("Content-Type"))))
	}
	if len(c.origin()) > maxOrigin {
		return rpc.InvalidRequest.With("the header that tells the origin has %d bytes, at most %d",
			len(c.origin()), maxOrigin)
	}
	var err error
	c.body, err = serve.ReadBody(c.w, c.r, c.MaxBody, "gzip")
	switch {
	case err == nil:
		return nil
	case errors.Is(err, serve.ErrTooLarge):
		return rpc.BodyTooLarge.With("at most %d bytes", c.MaxBody)
	case errors.Is(err, serve.ErrEncoding):
		return rpc.UnsupportedMediaType.With("%v", err)
	case errors.Is(err, serve.ErrBusy):
		return rpc.Overloaded.Plain() // Retry-After is set
	case errors.Is(err, serve.ErrUnreadable):
		return rpc.BodyUnreadable.Plain() // the cause may contain addresses of the connection
	}
	return c.refusal(fmt.Errorf("read body: %w", err))
}

// maxOrigin bounds the header that tells the origin, in bytes.
const maxOrigin = 255

func (c *call) origin() string {
	for _, name := range c.OriginHeaders {
		if origin := c.r.Header.Get(name); origin != "" {
			return origin
		}
	}
	return ""
}

// single answers a body of one request.
func (c *call) single(e *entry) {
	result, refused := c.handle(e)
	if late := c.confirm(); late != nil {
		result, refused = nil, late
	}
	c.legacy = c.legacy && !bytes.HasSuffix(e.method, []byte("V2"))
	switch {
	case refused != nil && (Forms[refused.ID].Status != http.StatusOK || !e.isNotification()):
		c.refuse(e.id, refused)
	case e.isNotification():
		c.answerNothing()
	default:
		c.succeed(e.id, result)
	}
}

// batch answers the entries of a batch, in order. Notifications have no answer; if all entries are
// notifications, the body stays empty.
func (c *call) batch(entries []entry) {
	answer := newAnswer()
	defer answer.free()
	for i := range entries {
		e := &entries[i]
		result, refused := c.handle(e)
		if !e.isNotification() {
			answer.separate()
			c.put(answer, e.id, result, refused)
		}
	}
	if late := c.confirm(); late != nil {
		c.refuse(nil, late)
		return
	}
	if answer.Len() == 0 {
		c.answerNothing()
		return
	}
	answer.close()
	c.send(http.StatusOK, answer.Bytes())
}

// handle does one request and reports it to Observe.
func (c *call) handle(e *entry) (result any, refused *rpc.Refused) {
	known, refused := c.admit(e)
	if refused != nil {
		c.observe(known, refused, 0)
		return nil, refused
	}
	call := &Call{
		Method: known.name, Params: e.params, Signer: c.signer, ReceivedAt: c.at,
		Client: serve.ClientIP(c.r, c.TrustedProxies), Origin: c.origin(),
	}
	began := time.Now()
	result, err := run(c.r.Context(), known, call)
	refused = c.refusal(err)
	c.observe(known, refused, time.Since(began))
	return result, refused
}

// admit finds the method of a request and checks whether it may be called, the cheapest checks
// first. The method is nil if there is none.
func (c *call) admit(e *entry) (*method, *rpc.Refused) {
	known := c.methods[string(e.method)]
	switch refused := c.nextToken(); {
	case refused != nil:
		return known, refused
	case e.refused != nil:
		return known, e.refused
	case known == nil:
		return nil, rpc.MethodNotFound.With("%s", clip(e.method))
	}
	if refused := c.take(known.limiter, c.client, known.name); refused != nil {
		return known, refused
	}
	if refused := c.identify(known); refused != nil {
		return known, refused
	}
	if c.signer == (common.Address{}) {
		return known, nil
	}
	return known, c.take(c.signers, string(c.signer[:]), "requests of this signer")
}

// nextToken takes a token for a request. The first entry's was taken when the HTTP request arrived.
func (c *call) nextToken() *rpc.Refused {
	if c.first {
		c.first = false
		return c.arrived
	}
	return c.take(c.clients, c.client, "requests of this address")
}

// identify verifies the signature, once for all requests of a body.
func (c *call) identify(known *method) *rpc.Refused {
	if !c.asked {
		c.asked = true
		signer, err := c.Verify(c.r.Header, c.body)
		if c.unverified = c.refusal(err); c.unverified == nil {
			c.signer = signer
		}
	}
	if c.unverified != nil && c.unverified.ID == rpc.SignatureMissing.ID && known.unsigned {
		return nil
	}
	return c.unverified
}

// run calls a method. It turns a panic into an error, so that the other requests of a batch are
// answered.
func run(ctx context.Context, known *method, call *Call) (result any, err error) {
	defer func() {
		if crash := recover(); crash != nil {
			err = fmt.Errorf("%s crashed: %v\n%s", known.name, crash, debug.Stack())
		}
	}()
	result, err = known.do(ctx, call)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", known.name, err)
	}
	return result, nil
}

// refusal is what a client is told of an error; nil for none. The service's own faults go to the
// log.
func (c *call) refusal(err error) *rpc.Refused {
	if err == nil {
		return nil
	}
	if refused := (*rpc.Refused)(nil); errors.As(err, &refused) && refused != nil {
		return refused
	}
	serve.SetCause(c.w, err)
	return rpc.Internal.Plain()
}

func (c *call) observe(known *method, refused *rpc.Refused, took time.Duration) {
	name, id := "", ""
	if known != nil {
		name = known.name
	}
	if refused != nil {
		id = refused.ID
	}
	c.Observe(name, id, took)
}
