package scripted

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/attestantio/go-eth2-client/spec/phase0"

	"github.com/gavel-relay/gavel/conformance/probe"
	"github.com/gavel-relay/gavel/internal/clock"
)

// Endpoint is a call of the Proposer API.
type Endpoint string

// The endpoints of builder-specs that relays have for proposers.
const (
	Status    Endpoint = "GET /eth/v1/builder/status"
	Register  Endpoint = "POST /eth/v1/builder/validators"
	Header    Endpoint = "GET /eth/v1/builder/header/"
	PayloadV1 Endpoint = "POST /eth/v1/builder/blinded_blocks"
	PayloadV2 Endpoint = "POST /eth/v2/builder/blinded_blocks"
)

// The endpoints of relay-specs that relays have for builders, and Other for all that no relay of
// these has, such as submissions of headers.
const (
	Duties Endpoint = "GET /relay/v1/builder/validators"
	Submit Endpoint = "POST /relay/v1/builder/blocks"
	Other  Endpoint = "other"
)

var endpoints = []Endpoint{Status, Register, Header, PayloadV1, PayloadV2, Duties, Submit}

// Asked is a request that a relay was sent.
type Asked struct {
	Endpoint Endpoint
	Method   string
	Path     string
	Query    string
	Header   http.Header
	Body     []byte
	// At is when the whole request had come, by the relay's clock.
	At time.Time
	// Submission is what the body of a request to Submit says; nil at other endpoints.
	Submission *Submission
}

// isAbout says whether the request is about a subject: its bytes stand in the body, or as
// hexadecimal in the path or in the body. Everything is about the empty subject.
func (a Asked) isAbout(subject []byte) bool {
	text := hex.EncodeToString(subject)
	return bytes.Contains(a.Body, subject) || strings.Contains(strings.ToLower(a.Path), text) ||
		bytes.Contains(bytes.ToLower(a.Body), []byte(text))
}

// rule is what a relay answers to requests that fit.
type rule struct {
	endpoint Endpoint
	fits     func(Asked) bool
	answer   Answer
}

// maxBody bounds what a relay reads of a request, in bytes.
const maxBody = 32 << 20

// Relay is one scripted relay. Without a rule it is healthy, takes registrations, and has neither
// bids nor payloads.
type Relay struct {
	Name string
	// Key signs its honest bids.
	Key *probe.BLSKey

	address string
	clock   clock.Clock // nil for the wall clock
	// auctions are those that builders bid in here; nil for a relay of sidecars.
	auctions *Auctions

	mu    sync.Mutex // guards the fields below
	rules []*rule
	asked []Asked
}

// URL returns the relay's address, with its public key as user.
func (r *Relay) URL() string { return fmt.Sprintf("http://%#x@%s", r.Key.Public[:], r.address) }

// On has the relay answer requests about a subject, such as a parent hash, a block hash or a public
// key. The newest rule that fits counts. It returns a function that withdraws the rule.
func (r *Relay) On(endpoint Endpoint, subject []byte, say Answer) (withdraw func()) {
	return r.answerWhen(endpoint, func(a Asked) bool { return a.isAbout(subject) }, say)
}

// OnSlot has the relay answer submissions for a slot, as On does.
func (r *Relay) OnSlot(slot phase0.Slot, say Answer) (withdraw func()) {
	return r.answerWhen(Submit, func(a Asked) bool { return a.Submission.Slot == slot }, say)
}

func (r *Relay) answerWhen(endpoint Endpoint, fits func(Asked) bool, say Answer) (withdraw func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	added := &rule{endpoint, fits, say}
	r.rules = append(r.rules, added)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.rules = slices.DeleteFunc(r.rules, func(one *rule) bool { return one == added })
	}
}

// Heard returns the requests to an endpoint about a subject, oldest first.
func (r *Relay) Heard(endpoint Endpoint, subject []byte) (list []Asked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, a := range r.asked {
		if a.Endpoint == endpoint && a.isAbout(subject) {
			list = append(list, a)
		}
	}
	return list
}

// WasAsked says whether anybody has asked the relay anything that relays answer.
func (r *Relay) WasAsked() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asked) > 0
}

// ServeHTTP implements http.Handler.
func (r *Relay) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	a := Asked{Method: request.Method, Path: request.URL.Path, Query: request.URL.RawQuery, Header: request.Header.Clone(),
		Body: body, At: r.now()}
	for _, e := range endpoints {
		method, path, _ := strings.Cut(string(e), " ")
		if request.Method == method && (a.Path == path || e == Header && strings.HasPrefix(a.Path, path)) {
			a.Endpoint = e
		}
	}
	switch {
	case a.Endpoint == "" && r.auctions == nil:
		Refuse(http.StatusNotFound)(request.Context(), w, a)
		return
	case a.Endpoint == "":
		a.Endpoint = Other
	case a.Endpoint == Submit && r.auctions != nil:
		a.Submission = r.auctions.read(r, a)
	}
	r.take(a)(request.Context(), w, a)
}

// now is the time by the clock of the builder's world, or of the wall.
func (r *Relay) now() time.Time {
	switch {
	case r.auctions != nil:
		return r.auctions.Clock.Now()
	case r.clock != nil:
		return r.clock.Now()
	}
	return time.Now()
}

// take remembers a request and returns the answer to it.
func (r *Relay) take(a Asked) Answer {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked = append(r.asked, a)
	for _, rule := range slices.Backward(r.rules) {
		if rule.endpoint == a.Endpoint && rule.fits(a) {
			return rule.answer
		}
	}
	switch a.Endpoint {
	case Duties:
		if r.auctions != nil {
			return r.auctions.tellDuties
		}
	case Submit:
		if r.auctions != nil {
			return Say(http.StatusOK)
		}
	case Other:
		return Refuse(http.StatusNotFound)
	case Status, Register:
		return Say(http.StatusOK)
	case Header:
		return Say(http.StatusNoContent)
	case PayloadV1, PayloadV2:
	}
	return Refuse(http.StatusBadRequest)
}
