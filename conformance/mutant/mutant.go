// Package mutant makes a correct target wrong in one way, to show that the suite notices: a proxy
// between suite and target rewrites requests and answers. A mutant names the clauses whose specs
// must fail on it. If they pass, the mutant has survived, and the suite has a gap.
//
//	suite ──request──▶ proxy (ask) ──▶ target
//	suite ◀──answer── proxy (answer) ◀─┘
package mutant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Mutant is one wrong behaviour.
type Mutant struct {
	// ID says what the mutant breaks: its interface and words, in lower case, with hyphens.
	ID string
	// Iface is the interface that the mutant is put before: relay, stream, rpc, sidecar or builder.
	Iface string
	// What says in words what is wrong.
	What string
	// MustKill are the clauses that must fail on it.
	MustKill []string

	// fault makes the fault with a fresh state of its own. It is nil if the mutant is inside the
	// service.
	fault func() Fault
}

// Inside says whether the mutant is in the service itself (see InServices), and not in a proxy
// before it.
func (m Mutant) Inside() bool { return m.fault == nil }

// Exchange is one request and its answer, which a fault sees and may change.
type Exchange struct {
	Request *http.Request
	Asked   []byte
	// Method is the method of a JSON-RPC request; empty if the request is none.
	Method string
	// base is the target's address.
	base string
	// builder signs for the builder whose request this is; nil at other interfaces.
	builder *Builder

	Status int
	Header http.Header
	Body   []byte
}

// Fault is how a mutant goes wrong. Each function may be nil.
type Fault struct {
	// Ask may change the request. If it returns true, it has put an answer into the exchange, and
	// the target is not asked.
	Ask func(e *Exchange) bool
	// Answer may change the answer.
	Answer func(e *Exchange)
	// Line changes a line of a stream; if it returns false, the line is left out.
	Line func(line string) (string, bool)
	// Blanket says that the fault breaks no single rule; see Mutant.Blanket.
	Blanket bool
	// writer lets one listener of a stream be written to at a time; nil lets all.
	writer *sync.Mutex
}

// Blanket says whether the mutant answers all requests, or all of an operation, alike: it always
// refuses, it never refuses, it forgets everything. A spec that fails on it looks at the status; it
// need not look at the rule of its clause. So a blanket mutant does not prove a clause: a precise
// one does, which answers in the right form and breaks that rule alone.
func (m Mutant) Blanket() bool { return !m.Inside() && m.fault().Blanket }

// blanket marks a fault as one that breaks no single rule.
func blanket(fault func() Fault) func() Fault {
	return func() Fault {
		f := fault()
		f.Blanket = true
		return f
	}
}

// Find returns the mutant of All with this id.
func Find(id string) (Mutant, bool) {
	for _, m := range All() {
		if m.ID == id {
			return m, true
		}
	}
	return Mutant{}, false
}

// All returns all mutants that are put before a target.
func All() []Mutant {
	return slices.Concat(relayMutants(), dataMutants(), rpcMutants(), orderMutants(), termsMutants(), refundListMutants(),
		streamMutants(), sidecarMutants(), builderMutants(), swapMutants(), schemaMutants(), combinationMutants(),
		modelMutants(), gloasMutants())
}

// client asks the target for the proxy. It changes nothing: it neither unpacks answers nor follows
// redirects.
var client = &http.Client{
	Timeout: 30 * time.Second, Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// Handler returns the proxy before a target at the address base.
func (m Mutant) Handler(base string) http.Handler { return m.handler(base, nil) }

func (m Mutant) handler(base string, of *Builder) http.Handler {
	fault := m.fault()
	var mu sync.Mutex // guards the state of the fault
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		e := &Exchange{Request: r, base: base, builder: of, Asked: body, Header: http.Header{}}
		var call struct {
			Method string `json:"method"`
		}
		if json.Unmarshal(body, &call) == nil {
			e.Method = call.Method
		}
		done := false
		if fault.Ask != nil {
			mu.Lock()
			done = fault.Ask(e)
			mu.Unlock()
		}
		if !done {
			streamed := false
			if m.Iface == "stream" && r.Method == http.MethodGet && r.URL.Path == "/" {
				streamed, err = pass(w, e, base, fault)
			} else {
				err = e.forward(base)
			}
			switch {
			case streamed:
				return
			case err != nil:
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
		}
		if fault.Answer != nil {
			mu.Lock()
			fault.Answer(e)
			mu.Unlock()
		}
		for name, values := range e.Header {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(e.Body)))
		w.WriteHeader(e.Status)
		_, _ = w.Write(e.Body) // the client may be gone
	})
}

// forward sends the request to the target and puts its answer into the exchange.
func (e *Exchange) forward(base string) error {
	request, err := http.NewRequestWithContext(e.Request.Context(), e.Request.Method,
		strings.TrimRight(base, "/")+e.Request.URL.RequestURI(), bytes.NewReader(e.Asked))
	if err != nil {
		return fmt.Errorf("forward: %w", err)
	}
	request.Header = e.Request.Header.Clone()
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("forward: %w", err)
	}
	defer response.Body.Close()
	return e.take(response)
}

// take puts the target's answer into the exchange.
func (e *Exchange) take(response *http.Response) (err error) {
	if e.Body, err = io.ReadAll(response.Body); err != nil {
		return fmt.Errorf("forward: %w", err)
	}
	e.Status, e.Header = response.StatusCode, response.Header
	return nil
}

// say puts an answer in place of the target's. It returns true, as Ask does then.
func (e *Exchange) say(status int, media, body string) bool {
	e.Status, e.Body = status, []byte(body)
	e.Header = http.Header{}
	if media != "" {
		e.Header.Set("Content-Type", media)
	}
	return true
}

// edit changes the body as JSON. A body that is no JSON stays as it is.
func (e *Exchange) edit(change func(document any) any) {
	decoder := json.NewDecoder(bytes.NewReader(e.Body))
	decoder.UseNumber()
	var document any
	if decoder.Decode(&document) != nil {
		return
	}
	if raw, err := json.Marshal(change(document)); err == nil {
		e.Body = raw
	}
}

// object returns the value as a JSON object; nil if it is none.
func object(value any) map[string]any {
	o, _ := value.(map[string]any)
	return o
}

// at returns the object that is reached by following the members; nil if there is none.
func at(value any, members ...string) map[string]any {
	for _, member := range members {
		value = object(value)[member]
	}
	return object(value)
}

// flip changes the last digit of a hexadecimal text.
func flip(value any) any {
	text, _ := value.(string)
	if len(text) < 3 {
		return value
	}
	last := "0"
	if strings.HasSuffix(text, "0") {
		last = "1"
	}
	return text[:len(text)-1] + last
}

// on says whether the request's path begins with the prefix.
func (e *Exchange) on(prefix string) bool { return strings.HasPrefix(e.Request.URL.Path, prefix) }

const jsonType = "application/json"
