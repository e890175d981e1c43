package sse

import (
	"io"
	"time"
)

// Watch ends a connection on which nothing comes, not even a comment: one whose other end is gone
// need not end by itself.
type Watch struct {
	timer   *time.Timer
	longest time.Duration
}

// NewWatch calls silent once nothing has come for so long (wall time), from now on.
func NewWatch(longest time.Duration, silent func()) *Watch {
	return &Watch{timer: time.AfterFunc(longest, silent), longest: longest}
}

// Stop ends the watch.
func (w *Watch) Stop() { w.timer.Stop() }

// Reader is the connection under the watch.
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
