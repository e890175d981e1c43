// Package probe is how the suite talks to a target: raw HTTP, server-sent events and JSON-RPC, with
// keys, signatures and hashes of its own. It knows wire formats and no server, and it keeps what
// was said, so that a report can show it.
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
	// AtMs is when the request was sent, in milliseconds since the spec began; TookMs is until the
	// whole answer was read.
	AtMs   int64    `json:"t_ms"`
	TookMs int64    `json:"took_ms"`
	Asked  Message  `json:"request"`
	Said   *Message `json:"response,omitempty"`
	// Failure is why nothing came back.
	Failure string `json:"failure,omitempty"`
}

// Message is one direction of an exchange.
type Message struct {
	Method string              `json:"method,omitempty"`
	URL    string              `json:"url,omitempty"`
	Status int                 `json:"status,omitempty"`
	Header map[string][]string `json:"headers,omitempty"`
	// Body is text; what is no text is 0x and hex. What is longer than shownBytes is cut, and Bytes is
	// its length.
	Body  string `json:"body,omitempty"`
	Bytes int    `json:"bytes,omitempty"`
}

// shownBytes of a body are kept for the report: enough for every answer but blocks.
const shownBytes = 4096

func shown(body []byte) string {
	cut := ""
	if len(body) > shownBytes {
		cut = fmt.Sprintf("… (%d bytes)", len(body))
		// never half a character
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

// shownURL is an address without its user and password.
func shownURL(address *url.URL) string {
	if address.User == nil {
		return address.String()
	}
	shown := *address
	shown.User = url.User("redacted")
	return shown.String()
}

// Recorder keeps the exchanges of one spec. It is safe for concurrent use.
type Recorder struct {
	mu        sync.Mutex
	began     time.Time
	exchanges []Exchange
}

// NewRecorder begins to record at the given time.
func NewRecorder(at time.Time) *Recorder { return &Recorder{began: at} }

func (r *Recorder) add(e Exchange) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exchanges = append(r.exchanges, e)
}

// Exchanges are all that were recorded, in the order in which they ended.
func (r *Recorder) Exchanges() []Exchange {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Exchange(nil), r.exchanges...)
}

// Curl is a shell command that repeats the request. A body that was cut or is no text cannot be
// repeated so, and is only named.
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

// quote makes one word for a shell.
func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
