package api

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/gavel-relay/gavel/internal/serve"
	"github.com/gavel-relay/gavel/stream/broadcast"
)

var ping = []byte(":ping\n\n")

// stream answers with server-sent events. There is no event that marks the end. If the service
// stops or the listener is behind, the connection is closed, and clients reconnect.
func (h *liveHandler) stream(w http.ResponseWriter, r *http.Request) {
	wanted, refused := subscriptionOf(r)
	if refused != nil {
		Statuses.Refuse(w, r, refused)
		return
	}
	if h.AddressOf != nil {
		wanted.Address = h.AddressOf(r)
	}
	compressed := wantsGzip(r)
	if r.Method == http.MethodHead {
		announce(w.Header(), r, compressed)
		return
	}
	listener, err := h.Broadcast.Listen(r.Context(), wanted)
	if err != nil {
		refuseListener(w, r, err)
		return
	}
	defer listener.Leave()
	announce(w.Header(), r, compressed)
	out := newOutput(w, compressed)
	defer whenOver(listener.Context(), out.abandon)()
	if err := h.follow(listener, out); unexpected(err) {
		serve.SetCause(w, err)
	}
}

// whenOver calls end, in another goroutine, when the context is over. prevent stops that, or waits
// until end has returned. So only the request's own goroutine uses the answer after prevent, as
// net/http demands when a request is done.
func whenOver(ctx context.Context, end func()) (prevent func()) {
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		end()
		close(ended)
	})
	return func() {
		if !stop() {
			<-ended
		}
	}
}

// announce sets the headers of a stream.
func announce(header http.Header, r *http.Request, compressed bool) {
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache")
	header.Set("X-Accel-Buffering", "no") // so that nginx does not buffer small writes
	if r.ProtoMajor == 1 && r.ProtoMinor == 1 {
		header.Set("Connection", "keep-alive")
	}
	if compressed {
		header.Set("Content-Encoding", "gzip")
	}
}

// follow writes a listener's events until the listener or the client ends. It sends the headers at
// once, so that clients know that they are connected.
//
//	chunks ─▶ write … write ─▶ flush when there are no more
//	15 s nothing written    ─▶ :ping, flush
func (h *liveHandler) follow(listener *broadcast.Listener, out *output) error {
	if err := out.flush(); err != nil {
		return err
	}
	silence := time.NewTimer(h.Ping)
	defer silence.Stop()
	for {
		select {
		case <-listener.Context().Done():
			return context.Cause(listener.Context())
		case <-listener.Ready():
			if err := drain(listener, out); err != nil {
				return err
			}
		case <-silence.C:
			if err := out.write(ping); err != nil {
				return err
			}
			if err := out.flush(); err != nil {
				return err
			}
		}
		silence.Reset(h.Ping)
	}
}

// drain writes all events that are ready. It also flushes what was written before the listener
// ended.
func drain(listener *broadcast.Listener, out *output) error {
	for {
		frames, err := listener.Take()
		if err != nil {
			return errors.Join(err, out.flush())
		}
		if err := out.write(frames); err != nil {
			return err
		}
		select {
		case <-listener.Ready():
		default:
			return out.flush()
		}
	}
}

// output writes a stream to the client. All methods but abandon are for one goroutine.
type output struct {
	connection *http.ResponseController
	plain      io.Writer
	compressed *gzip.Writer // nil for a plain stream
}

func newOutput(w http.ResponseWriter, compressed bool) *output {
	o := &output{connection: http.NewResponseController(w), plain: w}
	if compressed {
		// This level keeps no window between writes: a window for each listener would cost more
		// memory than everything else of it. So each write is complete, and the compressor has
		// nothing to flush.
		o.compressed, _ = gzip.NewWriterLevel(w, gzip.StatelessCompression) // the level is valid
	}
	return o
}

func (o *output) write(frames []byte) error {
	to := o.plain
	if o.compressed != nil {
		to = o.compressed
	}
	if len(frames) == 0 {
		return nil
	}
	if _, err := to.Write(frames); err != nil {
		return fmt.Errorf("write to listener: %w", err)
	}
	return nil
}

func (o *output) flush() error {
	if err := o.connection.Flush(); err != nil {
		return fmt.Errorf("write to listener: %w", err)
	}
	return nil
}

// abandon ends a write that is under way, so that a listener that was cut, or has gone, does not
// hold up the request.
func (o *output) abandon() { _ = o.connection.SetWriteDeadline(time.Unix(1, 0)) }
