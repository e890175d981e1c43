// Package probe sends the suite's requests to a target: raw HTTP, server-sent events and JSON-RPC,
// with keys, signatures and hashes of its own. It knows wire formats and shares no code with the
// servers. It records each exchange, so that a report can show it.
//
//	spec ─▶ Client ──HTTP──▶ target
//	           └─▶ Recorder ─▶ exchanges of the spec ─▶ report, curl line
package probe

import (
	"fmt"
	"net/http"
	"net/url"
	"sort"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Exchange is one request and what came back.
type Exchange struct {
	// AtMs is when the request was sent, in milliseconds since the spec began. TookMs is how many
	// milliseconds later the whole answer was read, or the head of the answer for a stream.
	AtMs   int64    `json:"t_ms"`
	TookMs int64    `json:"took_ms"`
	Asked  Message  `json:"request"`
	Said   *Message `json:"response,omitempty"`
	// Failure is why no whole answer came.
	Failure string `json:"failure,omitempty"`
}

// Message is one direction of an exchange.
type Message struct {
	Method string              `json:"method,omitempty"`
	URL    string              `json:"url,omitempty"`
	Status int                 `json:"status,omitempty"`
	Header map[string][]string `json:"headers,omitempty"`
	// Body is the body as text, or as 0x and hexadecimal if it is no text. It is cut after
	// shownBytes. Bytes is the length of the whole body.
	Body  string `json:"body,omitempty"`
	Bytes int    `json:"bytes,omitempty"`
}

// shownBytes is how much of a body the report keeps, in bytes: enough for every answer but blocks.
const shownBytes = 4096

func shown(body []byte) string {
	cut := ""
	if len(body) > shownBytes {
		cut = fmt.Sprintf("… (%d bytes)", len(body))
		// do not cut within a character
		for body = body[:shownBytes]; len(body) > shownBytes-utf8.UTFMax && !utf8.RuneStart(body[len(body)-1]); {
			body = body[:len(body)-1]
		}
		body = body[:len(body)-1]
	}
	if !utf8.Valid(body) {
		return fmt.Sprintf("%#x", body) + cut
	}
	return string(body) + cut
}

// ShownBody is a body as reports show it: as text or hexadecimal, and cut.
func ShownBody(body []byte) string { return shown(body) }

// shownURL is an address with its user and password replaced.
func shownURL(address *url.URL) string {
	if address.User == nil {
		return address.String()
	}
	shown := *address
	shown.User = url.User("redacted")
	return shown.String()
}

// Watcher sees what a recorder records, with whole bodies. It must be safe for concurrent use.
type Watcher interface {
	// Answered is called with each whole answer of the server at the address base, and with the head
	// of each stream. Asked is the body of the request.
	Answered(base string, e Exchange, asked []byte, a *Answer)
	// Heard is called with the data of each server-sent event.
	Heard(base, data string)
}

// Recorder keeps the exchanges of one spec. It is safe for concurrent use.
type Recorder struct {
	mu        sync.Mutex
	began     time.Time
	exchanges []Exchange
	watcher   Watcher // may be nil
}

// NewRecorder makes a recorder. Times of exchanges count from at.
func NewRecorder(at time.Time) *Recorder { return &Recorder{began: at} }

// Watch has a watcher see what is recorded from now on. It must be called before the first request.
func (r *Recorder) Watch(w Watcher) { r.watcher = w }

// Show adds an exchange of another recorder, for the report to show.
func (r *Recorder) Show(e Exchange) { r.add(e) }

func (r *Recorder) add(e Exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exchanges = append(r.exchanges, e)
}

// Exchanges returns all recorded exchanges, in the order in which they ended.
func (r *Recorder) Exchanges() []Exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Exchange(nil), r.exchanges...)
}

// Curl returns a shell command that repeats the request. It cannot hold a body that was cut or that
// is no text; it only mentions such a body.
func (e Exchange) Curl() string {
	var b strings.Builder
	b.WriteString("curl -sS -i")
	if e.Asked.Method != http.MethodGet {
		b.WriteString(" -X " + e.Asked.Method)
	}
	names := make([]string, 0, len(e.Asked.Header))
	for name := range e.Asked.Header {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		for _, value := range e.Asked.Header[name] {
			b.WriteString(" -H " + quote(name+": "+value))
		}
	}
	switch {
	case e.Asked.Bytes == 0:
	case e.Asked.Bytes != len(e.Asked.Body):
		fmt.Fprintf(&b, " --data-binary @body # %d bytes, see the report", e.Asked.Bytes)
	default:
		b.WriteString(" --data-binary " + quote(e.Asked.Body))
	}
	b.WriteString(" " + quote(e.Asked.URL))
	return b.String()
}

// quote quotes a text as one word for a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
