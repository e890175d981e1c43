//go:build unix

package app

import (
	"io"
	"net"
	"testing"
	"time"
)

// What nobody reads stays with the writer on a narrow connection, but for a few kilobytes. The
// deadline only ends a wait that would never end.
func TestNarrow(t *testing.T) {
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener := newNarrow(inner)
	defer listener.Close()
	reader, err := dialNarrow(t.Context(), "tcp", inner.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	writer, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	written, err := writer.Write(make([]byte, 1<<20))
	if err == nil || written > 16<<10 {
		t.Errorf("%d bytes are gone, %v", written, err)
	}
	if err := writer.Close(); err != nil {
		t.Error(err)
	}
	// Nothing of what was taken is lost.
	if got, err := io.Copy(io.Discard, reader); err != nil || int(got) != written {
		t.Errorf("%d of %d bytes came, %v", got, written, err)
	}
}
