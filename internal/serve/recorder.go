package serve

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"time"
)

// recorder records the answer for the access log and the watcher, and cuts off a client that does
// not read it. It belongs to the goroutine of its request.
type recorder struct {
	http.ResponseWriter
	id    [1]string     // the request's id, in the form of a header's values
	stall time.Duration // time for each piece; 0 for no bound
	armed time.Time     // when the deadline was set last

	status         int
	received, sent int64  // bytes of the bodies
	pattern        string // of the path, without the method; empty if no operation was found
	cause          error
	refusal        string // id of the refusal that was answered; empty if there was none
	hijacked       bool   // the connection no longer belongs to the server
}

// piece is how many bytes of an answer a client must read within stall.
const piece = 64 << 10

// WriteHeader implements http.ResponseWriter.
func (r *recorder) WriteHeader(status int) {
	if r.status == 0 && status >= http.StatusOK { // 1xx statuses are not the answer
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
		r.deadline(time.Now())
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
	r.deadline(time.Now())
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

// deadline gives the client the time stall from now on for the next piece. It keeps a deadline that
// was set less than a tenth of that ago, because setting one costs more than writing a short
// answer. It ignores errors, because answers in tests have no connection.
func (r *recorder) deadline(now time.Time) {
	if r.stall == 0 || r.hijacked || now.Sub(r.armed) < r.stall/10 {
		return
	}
	r.armed = now
	_ = http.NewResponseController(r.ResponseWriter).SetWriteDeadline(now.Add(r.stall))
}

// tellPattern sets the path pattern in the recorder behind a writer.
func tellPattern(w http.ResponseWriter, pattern string) {
	if recorded := recorderOf(w); recorded != nil {
		recorded.pattern = pattern
	}
}

// SetCause records an internal error for the access log, which shows it with the request's id. It
// is for operations that answer such an error in a form of their own; Refuse calls it. Several
// errors are joined.
func SetCause(w http.ResponseWriter, err error) {
	if recorded := recorderOf(w); recorded != nil {
		recorded.cause = errors.Join(recorded.cause, err)
	}
}

// RefusalHeader is the header with the id of an answer's refusal in the catalogue. Programs should
// read it, because messages are for people and may change.
const RefusalHeader = "X-Refusal"

// Named sets the id of the refusal for the client (RefusalHeader), the access log and the watcher.
// It is for operations that answer in a form of their own; Refuse calls it.
func Named(w http.ResponseWriter, refusal string) {
	w.Header().Set(RefusalHeader, refusal)
	if recorded := recorderOf(w); recorded != nil {
		recorded.refusal = refusal
	}
}

// recorderOf is the recorder behind a writer; nil if there is none.
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

// counted counts the bytes that are read of a body.
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
