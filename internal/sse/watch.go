package sse

import (
	"io"
	"time"
)

// Watch notices a silent connection, on which not even comments come. A connection whose other end
// is gone does not always end by itself.
type Watch struct {
	timer   *time.Timer
	longest time.Duration
}

// NewWatch starts a watch that calls silent when nothing has come for the time longest (wall time).
func NewWatch(longest time.Duration, silent func()) *Watch {
	return &Watch{timer: time.AfterFunc(longest, silent), longest: longest}
}

// Stop ends the watch.
func (w *Watch) Stop() { w.timer.Stop() }

// Reader reads from the connection and tells the watch what comes.
func (w *Watch) Reader(connection io.Reader) io.Reader { return watched{connection, w} }

type watched struct {
	io.Reader
	watch *Watch
}

// Read implements io.Reader.
func (w watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	w.watch.timer.Reset(w.watch.longest)
	return n, err
}
