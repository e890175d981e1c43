package serve

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// recorder remembers what was answered, for the access log and the watcher, and cuts off who does
// not read the answer. It belongs to the goroutine of its request.
type recorder struct {
	http.ResponseWriter
	id    [1]string     // the request's, as a header has it
	stall time.Duration // for each piece; 0 for never
	armed time.Time     // when the deadline was set last

	status         int
	received, sent int64  // bytes of the bodies
	pattern        string // of the path, without the method; empty if no operation was found
	cause          error
	refusal        string // id of the refusal that was the answer, if it was one with an id
	hijacked       bool   // the connection is somebody else's now
}

// piece is how much of an answer a client has to take at a time.
const piece = 64 << 10

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK { // below are only announcements
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	written := 0
	for {
		r.deadline()
		n, err := r.ResponseWriter.Write(p[written:min(written+piece, len(p))])
		written += n
		r.sent += int64(n)
		if err != nil || written == len(p) {
			return written, err
		}
	}
}

// FlushError is for http.ResponseController.
func (r *recorder) FlushError() error {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	r.deadline()
	return http.NewResponseController(r.ResponseWriter).Flush()
}

// Hijack implements http.Hijacker.
func (r *recorder) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(r.ResponseWriter).Hijack()
	if err == nil {
		r.hijacked, r.status = true, http.StatusSwitchingProtocols
	}
	return conn, buffered, err
}

// Unwrap lets http.ResponseController reach the connection (deadlines).
func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// deadline gives the client time for the next piece, a tenth less at most: a deadline that was set
// just now is as good as a new one, which costs more than writing a short answer. Answers that have
// no connection, as in tests, need none.
func (r *recorder) deadline() {
	now := time.Now()
	if r.stall == 0 || r.hijacked || now.Sub(r.armed) < r.stall/10 {
		return
	}
	r.armed = now
	_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(now.Add(r.stall))
}

// tellPattern tells the recorder behind a writer which operation was found.
func tellPattern(w http.ResponseWriter, pattern string) {
	if recorded := recorderOf(w); recorded != nil {
		recorded.pattern = pattern
	}
}

// Blame keeps an error of our own for the access log, where it stands beside the request's id. It
// is for operations that answer such an error in a form of their own; Refuse does it by itself.
// Several are kept together.
func Blame(w http.ResponseWriter, err error) {
	if recorded := recorderOf(w); recorded != nil {
		recorded.cause = errors.Join(recorded.cause, err)
	}
}

// RefusalHeader names the refusal of an answer by its id in the catalogue, for programs: messages
// are for people, and may change.
const RefusalHeader = "X-Refusal"

// Named tells the client, the access log and the watcher by the id of which refusal a request is
// answered. It is for operations that answer in a form of their own; Refuse does it by itself.
func Named(w http.ResponseWriter, refusal string) {
	w.Header().Set(RefusalHeader, refusal)
	if recorded := recorderOf(w); recorded != nil {
		recorded.refusal = refusal
	}
}

// recorderOf is the recorder behind a writer, nil if nobody records.
func recorderOf(w http.ResponseWriter) *recorder {
	for {
		if recorded, ok := w.(*recorder); ok {
			return recorded
		}
		wrapped, ok := w.(interface{ Unwrap() http.ResponseWriter })
		if !ok {
			return nil
		}
		w = wrapped.Unwrap()
	}
}

// counted counts what is read of a body.
type counted struct {
	io.ReadCloser
	bytes *int64
}

// Read implements io.Reader.
func (c counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	*c.bytes += int64(n)
	return n, err
}
